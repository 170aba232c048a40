"""Which waiting requests may begin: by what is needed now, not by what they might come to need."""

from collections.abc import Callable
from collections.abc import Sequence as Seq

from app.engine.backend import MemoryKind
from app.engine.pool import Pool, Slot, Source
from app.engine.prefix import common_prefix
from app.engine.sequence import Sequence

_GROWTH = 16
"""Cells kept for each active sequence when another one is let in beside it."""

_WORTH_A_TIP = 16
"""Tokens that a fork must save before another request keeps its state for it."""


class Admission:
    """Lets requests into the pool, the most urgent first; one that finds no room holds back those after it."""

    def __init__(self, pool: Pool, kind: MemoryKind) -> None:
        self._pool = pool
        self._kind = kind
        self.held = False
        """Whether nobody is let in before somebody has ended: the pool proved smaller than it counts."""

    def admit(
        self,
        waiting: Seq[Sequence],
        active: Seq[Sequence],
        start: Callable[[Sequence, Slot], None],
    ) -> None:
        """Give slots to as many of `waiting` (in order) as there is room for, and `start` them."""
        inside = list(active)
        for sequence in waiting:
            if self.held and inside:
                return
            source = self._pool.match(sequence.tokens.view)
            if self._waits_for_prefix(sequence, source.length, inside):
                continue
            if not self._has_room(sequence, source, inside):
                return
            slot = self._pool.acquire(source, sequence.tokens.view)
            if slot is None:
                return
            start(sequence, slot)
            inside.append(sequence)

    def _waits_for_prefix(self, sequence: Sequence, available: int, active: Seq[Sequence]) -> bool:
        """Whether another request is just reading tokens that this one begins with.

        Even one token is worth the wait: the step is spent on the common prefix either way.  Where a fork needs
        a kept tip, the other is made to keep one, which is only worth it for more.
        """
        cuttable = self._kind is MemoryKind.ATTENTION
        for other in active:
            common = common_prefix(other.tokens.view, sequence.tokens.view)
            useful = min(common, len(sequence.tokens) - 1)
            if cuttable and available < common and other.evaluated < common:
                other.boost = min(other.boost, sequence.priority)
                return True
            if not cuttable and other.evaluated < useful and useful - available >= _WORTH_A_TIP:
                other.boost = min(other.boost, sequence.priority)
                other.marks = tuple(sorted({*other.marks, useful}))
                return True
        return False

    def _has_room(self, sequence: Sequence, source: Source, active: Seq[Sequence]) -> bool:
        needed = len(sequence.tokens) - source.live + 1
        owed = sum(other.remaining for other in active)
        growth = _GROWTH * len(active)
        return not active or self._pool.room_for(needed + owed + growth, source)
