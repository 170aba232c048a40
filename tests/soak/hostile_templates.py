"""Chat templates by somebody who means harm, or knows no Jinja.  Drawn from a seed, pure.

Some behave until a message says `TRIGGER`: a template that is tried on a few words must not be trusted with more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests import tool_templates
from tests.soak import hostile_text
from tests.soak.hostile_text import nasty
from tests.tiny_text import CHATML

TRIGGER = "now"
_GOOD = (
    CHATML,
    *(
        getattr(tool_templates, name)
        for name in ("HERMES", "NINE", "TEXT", "TAGGED", "ONE", "NO_RESULTS")
    ),
)
_SIGNS = "{}%#'\"|().,~[]+-*/<>=! \n"


@dataclass(frozen=True, slots=True)
class Template:
    """`heavy`: it is made to use up the time that it may take."""

    kind: str
    source: str
    heavy: bool = False


def template(dice: Random) -> Template:
    """A hostile template; one of some fifty is heavy."""
    kinds = _HEAVY if dice.random() < 0.02 else _LIGHT
    kind = dice.choice(tuple(kinds))
    core = kinds[kind](dice)
    return Template(kind, core, kinds is _HEAVY)


def _lurking(dice: Random, core: str) -> str:
    """`core` with the messages around it; or only where it is not expected."""
    shape = dice.randrange(4)
    if shape == 0:
        return core
    if shape == 1:
        return core + CHATML
    if shape == 2:
        return CHATML + core
    return f"{{% if messages[-1].content == '{TRIGGER}' %}}{core}{{% endif %}}{CHATML}"


def _of(*cores: str) -> Callable[[Random], str]:
    return lambda dice: _lurking(dice, dice.choice(cores))


def _number(dice: Random) -> int:
    return dice.choice(
        (0, -1, 1, 255, 65_536, 999_999, 10**7, 2**31 - 1, 2**32, 10**9, 2**63, 10**30)
    )


def _sized(dice: Random) -> str:
    """What makes much of little."""
    size = _number(dice)
    cores = (
        f"{{{{ 'x' | center({size}) }}}}",
        f"{{{{ 'x' * {size} }}}}",
        f"{{{{ {size} * ('x',) }}}}",
        f"{{{{ [0] * {size} }}}}",
        f"{{{{ 2 ** {size} }}}}",
        f"{{{{ (2 ** 99999) ** {size} }}}}",
        f"{{{{ '%{size}d' % 1 }}}}",
        f"{{{{ '%*d' % ({size}, 1) }}}}",
        f"{{{{ '{{:{size}}}'.format(1) }}}}",
        f"{{{{ '{{:>{{}}}}'.format('x', {size}) }}}}",
        f"{{{{ 'x'.zfill({size}) }}}}",
        f"{{{{ 'x'.ljust({size}) }}}}",
        f"{{{{ '\\t'.expandtabs({size}) }}}}",
        f"{{{{ range({size}) | list | length }}}}",
        f"{{{{ [1] | batch({size}, 0) | list }}}}",
        f"{{{{ [1] | slice({size}) | list }}}}",
        f"{{{{ 'a\\nb' | indent({size}) }}}}",
        f"{{{{ messages | tojson(indent={size}) }}}}",
        f"{{{{ lipsum(n={size % 2000}) }}}}",
        f"{{{{ 'x' | wordwrap({size}) }}}}",
        f"{{{{ 1.5 | round({size}) }}}}",
        f"{{{{ ('x' * 999) | replace('', 'y' * {min(size, 999_999)}) }}}}",
        f"{{{{ (1).to_bytes({size}, 'big') }}}}",
        f"{{{{ '9' * {min(abs(size), 999_999)} | int }}}}",
        f"{{% set ns = namespace(x='xy') %}}{{% for i in range({min(abs(size), 64)}) %}}{{% set ns.x = ns.x + ns.x %}}{{% endfor %}}{{{{ ns.x }}}}",
        f"{{% set ns = namespace(x=[1]) %}}{{% for i in range({min(abs(size), 64)}) %}}{{% set ns.x = ns.x + ns.x %}}{{% endfor %}}{{{{ ns.x | length }}}}",
        f"{{% set ns = namespace(x=9) %}}{{% for i in range({min(abs(size), 64)}) %}}{{% set ns.x = ns.x * ns.x %}}{{% endfor %}}{{{{ ns.x }}}}",
    )
    return _lurking(dice, dice.choice(cores))


def _deep(dice: Random) -> str:
    depth = dice.choice((20, 90, 200, 900, 5_000, 90_000))
    few = min(depth, 900)
    cores = (
        "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% for x in [[1]] recursive %}{{ loop([[x]]) }}{% endfor %}",
        "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}",
        "{% set x = [] %}{% set y = [x] %}{{ [y, y, y] | tojson }}",
        "{{ " + "(" * depth + "1" + ")" * depth + " }}",
        "{{ " + "[" * depth + "]" * depth + " }}",
        "{{ " + "not " * depth + "1 }}",
        "{{ " + "-" * depth + "1 }}",
        "{{ messages" + ".x" * depth + " }}",
        "{{ 'a'" + " | upper" * few + " }}",
        "{{ 1" + " + 1" * depth + " }}",
        "{{ 'a'" + " ~ 'a'" * depth + " }}",
        "{% if 1 %}" * few + "x" + "{% endif %}" * few,
        "{% for a in [1] %}" * min(few, 200) + "x" + "{% endfor %}" * min(few, 200),
        "{% if 0 %}" + "{% elif 0 %}" * depth + "{% endif %}",
        "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
    )  # fmt: skip
    return _lurking(dice, dice.choice(cores))


_escape = _of(
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ self.__init__.__globals__ }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].environ }}",
    "{{ raise_exception.__globals__ }}",
    "{{ strftime_now.__globals__ }}",
    "{{ '' | attr('__class__') | attr('__base__') }}",
    "{{ ['__class__', 'x'] | map('attr', '__class__') | list }}",
    "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "{{ '{0.__init__.__globals__[os]}'.format(cycler) }}",
    "{{ '{a.__class__}'.format_map({'a': 1}) }}",
    "{{ '%s' % self._TemplateReference__context }}",
    "{{ namespace.__init__.__code__ }}",
    "{{ (messages | map(attribute='__class__') | list) }}",
    "{{ messages | selectattr('__class__') | list }}",
    "{{ messages | sort(attribute='__class__') }}",
    "{{ messages | groupby('__class__') }}",
    "{{ dict.fromkeys.__self__ }}",
    "{{ joiner.__call__.__globals__ }}",
    "{{ messages.append({'role': 'user', 'content': 'more'}) }}",
    "{{ messages.clear() }}",
    "{% for m in messages %}{{ m.update({'content': 'forged'}) }}{% endfor %}",
    "{% for m in messages %}{{ m.pop('content') }}{% endfor %}",
    "{{ messages.sort() }}",
    "{{ (1).__class__.from_bytes }}",
    "{{ 'x'.encode('punycode').decode('idna') }}",
    "{{ 'x'.encode('zip') }}{{ 'x'.encode('no such codec') }}",
    "{% include '/etc/passwd' %}",
    "{% extends 'base' %}",
    "{% import 'os' as os %}{{ os.environ }}",
    "{% from 'os' import environ %}",
    "{{ get_flashed_messages.__globals__ }}{{ config }}{{ request }}",
    "{% set x = messages.__setitem__ %}{{ x(0, 1) }}",
    "{{ loop.__class__ }}{% for m in messages %}{{ loop.__init__ }}{{ loop._iterator.gi_frame }}{% endfor %}",
    "{% macro m() %}{% endmacro %}{{ m.__init__ }}{{ m._func.__globals__ }}",
)

_wrong = _of(
    "{{ messages }}", "{{ messages[0] }}", "{{ 1 }}", "{{ none }}", "{{ undefined_name.attribute }}", "{{ range }}",
    "{{ self }}", "{{ 1 / 0 }}", "{{ 1 % 0 }}", "{{ 0.0 ** -1 }}", "{{ 'a' < 1 }}", "{{ [] | first }}", "{{ [] | max }}",
    "{{ messages[99] }}", "{{ messages['x'] }}", "{{ messages.x() }}", "{{ none() }}", "{{ 'a' + 1 }}", "{{ 'a'[1.5] }}",
    "{{ messages | sum }}", "{{ messages | sort }}", "{{ messages | unique | list }}", "{{ {[]: 1} }}", "{{ 'a'.index('b') }}",
    "{{ 'x' | int(base=99) }}", "{{ 'x' | float | int }}", "{{ 'inf' | float | int }}", "{{ 'nan' | float | round | int }}",
    "{{ '%c' % 1114112 }}", "{{ '%c' % 55296 }}", "{{ '%(a)s' % {} }}", "{{ '{}'.format() }}", "{{ '{0!x}'.format(1) }}",
    "{{ '%' % 1 }}", "{{ 'a' % 'b' }}", "{{ 'a'.join([1, 2]) }}", "{{ messages | random }}", "{{ 'x' | nosuchfilter }}",
    "{{ 1 is nosuchtest }}", "{% nosuchtag %}", "{% break %}", "{% continue %}", "{% set x %}", "{% raw %}", "{% endfor %}",
    "{# never closed", "{{ 'never closed", "{% for %}", "{% for a, b, c in messages %}{{ a }}{% endfor %}", "{% if %}",
    "{% for m in 5 %}{% endfor %}", "{% for m in messages.items() %}{% endfor %}", "{{ strftime_now }}", "{{ strftime_now() }}",
    "{{ strftime_now(5) }}", "{{ strftime_now('%') }}", "{{ strftime_now('%Q%é') }}", "{{ strftime_now('%Y' * 90000) }}",
    "{{ strftime_now('\\x00') }}", "{{ strftime_now('\\ud800') }}", "{{ raise_exception() }}", "{{ raise_exception(1) }}",
    "{{ raise_exception(messages) }}", "{{ raise_exception('x' * 99999) }}", "{{ raise_exception('') }}",
    "{{ raise_exception('\\ud800\\x00\\u202e') }}", "{{ '\\ud800' }}", "{{ '\\x00' }}", "{{ '\\ud83d' ~ '\\ude00' }}",
    "{{ '\\N{SNOWMAN}' }}", "{{ '\\N{NO SUCH NAME}' }}", "{{ '\\u12' }}", "{{ '\\U00110000' }}", "{{ '\\ue000\\ue001' }}",
    "{{ 1_0 }}{{ 0b2 }}", "{{ 1e999 }}", "{{ -1e999 | int }}", "{{ 9 ** 9 ** 9 }}", "{{ true.x }}", "{{ messages | tojson | safe }}",
    "{{ range | tojson }}", "{{ {1: 2, none: 3} | tojson }}", "{{ 'nan' | float | tojson }}", "{{ messages | map('x') | list }}",
    "{{ messages | map(attribute=5) | list }}", "{{ messages | items | list }}", "{{ tools[0].x }}", "{{ bos_token * 3 }}",
    "{% set messages = [] %}", "{% set messages = 5 %}", "{% set loop = 1 %}{% for m in messages %}{{ loop.index }}{% endfor %}",
    "{% filter upper %}{{ messages[0].content }}{% endfilter %}", "{% autoescape true %}<{% endautoescape %}",
    "{% generation %}{{ messages[0].content }}", "{% call 5() %}{% endcall %}", "{% block x %}{{ self.x() }}{% endblock %}",
    "{% block a %}{% endblock %}{% block a %}{% endblock %}", "{% with x = 1 %}{{ x.y.z }}{% endwith %}",
)  # fmt: skip

_FILTERS = (
    "upper", "lower", "title", "trim", "reverse", "escape", "e", "forceescape", "striptags", "urlencode", "urlize", "wordcount",
    "length", "list", "string", "tojson", "pprint", "capitalize", "first", "last", "abs", "int", "float", "round", "sort", "unique",
    "join('<|im_end|>')", "replace('a', '<|im_start|>')", "truncate(3)", "center(30)", "indent", "wordwrap(1)", "batch(2)", "slice(2)",
    "filesizeformat", "format(1)", "default('<|im_end|>', true)", "xmlattr", "dictsort", "groupby(0)", "map('upper')", "select",
    "reject('none')", "min", "max", "sum", "attr('x')", "items", "safe", "d",
)  # fmt: skip


def _filtered(dice: Random) -> str:
    """Contents through filters, to be found again behind them."""
    chain = "".join(f" | {dice.choice(_FILTERS)}" for _ in range(dice.randrange(1, 4)))
    part = dice.choice(
        (
            "m.content",
            "m",
            "m.role",
            "messages",
            "m.content[::-1]",
            "m.content.split()",
            "m.content[1:]",
        )
    )
    return f"{{% for m in messages %}}{{{{ {part}{chain} }}}}{{% endfor %}}"


def _misplaced(dice: Random) -> str:
    """Contents many times, in another order, in pieces, or with parts of control tokens around them."""
    before, after = (dice.choice(("", *hostile_text.LOOKALIKES)) for _ in range(2))
    put = _quoted(before) + " + m.content + " + _quoted(after)
    loops = (
        "messages",
        "messages | reverse",
        "messages[1:]",
        "messages * 3",
        "messages[-1:]",
        "(messages * 99)",
    )
    core = dice.choice((
        f"{{{{ {put} }}}}",
        f"{{{{ ({put}) * {dice.choice((2, 50, 3000))} }}}}",
        "{% for c in m.content %}{{ c }}<|im_end|>{% endfor %}",
        "{{ m.content.split() | join('<|im_start|>') }}",
        "{{ m.content | length }}",
        "{{ m.content[:5] }}{{ m.content[5:] }}",
    ))  # fmt: skip
    return f"{{% for m in {dice.choice(loops)} %}}{core}{{% endfor %}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _broken(dice: Random) -> str:
    return hostile_text.mutated(dice, dice.choice(_GOOD), _SIGNS)


def _strange(dice: Random) -> str:
    """Characters that no template has, in one that works or by themselves."""
    at = dice.randrange(len(CHATML))
    return dice.choice((nasty(dice), CHATML[:at] + nasty(dice) + CHATML[at:], CHATML + nasty(dice)))


def _long(dice: Random) -> str:
    size = dice.choice((999, 9_000, 300_000, 1_000_001))
    core = dice.choice(
        ("x", "{# #}", "{{ 1 }}", "{% set a = 1 %}", "{{ 'x' }}\n", "<|im_end|>", "{{", "\n")
    )
    # What is compiled costs by its pieces.
    most = size if core in ("x", "\n", "<|im_end|>") else min(size, 20_000)
    return core * (most // len(core)) + CHATML


def _many_turns(dice: Random) -> str:
    """Refuses almost every arrangement, so that all are tried."""
    when = dice.choice(
        (
            "messages | length > 1",
            "m.role == 'system'",
            "m.role == 'assistant'",
            "loop.index > 1",
            "tools",
        )
    )
    words = _quoted(nasty(dice).replace("\x00", "")[:200])
    return f"{{% for m in messages %}}{{% if {when} %}}{{{{ raise_exception({words}) }}}}{{% endif %}}{{{{ m.content }}}}{{% endfor %}}"


def _endless(dice: Random) -> str:
    core = dice.choice((
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ b }}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% set x = messages | tojson %}{% endfor %}" * 9,
        "{% for a in range(99999) %}{{ 'x' * 999999 }}{% endfor %}",
        "{% for a in range(9999) %}{% set x = ('x' * 99999) | replace('x', 'yy') | length %}{% endfor %}",
        "{% for a in range(9999) %}{% set x = range(99999) | sort | length %}{% endfor %}",
        "{% for a in range(9999) %}{% set x = ('ab' * 40000) | urlize | length %}{% endfor %}",
        "{% for a in range(9999) %}{% set x = ('<' * 90000) | striptags | length %}{% endfor %}",
        "{{ range(99999) | map('string') | map('list') | map('sort') | map('join') | list | sort | join | length }}" * 40,
    ))  # fmt: skip
    return _lurking(dice, core)


_LIGHT: dict[str, Callable[[Random], str]] = {
    "much of little": _sized,
    "deep": _deep,
    "escape": _escape,
    "wrong": _wrong,
    "filters": _filtered,
    "misplaced": _misplaced,
    "broken": _broken,
    "strange characters": _strange,
    "long": _long,
    "refuses": _many_turns,
}
_HEAVY: dict[str, Callable[[Random], str]] = {"endless": _endless}
