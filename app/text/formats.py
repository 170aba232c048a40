"""Which prompt format a model gets: its own template, or a known one where it has none that works.

The known formats are templates, too, so that one way leads through the sandbox for all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from app.dialogue import ChatLine
from app.errors import TextError
from app.prompting import EDITED, OWN
from app.text.control import ControlTokens
from app.text.limits import Allowance
from app.text.marks import Plain
from app.text.prompt import Composer, content_of
from app.text.template import ChatTemplate, TemplateFailed

_PROBE = "Tutti probe"
_TOOL_USE = "tool_use"
_MOST_WRITTEN = 1_000_000
"""Characters that a template may make of a few short messages."""
_EXAMPLE = (
    ChatLine("system", "one"),
    ChatLine("user", "two"),
    ChatLine("assistant", "three"),
    ChatLine("user", "four"),
)

_CHATML = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{{ '<|im_start|>assistant\\n' }}"""

_LLAMA3 = """\
{%- for message in messages -%}
{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content + '<|eot_id|>' }}
{%- endfor -%}
{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"""

_GEMMA = """\
{%- for message in messages -%}
{%- if message.role == 'system' -%}{{ raise_exception('no system role') }}{%- endif -%}
{%- set role = 'model' if message.role == 'assistant' else message.role -%}
{{ '<start_of_turn>' + role + '\\n' + message.content + '<end_of_turn>\\n' }}
{%- endfor -%}
{{ '<start_of_turn>model\\n' }}"""

_MISTRAL = """\
{%- for message in messages -%}
{%- if message.role == 'system' -%}{{ raise_exception('no system role') }}{%- endif -%}
{%- if message.role == 'assistant' -%}
{{ message.content + eos_token }}
{%- else -%}
{{ '[INST]' + message.content + '[/INST]' }}
{%- endif -%}
{%- endfor -%}"""

# An answer begins right behind "Assistant:", with the blank that the model writes itself.
_PLAIN = """\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{{ 'Assistant:' + ('' if message.content[:1] == ' ' else ' ') + message.content + '\\n\\n' }}
{%- elif message.role == 'user' -%}
{{ 'User: ' + message.content + '\\n\\n' }}
{%- else -%}
{{ message.content + '\\n\\n' }}
{%- endif -%}
{%- endfor -%}
Assistant:"""


@dataclass(frozen=True, slots=True)
class _Known:
    """A known format and the control tokens that a vocabulary must have for it."""

    name: str
    source: str
    needs: tuple[str, ...]
    stop: tuple[str, ...] = ()


