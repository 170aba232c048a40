"""Which waiting requests may begin: by what is needed now, not by what they might come to need.

Where there is no room for a request, work of a lower class gives way to it: it is put back, its state kept, and goes
on later.  A request for which even that makes no room holds back all that came later, but for those of a better
class; and of these no more than `MOST_OVERTAKINGS` begin before it.  An answer that goes on under a grammar waits until
that has taken in, over some steps, what was written before.
"""

from collections.abc import Callable
from collections.abc import Sequence as Seq

import numpy as np

from app.engine.backend import MemoryKind
from app.engine.pool import Pool
from app.engine.prefix import best_match, common_prefix
from app.engine.sequence import Sequence
from app.engine.slot import Slot, Source
from app.wire import Priority

MOST_OVERTAKINGS = 8
"""Requests of a better class that may begin before one that has no room yet."""

_GROWTH = 16
"""Cells kept for each active sequence when another one is let in beside it."""

_WORTH_A_TIP = 16
"""Tokens that a fork must save before another request keeps its state for it."""

_LEAST_APART = 16
"""Tokens between two places where a chunk ends early for others that wait, or a prompt would be read in crumbs."""


class Admission:
    """Lets requests into the pool.  `start` gives a sequence its slot, `park` takes it away and keeps its state."""

    def __init__(
        self,
        pool: Pool,
        kind: MemoryKind,
        *,
        start: Callable[[Sequence, Slot], None],
        park: Callable[[Sequence], None],
    ) -> None:
        self._pool = pool
        self._cuttable = kind is MemoryKind.ATTENTION
        self._start = start
        self._park = park
        self.held = False
        """Whether nobody is let in before somebody has ended: the pool proved smaller than it counts."""

    def admit(self, waiting: Seq[Sequence], active: Seq[Sequence]) -> None:
        """Give slots to as many of `waiting` (the most urgent first) as there is room for."""
        inside = list(active)
        blocked: list[Sequence] = []
        for other in inside:
            # Whoever still waits for it says so below.
            other.boost = Priority.BACKGROUND
        for sequence in _caught_up(waiting):
            if not all(_may_overtake(sequence, other) for other in blocked):
                continue
            if self._waits_for_prefix(sequence, inside):
                continue
            if not self._enter(sequence, inside):
                blocked.append(sequence)
                continue
            for other in blocked:
                other.overtaken += 1

    def _enter(self, sequence: Sequence, inside: list[Sequence]) -> bool:
        """Start it, after putting back as much lower work as it takes; False where that is not enough."""
        lower = self._lower(sequence, inside)
        crowded = self.held and bool(inside)
        while crowded or not self._begin(sequence, inside):
            if not lower:
                return False
            victim = lower.pop()
            self._park(victim)
            inside.remove(victim)
            crowded = False
        return True

    def _begin(self, sequence: Sequence, inside: list[Sequence]) -> bool:
        source = self._pool.match(sequence.tokens.view)
        if not self._has_room(sequence, source, inside):
            return False
        slot = self._pool.acquire(source, sequence.tokens.view)
        if slot is None:
            return False
        self._start(sequence, slot)
        if sequence.slot is not None:
            inside.append(sequence)
        return True

    def _lower(self, sequence: Sequence, inside: Seq[Sequence]) -> list[Sequence]:
        """The work that gives way to this request, the least urgent last; none where all of it would not be enough.

        What has waited so long that it counts as this class does not give way, nor does waiting make a request push
        others out.
        """
        lower = [other for other in inside if other.level > sequence.priority]
        if not lower:
            return []
        stay = [other for other in inside if other.level <= sequence.priority]
        if stay and self._needed_beside(sequence, stay) > self._pool.cells.total:
            return []
        return sorted(lower, key=lambda other: other.urgency)

    def _needed_beside(self, sequence: Sequence, stay: Seq[Sequence]) -> int:
        """Cells that these and the request would take together; what they have in common counts once."""
        slots = [other.slot for other in stay if other.slot is not None]
        held = len(np.unique(np.concatenate([slot.handles for slot in slots])))
        owed = sum(other.remaining + _GROWTH for other in stay)
        shared = best_match((slot.held for slot in slots), sequence.tokens.view)
        new = len(sequence.tokens) + 1 - (shared.tokens if shared else 0)
        return held + owed + new

    def _waits_for_prefix(self, sequence: Sequence, active: Seq[Sequence]) -> bool:
        """Whether another request is just reading tokens that this one begins with.

        Even one token is worth the wait: the step is spent on the common prefix either way.  Where a fork needs
        a kept tip, the other is made to keep one, which is only worth it for more.
        """
        if sequence.awaits is not None:
            # Found at an earlier step; comparing the texts again would cost every step.
            reader, upto = sequence.awaits
            if reader.slot is not None and reader.evaluated < upto:
                reader.boost = min(reader.boost, sequence.priority)
                return True
            sequence.awaits = None
        available = self._pool.match(sequence.tokens.view).length
        for other in active:
            common = common_prefix(other.tokens.view, sequence.tokens.view)
            useful = common if self._cuttable else min(common, len(sequence.tokens) - 1)
            worth = 1 if self._cuttable else _WORTH_A_TIP
            if other.evaluated < useful and useful - available >= worth:
                other.boost = min(other.boost, sequence.priority)
                self._stop_at(other, useful)
                sequence.awaits = (other, useful)
                return True
        return False

    def _stop_at(self, reader: Sequence, place: int) -> None:
        """Have a chunk of `reader` end there, so that who begins with the same may come in at once, and a short request
        does not wait for the rest of a long one's chunk; only where a tip is needed just there may chunks become tiny.
        """
        if self._cuttable and any(abs(mark - place) < _LEAST_APART for mark in reader.marks):
            return
        reader.marks = tuple(sorted({*reader.marks, place}))

    def _has_room(self, sequence: Sequence, source: Source, active: Seq[Sequence]) -> bool:
        """What others of the same or a better class still have to read counts as taken; lower ones can wait."""
        needed = len(sequence.tokens) - source.live + 1
        owed = sum(other.remaining for other in active if other.level <= sequence.level)
        growth = _GROWTH * len(active)
        return not active or self._pool.room_for(needed + owed + growth, source)


def _caught_up(waiting: Seq[Sequence]) -> list[Sequence]:
    """Those whose grammars know all that was written; the first of the others gets further."""
    behind = (
        one for sequence in waiting if (one := sequence.constraint) is not None and one.behind
    )
    first = next(behind, None)
    if first is not None:
        first.catch_up()
    return [one for one in waiting if one.constraint is None or not one.constraint.behind]


def _may_overtake(sequence: Sequence, other: Sequence) -> bool:
    """Whether a request may begin although another, which comes before it, has no room yet."""
    return sequence.priority < other.priority and other.overtaken < MOST_OVERTAKINGS
