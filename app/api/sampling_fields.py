"""What a request says of the sampling: the fields of `Sampling` by their own names, and the log-probabilities.

The names are llama-server's, which are OpenAI's where that has one.
"""

from dataclasses import replace

from app.api.fields import Fields, switch, whole, wrong
from app.errors import RequestError
from app.sampling import FIELDS, Sampling, Value, Wrong, checked

MOST_LOGPROBS = 20


def sampling(fields: Fields) -> tuple[Sampling, frozenset[str]]:
    """The sampling, and the names of what was not given; null counts as not given.  Raises RequestError."""
    given: dict[str, Value] = {}
    for name in FIELDS:
        value = fields.get(name)
        if value is None:
            continue
        found = checked(name, value)
        if isinstance(found, Wrong):
            raise wrong(name + found.place, found.must)
        given[name] = found
    return replace(Sampling(), **given), frozenset(FIELDS).difference(given)  # type: ignore[arg-type]


def top_logprobs(fields: Fields) -> int | None:
    """How many log-probabilities are wanted besides the token's own; None: not even that.  Raises RequestError."""
    wanted = switch(fields, "logprobs")
    most = whole(fields, "top_logprobs", (0, MOST_LOGPROBS))
    if most and not wanted:
        raise RequestError(
            "'top_logprobs' goes with 'logprobs': true only.",
            param="top_logprobs",
            code="invalid_value",
        )
    return (most or 0) if wanted else None
