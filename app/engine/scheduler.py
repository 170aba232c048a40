"""What the next step evaluates; pure.

Every running sequence gets its one row.  The rest of the step's time goes to the sequences that are still
reading: by class, and inside a class by response ratio, so that a short prompt overtakes a long one, but a long
one that has waited is not overtaken for ever.  Background work costs the others nothing: it is read while they rest,
and in their steps only once it has waited long enough to count as one of them.
"""

from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace

from app.engine.cost import LARGE, UNBOUNDED, CostModel, Shape
from app.engine.sequence import Sequence
from app.wire import Priority

_HEAD_START = 64
"""Tokens of time that every sequence begins with, so that among new ones the shortest goes first."""

TURN_SECONDS = 2.0
"""How long a chat decodes before another takes its place, where not all can decode together."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a step's time is spent.

    While others are writing, a step may take `gap` times as long as one without prefill, at the longest; alone,
    reading may take `alone_seconds`, which bounds how late a new request or a cancel is heard, but for steps that
    are too small to be quick.  `floor` tokens are always read, so that reading never starves, and more where more take
    hardly longer.  The gap is `urgent` times as long while the prompt that is read is more urgent than all that is
    written: somebody looks at that chat, and nobody at the others.  `shared_seconds` is what `alone_seconds` becomes
    while another model's chats wait for the device.
    """

    gap: float = 3.0
    alone_seconds: float = 0.5
    shared_seconds: float = 0.1
    floor: int = 4
    urgent: float = 2.5

    @property
    def shared(self) -> "Pace":
        """The pace beside another model."""
        return replace(self, alone_seconds=self.shared_seconds)


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


def prefill_budget(
    cost: CostModel,
    pace: Pace,
    rows: int,
    cells: int,
    *,
    read: int = 0,
    most: int = UNBOUNDED,
    urgent: bool = False,
) -> int:
    """How many prompt tokens the next step may read beside `rows` decode rows, with `cells` cells in use.

    `read` of the cells are those of the prompts that are being read: the gap is measured by what a step would take
    without them.  There are `most` that it could read.  `urgent` says that what is read is more urgent than all of the rows.
    """
    if not rows:
        return min(most, max(LARGE, cost.chunk_for(pace.alone_seconds, rows, cells, most)))
    alone = cost.seconds(Shape(rows, 0, max(0, cells - read)))
    if not urgent and cost.wants_decode(rows, cells):
        return 0
    if alone is None:
        return min(pace.floor, most)
    gap = pace.gap * pace.urgent if urgent else pace.gap
    chunk = cost.chunk_for(gap * alone / cost.margin, rows, cells, most)
    if chunk >= min(pace.floor, most):
        return chunk
    return cost.least_chunk(pace.floor, rows, cells, most)


def more_urgent(reading: Seq[Sequence], running: Seq[Sequence]) -> bool:
    """Whether the most urgent of `reading` is of a higher class than every one of `running`.

    What a request has earned by waiting does not count: nobody looks at it for that.
    """
    if not reading or not running:
        return False
    return min(one.claim for one in reading) < min(one.claim for one in running)


def in_turn(running: Seq[Sequence], reading: Seq[Sequence]) -> list[Sequence]:
    """Those of `reading` that may be read in the next step: background work only where nobody else is in it, for it
    would make the step longer."""
    if all(sequence.background for sequence in (*running, *reading)):
        return list(reading)
    return [sequence for sequence in reading if not sequence.background]


def reading_order(reading: Seq[Sequence]) -> list[Sequence]:
    """By class, then by response ratio: the time so far over what is left, both in tokens.

    The time counts what was read of the sequence itself too.  Were it the wait alone, of two equal prompts the one that
    got nothing would go next, and both would be done at the end.
    """

    def key(sequence: Sequence) -> tuple[int, float, int]:
        ratio = (sequence.elapsed + _HEAD_START) / sequence.remaining
        return (sequence.level, -ratio, sequence.arrival)

    return sorted(reading, key=key)


def choose_rows(running: Seq[Sequence], most: int, now: float) -> list[Sequence]:
    """The sequences that decode in the next step: all, or where that are more than `most`, by short turns.

    The front chat always decodes.  Among the others a turn lasts `TURN_SECONDS`; then the one that has rested
    longest takes over.  A sequence that never had a turn comes before those that had one.  Background work has what
    the others leave, until it has waited so long that it counts as one of them.
    """
    if len(running) <= most:
        chosen = list(running)
    else:
        chosen = sorted(running, key=lambda sequence: _turn_order(sequence, now))[:most]
    for sequence in running:
        if sequence not in chosen:
            sequence.turn_began = None
        elif sequence.turn_began is None or now - sequence.turn_began >= TURN_SECONDS:
            # A turn that is over and goes on is a new one, or its holder would count as rested for ever.
            sequence.turn_began = sequence.last_turn = now
    return chosen


def _turn_order(sequence: Sequence, now: float) -> tuple[bool, bool, bool, float, int]:
    others = sequence.claim > Priority.FRONT
    on_turn = sequence.turn_began is not None and now - sequence.turn_began < TURN_SECONDS
    last = sequence.last_turn
    return (others, sequence.background, not on_turn, last, sequence.arrival)


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
