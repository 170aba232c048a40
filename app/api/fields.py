"""Fields of a request's body, and the words for wrong ones."""

import re

from app.errors import RequestError

Fields = dict[str, object]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def wrong(param: str, must: str) -> RequestError:
    """The error that names the field."""
    return RequestError(f"'{param}' must be {must}.", param=param, code="invalid_value")


def not_supported(param: str, why: str) -> RequestError:
    """The error for what would change the answer and is not done."""
    return RequestError(
        f"'{param}' is not supported: {why}.", param=param, code="unsupported_value"
    )


def name_in(fields: Fields, where: str) -> str:
    """The name that the object at `where` gives to a tool or a schema; raises RequestError."""
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise wrong(f"{where}.name", "1 to 64 letters, figures, '_' or '-'")
    return name


def whole(fields: Fields, name: str, limits: tuple[float, float]) -> int | None:
    """A whole number within limits, None where it is absent; raises RequestError."""
    value = fields.get(name)
    if value is None:
        return None
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise wrong(name, f"a whole number from {low:.0f} to {high:.0f}")
    return value


def switch(fields: Fields, name: str) -> bool:
    """True or false, false where it is absent; raises RequestError."""
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise wrong(name, "true or false")
    return bool(value)
