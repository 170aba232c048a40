"""GBNF grammars and JSON schemas that cannot be kept, or cost too much to keep.  Drawn from a seed, pure.

Each is the body of a request to the API, as bytes: what JSON cannot hold is there too.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.soak import hostile_text
from tests.soak.hostile_text import nasty

_GOOD = (
    'root ::= "yes" | "no"',
    'root ::= item ("," item)*\nitem ::= [a-z]{1,5} # a word\n',
    'root ::= "{" ws pair ("," ws pair)* "}"\npair ::= string ":" ws string\nstring ::= "\\"" [^"\\\\]* "\\""\nws ::= [ \\t\\n]*',
    'root ::= ("a" | "b" | [0-9]+ | "\\x41" | "\\u00e9")? .',
)
_SIGNS = '|()[]{}*+?"\\::=^-.,<>! \n#'

Schema = Any


@dataclass(frozen=True, slots=True)
class Form:
    """`body` asks for an answer of a few tokens in this form."""

    kind: str
    body: bytes


def form(dice: Random) -> Form:
    kind = dice.choice(tuple(_KINDS))
    return Form(kind, _KINDS[kind](dice))


def _asked(**fields: Any) -> bytes:
    # Lone surrogates go as \\u escapes, which is how a client can send them.
    return json.dumps(
        {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4, **fields}
    ).encode()


def _gbnf(make: Callable[[Random], str]) -> Callable[[Random], bytes]:
    return lambda dice: _asked(grammar=make(dice), temperature=dice.choice((0, 1, 2)))


def _schema(make: Callable[[Random], Schema]) -> Callable[[Random], bytes]:
    def body(dice: Random) -> bytes:
        schema = make(dice)
        named = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        return _asked(
            response_format=dice.choice((named, {"type": "json_object", "schema": schema}))
        )

    return body


def _many(dice: Random) -> int:
    return dice.choice((0, 1, 2, 30, 500, 1_999, 2_001, 65_536, 10**6, 10**9, 2**64, 10**30))


# --- GBNF --------------------------------------------------------------------------------------------------------


def _circles(dice: Random) -> str:
    names = [f"r{number}" for number in range(dice.choice((1, 2, 9, 400)))]
    gap = dice.choice(("", "empty ", '"a"? ', '("b" | empty) ', "(empty empty)* "))
    rules = [
        f'{name} ::= {gap}{names[(at + 1) % len(names)]} "x" | "y"' for at, name in enumerate(names)
    ]
    return "\n".join([f"root ::= {names[0]}", 'empty ::= ""', *rules])


def _explosion(dice: Random) -> str:
    depth, width = dice.randrange(1, 12), _many(dice)
    core = dice.choice(('"a"', "[a-z]", ".", '("a" | "ab" | "b")', '"a"?', '""', "[^x]"))
    for _ in range(depth):
        core = f"({core}{dice.choice(('*', '+', '?', f'{{{width}}}', f'{{0,{width}}}', f'{{{width},}}', ' ' + core if len(core) < 2_000 else ''))})"
    return f"root ::= {core}"


def _ambiguous(dice: Random) -> str:
    return dice.choice((
        'root ::= "a" root "x" | [ab] root "y" | "z"',
        'root ::= s\ns ::= "a" s s | "a" | "aa" s',
        'root ::= ("a" | "a" "a" | [a-c]+)+ ("a" | [ab])* "a"',
        "root ::= " + " ".join('"a"?' for _ in range(dice.randrange(1, 2_500))),
        "root ::= " + " | ".join(f'[a-z]{{0,{n}}} "{n}"' for n in range(dice.randrange(1, 1_500))),
        "root ::= " + " | ".join(f'[a-z]* "{n}"' for n in range(dice.randrange(1, 2_000))),
        "root ::= (" + " | ".join(f'"{"a" * n}"' for n in range(1, dice.randrange(2, 180))) + ")*",
    ))  # fmt: skip


def _deep(dice: Random) -> str:
    depth = dice.choice((50, 99, 101, 2_000, 90_000))
    return dice.choice((
        "root ::= " + "(" * depth + '"a"' + ")" * depth,
        "root ::= " + "(" * depth,
        "root ::= " + ")" * depth,
        "root ::= " + "[" * depth,
        "root ::= r0\n" + "\n".join(f"r{n} ::= r{n + 1}" for n in range(min(depth, 9_000))) + f'\nr{min(depth, 9_000)} ::= "x"',
        'root ::= "' + "a" * depth + '"',
        'root ::= "' + "\\" * depth + '"',
        "root ::= [" + "a-" * depth + "]",
        'root ::= "a"' + "*" * depth,
        'root ::= "a" |' + "|" * depth,
        "# " + "x" * depth + '\nroot ::= "a"',
    ))  # fmt: skip


def _odd(dice: Random) -> str:
    size = _many(dice)
    return dice.choice((
        "", "root", "root ::=", "root ::= ", 'root ::= ""', "root ::= |", "root ::= root", "root ::= root root", "root ::= other",
        'root ::= "a"\nroot ::= "b"', 'Root ::= "a"', 'root ::= [z-a]', "root ::= []", "root ::= [^]", "root ::= [^\\x00-\\U0010FFFF]",
        'root ::= "\\x"', 'root ::= "\\U00110000"', 'root ::= "\\ud800"', 'root ::= "\\x00"', "root ::= [\\ud800-\\udfff]",
        f'root ::= "a"{{{size}}}', f'root ::= "a"{{{size},{size}}}', f'root ::= "a"{{,{size}}}', f'root ::= "a"{{{size},0}}',
        f"root ::= .{{{size}}}", f"root ::= [^\\n]{{{size},}}", 'root ::= "a"{', 'root ::= "a"{}', 'root ::= "a"{-1}', 'root ::= "a"{1.5}',
        "root ::= <|im_end|>", "root ::= <[5]>", "root ::= !<think>", "root ::= * + ?", 'root ::= "a" "b', "root ::= [a",
        "root := x", "root = x", "::= x", "start: x", "root ::= 'a'", "%%", '{"type": "object"}', "root ::= \"<|im_end|>\"",
        "root ::= nested-" + "x" * min(size, 150_000),
    ))  # fmt: skip


def _many_rules(dice: Random) -> str:
    count = dice.choice((10, 900, 9_000))
    return "\n".join(
        ["root ::= r0", *(f'r{n} ::= "x" r{(n * 7 + 1) % count} | "{n}"' for n in range(count))]
    )[:250_000]


def _strange(dice: Random) -> str:
    text = nasty(dice)
    return dice.choice(
        (
            text,
            f'root ::= "{text}"',
            f"root ::= [{text}]",
            f'root ::= "a" {text}',
            f"{text} ::= root",
            f'# {text}\nroot ::= "a"',
        )
    )


def _broken(dice: Random) -> str:
    return hostile_text.mutated(dice, dice.choice(_GOOD), _SIGNS)


# --- JSON schemas ------------------------------------------------------------------------------------------------


def _references(dice: Random) -> Schema:
    target = dice.choice((
        "#", "#/", "#/$defs/a", "#/$defs/b", "#/$defs/none", "#/$defs", "#a", "##", "", "/etc/passwd", "https://example.org/x",
        "file:///etc/passwd", "#/" + "a/" * 30_000, "#/%00", "#/%ZZ", "#/$defs/~1~0", "#/anyOf/99999999999", "#/$defs/a/$ref", 5, None, [], {},
    ))  # fmt: skip
    loop = {"$ref": target}
    return dice.choice((
        loop,
        {"$defs": {"a": loop, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/b"},
        {"$defs": {"a": {"anyOf": [loop, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
        {"type": "object", "properties": {"a": loop}, "required": ["a"]},
        {"type": "array", "items": loop},
        {"anyOf": [loop, loop, {"type": "null"}]},
        {"$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(dice.choice((5, 300, 5_000)))}, "$ref": "#/$defs/d0"},
    ))  # fmt: skip


def _bounds(dice: Random) -> Schema:
    low, high = _extreme(dice), _extreme(dice)
    return dice.choice((
        {"type": "string", "minLength": low, "maxLength": high},
        {"type": "array", "items": {"type": "string"}, "minItems": low, "maxItems": high},
        {"type": "array", "items": {"type": "array", "maxItems": high, "items": {"type": "array", "maxItems": high}}},
        {"type": "integer", "minimum": low, "maximum": high},
        {"type": "number", "exclusiveMinimum": low, "maximum": high},
        {"type": "number", "multipleOf": low},
        {"type": "object", "minProperties": low, "maxProperties": high},
        {"type": "string", "pattern": f"^a{{{low},{high}}}$"},
    ))  # fmt: skip


def _extreme(dice: Random) -> Any:
    return dice.choice((
        0, -1, 1, 5, 1.5, -0.0, 1e-320, 1e308, 2**31, 2**63, 10**30, -(10**30), 10**300, float("nan"), float("inf"), True, None, "5", [], 0.1,
        123456789.987654321, 2_000, 20_000,
    ))  # fmt: skip


def _patterns(dice: Random) -> Schema:
    looks = (
        "(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(?=x)", "(?<!x)", "\\1", "(a)\\1", "[", "(", ")", "*", "a**", "a{9999999}", "a{5,2}", "(?P<n>x)",
        "\\p{L}+", "\\b", "\\uD800", "\\x", "[z-a]", "[^\\s\\S]", "[\\d-z]", ".{0,1999}", "(.{0,40}){0,40}", "((((a*)*)*)*)*", "^^", "$$", "^$",
        "(?i)a", "[[:alpha:]]", "\\0", "|", "a|", "(|a)", "[]", "\\", "(" * 500, "(a" * 90 + ")" * 90, "x" * 30_000, ".*.*.*.*.*=", "\\c",
        "^[\\u4e00-\\u9fff]{1,9}$", "[\U0001f600-\U0001f64f]",
    )  # fmt: skip
    look = dice.choice(looks) if dice.random() < 0.7 else nasty(dice)
    return dice.choice(
        (
            {"type": "string", "pattern": look},
            {"type": "string", "pattern": hostile_text.mutated(dice, look, "()[]{}*+?|\\^$")},
        )
    )


def _nested(dice: Random) -> Schema:
    depth = dice.choice((10, 63, 65, 150, 300))  # what is deeper is no form that `json` could write
    schema: Schema = {"type": "string"}
    for _ in range(depth):
        schema = dice.choice((
            {"type": "object", "properties": {"a": schema}, "required": ["a"]}, {"type": "array", "items": schema}, {"anyOf": [schema, True]},
            {"allOf": [schema]}, {"type": "array", "prefixItems": [schema]},
        ))  # fmt: skip
    return schema


def _wide(dice: Random) -> Schema:
    count = dice.choice((50, 900, 2_001, 9_000))
    inner: Schema = {"type": "boolean"}
    for _ in range(dice.randrange(5)):
        inner = {"anyOf": [inner] * 12}
    return dice.choice((
        {"enum": list(range(count))},
        {"enum": ["a" * n for n in range(min(count, 500))]},
        {"type": "object", "properties": {f"p{n}": {"type": "boolean"} for n in range(min(count, 2_500))}},
        {"type": "object", "required": [f"p{n}" for n in range(count)]},
        {"anyOf": [{"const": n} for n in range(count)]},
        inner,
    ))  # fmt: skip


def _strange_schema(dice: Random) -> Schema:
    text = nasty(dice)
    return dice.choice((
        {"const": text}, {"enum": [text, text, None, {text: text}]}, {"type": text}, {text: 1}, {"type": "string", "format": text},
        {"type": "object", "properties": {text: {"type": "string"}, text + "a": True}}, {"title": text, "type": "null"},
        {"type": "object", "required": [text]}, {"$ref": "#/" + text}, {"$defs": {text: {}}, "$ref": "#/$defs/" + text},
    ))  # fmt: skip


def _wrong(dice: Random) -> Schema:
    junk = dice.choice(
        (
            None,
            True,
            False,
            0,
            -1,
            1.5,
            "x",
            [],
            {},
            [[]],
            [None],
            {"a": None},
            [1, 2],
            ["string", "string"],
            ["string", 5],
        )
    )
    word = dice.choice((
        "type", "properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems", "minLength", "maxLength",
        "pattern", "format", "minimum", "maximum", "$ref", "anyOf", "oneOf", "allOf", "const", "enum", "not", "if", "then", "contains",
        "patternProperties", "propertyNames", "uniqueItems", "dependentSchemas", "unevaluatedProperties", "$defs", "$dynamicRef",
    ))  # fmt: skip
    beside = dice.choice(
        (
            {},
            {"type": "object"},
            {"type": "array"},
            {"type": "string"},
            {"type": "integer"},
            {"type": ["string", "null"]},
        )
    )
    return {**beside, word: junk}


def _no_form(dice: Random) -> bytes:
    """The fields themselves are wrong, or lie too deep to be read."""
    deep = dice.choice((200, 3_000, 200_000))
    junk = dice.choice(
        (
            None,
            True,
            5,
            "x",
            [],
            {},
            {"type": 5},
            {"type": "json_schema"},
            {"type": "json_object", "schema": []},
            {"type": "xml"},
        )
    )
    nest = '{"a":' * deep + "1" + "}" * deep
    return dice.choice((
        _asked(response_format=junk),
        _asked(grammar=junk),
        _asked(grammar='root ::= "a"', response_format={"type": "json_object"}),
        _asked(grammar='root ::= "a"', ignore_eos=True),
        _asked(grammar="x" * 200_001),
        b'{"messages":[{"role":"user","content":"hi"}],"max_tokens":4,"response_format":{"type":"json_object","schema":' + nest.encode() + b"}}",
        b'{"messages":[{"role":"user","content":"hi"}],"max_tokens":4,"grammar":' + b"[" * deep + b"}",
    ))  # fmt: skip


_KINDS: dict[str, Callable[[Random], bytes]] = {
    "left recursion": _gbnf(_circles),
    "explosion": _gbnf(_explosion),
    "ambiguity": _gbnf(_ambiguous),
    "deep grammar": _gbnf(_deep),
    "odd grammar": _gbnf(_odd),
    "many rules": _gbnf(_many_rules),
    "strange characters": _gbnf(_strange),
    "broken grammar": _gbnf(_broken),
    "references": _schema(_references),
    "bounds": _schema(_bounds),
    "patterns": _schema(_patterns),
    "nested schema": _schema(_nested),
    "wide schema": _schema(_wide),
    "strange schema": _schema(_strange_schema),
    "wrong schema": _schema(_wrong),
    "no form": _no_form,
}
