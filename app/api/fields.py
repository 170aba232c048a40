"""Fields of a request's body, and the words for wrong ones."""

from app.errors import RequestError

Fields = dict[str, object]


def wrong(param: str, must: str) -> RequestError:
    """The error that names the field."""
    return RequestError(f"'{param}' must be {must}.", param=param, code="invalid_value")


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
