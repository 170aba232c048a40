"""Whether a value is valid by a JSON schema: the keywords that the tests use, written apart from the program's own."""

import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable
from typing import Any

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_FORMATS: dict[str, Callable[[str], Any]] = {
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "date-time": datetime.datetime.fromisoformat,
    "uuid": uuid.UUID,
    "ipv4": ipaddress.IPv4Address,
}


def valid(value: Any, schema: Any, whole: Any = None) -> bool:
    """True where nothing in `schema` speaks against `value`."""
    whole = schema if whole is None else whole
    if schema is True:
        return True
    return all(
        _CHECKS[name](value, wanted, schema, whole)
        for name, wanted in schema.items()
        if name in _CHECKS and _is_about(name, value)
    )


def _is_about(name: str, value: Any) -> bool:
    """Whether this keyword says anything of a value of this type."""
    kind = next((kind for kind, names in _ABOUT.items() if name in names), None)
    return kind is None or _TYPES[kind](value)


def _more(value: Any, wanted: Any, schema: Any, whole: Any) -> bool:
    more = [one for key, one in value.items() if key not in schema.get("properties", {})]
    return not more if wanted is False else all(valid(one, wanted, whole) for one in more)


_ABOUT = {
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "array": ("minItems", "maxItems", "items", "prefixItems"),
    "object": ("required", "properties", "additionalProperties"),
}
_CHECKS: dict[str, Callable[[Any, Any, Any, Any], bool]] = {
    "type": lambda value, wanted, *_: any(
        _TYPES[kind](value) for kind in (wanted if isinstance(wanted, list) else [wanted])
    ),
    "const": lambda value, wanted, *_: _same(value, wanted),
    "enum": lambda value, wanted, *_: any(_same(value, one) for one in wanted),
    "anyOf": lambda value, wanted, _, whole: any(valid(value, one, whole) for one in wanted),
    "oneOf": lambda value, wanted, _, whole: any(valid(value, one, whole) for one in wanted),
    "$ref": lambda value, wanted, _, whole: valid(value, _target(wanted, whole), whole),
    "minimum": lambda value, wanted, *_: value >= wanted,
    "maximum": lambda value, wanted, *_: value <= wanted,
    "exclusiveMinimum": lambda value, wanted, *_: value > wanted,
    "exclusiveMaximum": lambda value, wanted, *_: value < wanted,
    "minLength": lambda value, wanted, *_: len(value) >= wanted,
    "maxLength": lambda value, wanted, *_: len(value) <= wanted,
    "pattern": lambda value, wanted, *_: re.search(wanted, value) is not None,
    "format": lambda value, wanted, *_: _FORMATS[wanted](value) is not None,
    "minItems": lambda value, wanted, *_: len(value) >= wanted,
    "maxItems": lambda value, wanted, *_: len(value) <= wanted,
    "items": lambda value, wanted, _, whole: all(valid(one, wanted, whole) for one in value),
    "prefixItems": lambda value, wanted, _, whole: all(
        valid(*pair, whole) for pair in zip(value, wanted, strict=False)
    ),
    "required": lambda value, wanted, *_: all(one in value for one in wanted),
    "properties": lambda value, wanted, _, whole: all(
        valid(value[one], inner, whole) for one, inner in wanted.items() if one in value
    ),
    "additionalProperties": _more,
}


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _target(reference: str, whole: Any) -> Any:
    for part in reference.split("/")[1:]:
        whole = whole[part]
    return whole
