"""Likelihoods of tokens in OpenAI's shape.  Pure."""

import math
from collections.abc import Sequence

from app.chat.ports import Chance, Likelihood

_IMPOSSIBLE = -9999.0
"""JSON has no infinity; this is what OpenAI writes."""


def content(likelihoods: Sequence[Likelihood]) -> dict[str, object]:
    """The value of a choice's `logprobs`."""
    return {"content": [_entry(likelihood) for likelihood in likelihoods], "refusal": None}


def _entry(likelihood: Likelihood) -> dict[str, object]:
    return {**_chance(likelihood.own), "top_logprobs": [_chance(one) for one in likelihood.best]}


def _chance(chance: Chance) -> dict[str, object]:
    """A token that is a part of a character is text only together with its neighbours: `bytes` is what counts."""
    value = chance.logprob
    return {
        "token": chance.piece.decode("utf-8", "replace"),
        "logprob": value if math.isfinite(value) else _IMPOSSIBLE,
        "bytes": list(chance.piece),
    }
