"""What the next step evaluates; pure.

Every running sequence gets its one row.  The rest of the step's time goes to the sequences that are still
reading: by class, and inside a class by response ratio, so that a short prompt overtakes a long one, but a long
one that has waited is not overtaken for ever.
"""

from collections.abc import Sequence as Seq
from dataclasses import dataclass

from app.engine.cost import CostModel, Shape
from app.engine.sequence import Sequence

_HEAD_START = 64
"""Tokens of wait that every sequence begins with, so that among new ones the shortest goes first."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a step's time is spent.

    While others are writing, a step may take `gap` times as long as one without prefill; alone, reading may
    take `alone_seconds`, which bounds how late a new request or a cancel is heard.  `floor` tokens are always
    read, so that reading never starves.
    """

    gap: float = 3.0
    alone_seconds: float = 0.5
    floor: int = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """One decode row for each of `rows`; `chunks` says how many tokens each reading sequence reads."""

    rows: tuple[Sequence, ...]
    chunks: tuple[tuple[Sequence, int], ...]

    @property
    def chunk_tokens(self) -> int:
        return sum(count for _, count in self.chunks)

    @property
    def empty(self) -> bool:
        return not self.rows and not self.chunks


def prefill_budget(cost: CostModel, pace: Pace, rows: int, cells: int) -> int:
    """How many prompt tokens the next step may read beside `rows` decode rows, with `cells` cells in use."""
    alone = cost.seconds(Shape(rows, 0, cells)) if rows else None
    seconds = pace.alone_seconds if alone is None else pace.gap * alone
    return max(pace.floor, cost.chunk_for(seconds, rows, cells))


def reading_order(reading: Seq[Sequence]) -> list[Sequence]:
    """By class, then by response ratio: the wait so far over the own work, both in tokens."""

    def key(sequence: Sequence) -> tuple[int, float, int]:
        ratio = (sequence.waited + _HEAD_START) / sequence.remaining
        return (min(sequence.priority, sequence.boost), -ratio, sequence.arrival)

    return sorted(reading, key=key)


def plan(running: Seq[Sequence], reading: Seq[Sequence], budget: int) -> Plan:
    """Give every running sequence its row and share `budget` prefill tokens among the reading ones."""
    chunks: list[tuple[Sequence, int]] = []
    for sequence in reading_order(reading):
        count = min(budget, sequence.chunk_limit)
        if count <= 0:
            break
        chunks.append((sequence, count))
        budget -= count
    return Plan(tuple(running), tuple(chunks))
