"""The same requests in three ways: one after the other, in fixed batches, and all at once for the engine to schedule.

All requests are there from the beginning: a latency is the time from then to the end of the answer, the wait included.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.bench.engine import Asked, Engine, Heard
from app.bench.prompts import Ask
from app.bench.quantiles import quantile
from app.bench.steps import decode_share


class Mode(StrEnum):
    """How requests are handed to the engine."""

    SINGLE = "single"
    STATIC = "static"
    CONTINUOUS = "continuous"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a mode needed; seconds from the first submit."""

    seconds: float
    written: int
    read: int
    prompt: int
    latencies: tuple[float, ...]
    firsts: tuple[float, ...]
    steps: tuple[Heard, ...]

    @property
    def tokens_per_second(self) -> float:
        return self.written / self.seconds

    def latency(self, share: float) -> float:
        return quantile(self.latencies, share)

    @property
    def rows_per_step(self) -> float:
        """Sequences decoded in a step, over the steps that decoded any."""
        rows = [heard.counters.rows for heard in self.steps if heard.counters.rows]
        return sum(rows) / len(rows) if rows else 0.0

    @property
    def inside(self) -> float:
        """The share of the time inside decode."""
        return decode_share(self.steps)

    @property
    def hit_rate(self) -> float:
        """The share of prompt tokens that were not read."""
        return 1 - self.read / self.prompt


async def spend(engine: Engine, mode: Mode, asks: Sequence[Ask], at_once: int) -> Spent:
    """Have the engine answer all of them; with STATIC `at_once` at a time, each batch waiting for its slowest."""
    size = {Mode.SINGLE: 1, Mode.STATIC: at_once, Mode.CONTINUOUS: len(asks)}[mode]
    mark, before = len(engine.steps), engine.counters
    done: list[Asked] = []
    for start in range(0, len(asks), size):
        batch = [engine.submit(ask.prompt, ask.written) for ask in asks[start : start + size]]
        await engine.whole(*batch)
        done += batch
    began = done[0].began
    return Spent(
        seconds=max(asked.ended for asked in done) - began,
        written=sum(len(asked.tokens) for asked in done),
        read=engine.counters.read - before.read,
        prompt=sum(len(ask.prompt) for ask in asks),
        latencies=tuple(asked.ended - began for asked in done),
        firsts=tuple(asked.times[0] - began for asked in done),
        steps=tuple(engine.steps[mark:]),
    )
