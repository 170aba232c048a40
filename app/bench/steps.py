"""Figures from the steps that an engine told."""

from collections.abc import Sequence
from itertools import pairwise

from app.bench.engine import Heard
from app.bench.quantiles import median
from app.counters import Counters


def decoding(steps: Sequence[Heard], rows: int) -> list[Heard]:
    """The steps that decoded exactly `rows` sequences and read nothing."""
    return [heard for heard in steps if heard.counters.rows == rows and heard.counters.chunk == 0]


def step_seconds(steps: Sequence[Heard]) -> float:
    """The median time from one step to the next."""
    return median([b.at - a.at for a, b in pairwise(steps)])


def tokens_per_second(steps: Sequence[Heard], rows: int) -> float:
    """From the first of these steps to the last, which are to follow each other."""
    return rows * (len(steps) - 1) / wall(steps) if len(steps) > 1 else 0.0


def own_ms(steps: Sequence[Heard]) -> float:
    """The median time of a step outside decode and the choice of tokens, within the engine's own account."""
    return median([_own(heard.counters) for heard in steps])


def choice_ms(steps: Sequence[Heard]) -> float:
    """The median time in which the tokens of a step were chosen."""
    return median([heard.counters.choice_ms for heard in steps])


def own_share(steps: Sequence[Heard]) -> float:
    """The share of the wall time that was not spent inside decode, between the first and the last step."""
    return 1 - decode_share(steps)


def decode_share(steps: Sequence[Heard]) -> float:
    """The share of the wall time that was spent inside decode, from the end of the first step to that of the last."""
    inside = sum(heard.counters.decode_ms for heard in steps[1:]) / 1000
    return inside / wall(steps) if len(steps) > 1 else 0.0


def _own(counters: Counters) -> float:
    return counters.step_ms - counters.decode_ms - counters.choice_ms


def wall(steps: Sequence[Heard]) -> float:
    """Seconds from the end of the first step to that of the last."""
    return steps[-1].at - steps[0].at
