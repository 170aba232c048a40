"""The strict fake backend, with troubles at drawn moments, and with all that it holds open to be looked at."""

from typing import Any

from app.engine.backend import Batch, DecodeResult, MemoryKind
from app.engine.fake import Cell
from tests.engine_run import StrictBackend

Held = list[Cell]


class TroubledBackend(StrictBackend):
    """`refusals` are the numbers of decode calls that find no room although there is some, `damaged` those of the
    restores and of the forks with a kept state that are refused."""

    def __init__(self, *, damaged: frozenset[int] = frozenset(), **facts: Any) -> None:
        super().__init__(**facts)
        self._damaged = damaged
        self._taken = 0
        self._refused_alone = False
        self.troubled = False
        """Whether the last decode did less than it was asked for."""

    def all_held(self) -> dict[int, Held]:
        """What each sequence holds that holds anything."""
        every = {name: self.held(name) for name in self._held}
        return {name: cells for name, cells in every.items() if cells}

    def decode(self, batch: Batch) -> DecodeResult:
        result = super().decode(batch)
        self.troubled = result is not DecodeResult.DONE
        return result

    def _refuses(self, batch: Batch) -> bool:
        """A sequence that has the pool for itself finds no room once at most: it comes back in one piece, and if that
        does not fit either, then nothing does."""
        if not super()._refuses(batch):
            return False
        alone = len({*self.all_held(), *batch.sequences.tolist()}) == 1
        if alone and self._refused_alone:
            return False
        self._refused_alone |= alone
        return True

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        assert source != target
        # The rest of a beginning may be added to it, where a memory can be cut at all.
        before = len(self.held(target))
        cuttable = self.info.kind is MemoryKind.ATTENTION
        assert before == 0 or (cuttable and before == start), "a copy onto something"
        super().copy(source, target, start, end)

    def remove(self, sequence: int, start: int, end: int | None) -> bool:
        if start > 0 and self.info.kind is not MemoryKind.ATTENTION:
            assert end is None
            assert start >= len(self.held(sequence)) - 1, "a rollback deeper than one token"
        return super().remove(sequence, start, end)

    def restore(self, sequence: int, data: bytes) -> bool:
        assert self.held(sequence) == [], "a restore onto something"
        return self._fit() and super().restore(sequence, data)

    def load_tip(self, sequence: int, data: bytes) -> bool:
        assert self.held(sequence), "a state without its cells"
        return self._fit() and super().load_tip(sequence, data)

    def _fit(self) -> bool:
        self._taken += 1
        return self._taken not in self._damaged