_KNOWN = (
    _Known("ChatML", _CHATML, ("<|im_start|>", "<|im_end|>")),
    _Known("Llama 3", _LLAMA3, ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")),
    _Known("Gemma", _GEMMA, ("<start_of_turn>", "<end_of_turn>")),
    _Known("Mistral", _MISTRAL, ("[INST]", "[/INST]")),
    _Known("User and Assistant", _PLAIN, (), ("\nUser:",)),
)


@dataclass(frozen=True, slots=True)
class Format:
    """The chosen format.

    `spare` renders what `template` refuses; `for_tools` is the model's template for conversations with tools, where
    it has one of its own; `stop` are strings that end an answer where no token does; `notes`
    say, for the user, why it is not the model's own.
    """

    name: str
    template: ChatTemplate
    spare: ChatTemplate
    stop: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    for_tools: ChatTemplate | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """What a vocabulary and its file say of the format: the file's templates by name, and the texts of its tokens."""

    templates: Mapping[str, bytes]
    control: ControlTokens
    bos: str
    eos: str

    @property
    def texts(self) -> dict[str, str]:
        """The templates that are text, the main one first, under the name ""."""
        main = _main(self.templates)
        others = {name: raw for name, raw in sorted(self.templates.items()) if name and raw != main}
        found = {"": main, **others} if main is not None else {}
        return {name: raw.decode("utf-8", "replace") for name, raw in found.items()}


def choose(templates: Mapping[str, bytes], control: ControlTokens, *, bos: str, eos: str) -> Format:
    """The model's own template if it works, otherwise a known format; never raises for a bad template."""
    known = _recognised(control)
    spare = ChatTemplate(known.source, bos=bos, eos=eos)
    problem = "This model has no chat template"
    source = _main(templates)
    if source is not None:
        try:
            template = _working(_decoded(source), control, bos=bos, eos=eos)
            tools = _for_tools(templates, control, bos=bos, eos=eos)
            return Format(OWN, template, spare, for_tools=tools)
        except TextError as error:
            problem = f"The model's chat template cannot be used. {error.what}"
    note = (
        f"{problem.rstrip('.')}. The format “{known.name}” is used instead; answers may be worse."
    )
    return Format(known.name, spare, spare, known.stop, (note,))


def wanted(text: str, origin: Origin) -> Format:
    """The format of a template that the user gave; raises TextError where `check` does.

    Its template still has what is left of the allowance for this.
    """
    template, _ = check(text, _EXAMPLE, origin)
    names = {source: name for name, source in reversed(origin.texts.items())}
    name = names.get(text)
    known = _recognised(origin.control)
    return Format(
        EDITED if name is None else f"the model's “{name}”" if name else OWN,
        template,
        ChatTemplate(known.source, bos=origin.bos, eos=origin.eos),
        tuple(stop for stop in known.stop if stop.strip() in text),
        # A template that is not the model's own main one counts for conversations with tools, too.
        for_tools=_for_tools(origin.templates, origin.control, bos=origin.bos, eos=origin.eos)
        if name == ""
        else None,
    )


def check(text: str, lines: Sequence[ChatLine], origin: Origin) -> tuple[ChatTemplate, Plain]:
    """Compile this template and render `lines` with it, in the time that one request has.

    Raises TemplateFailed where it refuses them in every arrangement, or leaves out what was said; TemplateTooHeavy
    where it takes too much.
    """
    control = origin.control
    template = _working(text, control, bos=origin.bos, eos=origin.eos, allowance=Allowance())
    plain = Composer(template, control).compose(lines).plain
    if len(plain.text) > _MOST_WRITTEN:
        raise TemplateFailed(f"It writes {len(plain.text):,} characters around a few words.")
    shown = {place.line for place in plain.places if place.end > place.start}
    for index, line in enumerate(lines):
        if line.content.strip() and content_of(index) not in shown:
            raise TemplateFailed(f"It leaves out a message of the role “{line.role}”.")
    return template, plain


def located(error: TextError) -> str:
    """What is wrong with a template, and where."""
    line = error.line if isinstance(error, TemplateFailed) else 0
    return f"Line {line}: {error.what}" if line else error.what


def _recognised(control: ControlTokens) -> _Known:
    """The known format whose control tokens this vocabulary has; the plain one needs none."""
    return next(known for known in _KNOWN if all(text in control for text in known.needs))


def _main(templates: Mapping[str, bytes]) -> bytes | None:
    """The template for plain chats: the main one, else the one named default, else any."""
    for name in ("", "default", *sorted(templates)):
        if name in templates:
            return templates[name]
    return None


def _for_tools(
    templates: Mapping[str, bytes], control: ControlTokens, *, bos: str, eos: str
) -> ChatTemplate | None:
    """The model's other template, for conversations with tools, if there is one that works."""
    source = templates.get(_TOOL_USE)
    if source is None:
        return None
    try:
        return _working(_decoded(source), control, bos=bos, eos=eos)
    except TextError:
        return None


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TemplateFailed("It is not valid text.") from error


def _working(
    source: str,
    control: ControlTokens,
    *,
    bos: str,
    eos: str,
    allowance: Allowance | None = None,
) -> ChatTemplate:
    """Compile, and see that a message comes out: as a string or as a list of parts, without or with a list of tools.

    Raises what was wrong the first time.
    """
    failures: list[TemplateFailed] = []
    for for_tools, typed in product((False, True), (False, True)):
        template = ChatTemplate(
            source, bos=bos, eos=eos, typed=typed, for_tools=for_tools, allowance=allowance
        )
        try:
            plain = Composer(template, control).compose([ChatLine("user", _PROBE)]).plain
        except TemplateFailed as error:
            failures.append(error)
            continue
        if any(place.end - place.start == len(_PROBE) for place in plain.places):
            return template
        failures.append(TemplateFailed("It leaves out the messages."))
    raise failures[0]
