"""What values the parameters of a tool have, for formats that write them without quotes.  Pure."""

import json
from collections.abc import Iterable, Mapping
from enum import Enum, auto

from app.dialogue import Tool
from app.errors import FormError
from app.text.calls.json_scan import JsonScan
from app.text.grammar.parameters import alternatives

_WORDS = {"true": "true", "false": "false", "none": "null", "null": "null"}


class Kind(Enum):
    """How the text of a parameter becomes JSON."""

    TEXT = auto()
    """It is a string, whatever it looks like."""
    TEXT_OR_NULL = auto()
    ANY = auto()
    """It is JSON where it can be, else a string."""


Kinds = Mapping[str, Mapping[str, Kind]]
"""By tool and parameter; what is not there is ANY."""


def kinds(tools: Iterable[Tool]) -> dict[str, dict[str, Kind]]:
    """The kinds of all parameters of these tools; schemas that say nothing plain leave them out."""
    return {tool.name: kinds_of(json.loads(tool.parameters)) for tool in tools}


def kinds_of(schema: object) -> dict[str, Kind]:
    """The kinds of the parameters of this schema, where all its alternatives agree on one."""
    try:
        choices: list[object] = [*alternatives(schema)]
    except FormError:
        choices = [schema]  # what is not understood, the model was shown all the same
    found: dict[str, set[Kind]] = {}
    for choice in choices:
        properties = choice.get("properties") if isinstance(choice, dict) else None
        for name, value in properties.items() if isinstance(properties, dict) else ():
            found.setdefault(name, set()).add(kind_of(value))
    alone = {name: some.pop() for name, some in found.items() if len(some) == 1}
    return {name: kind for name, kind in alone.items() if kind is not Kind.ANY}


def as_json(text: str, kind: Kind) -> str:
    """The value that was written as this text."""
    word = _WORDS.get(text.strip().lower())
    if kind is not Kind.TEXT and word == "null":
        return word
    if kind is Kind.ANY:
        if word is not None:
            return word
        scan = JsonScan()
        accepted, used = scan.feed(text.strip())
        scan.finish()
        if scan.done and used == len(text.strip()):
            return accepted
    return json.dumps(text, ensure_ascii=False)


def kind_of(schema: object) -> Kind:
    """What a parameter of this schema is."""
    types = _types(schema)
    if types == {"string"}:
        return Kind.TEXT
    return Kind.TEXT_OR_NULL if types == {"string", "null"} else Kind.ANY


def _types(schema: object) -> set[str]:
    """The types that a schema names, empty where it does not say."""
    if not isinstance(schema, dict):
        return set()
    named = schema.get("type")
    if isinstance(named, str):
        return {named}
    if isinstance(named, list):
        return {name for name in named if isinstance(name, str)}
    values = schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return {"string"}
    found: set[str] = set()
    for choice in _choices(schema):
        types = _types(choice)
        if not types:
            return set()
        found |= types
    return found


def _choices(schema: Mapping[str, object]) -> list[object]:
    """The schemas of which one has to hold; a client may have written anything in their place."""
    lists = (value for key in ("anyOf", "oneOf") if isinstance(value := schema.get(key), list))
    return next(filter(None, lists), [])
