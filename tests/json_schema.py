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
    return all(_holds(name, wanted, value, schema, whole) for name, wanted in schema.items())


def _holds(name: str, wanted: Any, value: Any, schema: Any, whole: Any) -> bool:
    number = _TYPES["number"](value)
    text, rows, table = isinstance(value, str), isinstance(value, list), isinstance(value, dict)
    match name:
        case "type":
            kinds = wanted if isinstance(wanted, list) else [wanted]
            return any(_TYPES[kind](value) for kind in kinds)
        case "const":
            return _same(value, wanted)
        case "enum":
            return any(_same(value, one) for one in wanted)
        case "anyOf" | "oneOf":
            return any(valid(value, one, whole) for one in wanted)
        case "$ref":
            return valid(value, _target(wanted, whole), whole)
        case "minimum":
            return not number or value >= wanted
        case "maximum":
            return not number or value <= wanted
        case "exclusiveMinimum":
            return not number or value > wanted
        case "exclusiveMaximum":
            return not number or value < wanted
        case "minLength":
            return not text or len(value) >= wanted
        case "maxLength":
            return not text or len(value) <= wanted
        case "pattern":
            return not text or re.search(wanted, value) is not None
        case "format":
            if text:
                _FORMATS[wanted](value)
            return True
        case "minItems":
            return not rows or len(value) >= wanted
        case "maxItems":
            return not rows or len(value) <= wanted
        case "items":
            return not rows or all(valid(one, wanted, whole) for one in value)
        case "prefixItems":
            return not rows or all(valid(*pair, whole) for pair in zip(value, wanted, strict=False))
        case "required":
            return not table or all(one in value for one in wanted)
        case "properties":
            return not table or all(
                valid(value[one], inner, whole) for one, inner in wanted.items() if one in value
            )
        case "additionalProperties":
            known = schema.get("properties", {})
            more = {key: one for key, one in value.items() if key not in known} if table else {}
            return (
                not more
                if wanted is False
                else all(valid(one, wanted, whole) for one in more.values())
            )
    return True


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _target(reference: str, whole: Any) -> Any:
    for part in reference.split("/")[1:]:
        whole = whole[part]
    return whole
