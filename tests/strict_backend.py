"""The fake backend with llama.cpp's preconditions as assertions, and with troubles at drawn moments.

What the real library answers with an abort, or with 0 and a wrong state, fails here at once: a copy onto a sequence that
holds something, a fork without its state, a rollback of more than the last token, too many rows or outputs.
"""

from app.engine.backend import Batch, DecodeResult, MemoryKind
from app.engine.fake import FakeBackend

Held = list[tuple[int, int]]


class StrictBackend(FakeBackend):
    """`no_room` are the numbers of decode calls that find no room although there is some (a fragmented window), where
    somebody can give way; `damaged` those of the restores and forks whose saved state is refused."""

    def __init__(
        self,
        *,
        no_room: frozenset[int] = frozenset(),
        damaged: frozenset[int] = frozenset(),
        **facts: object,
    ) -> None:
        super().__init__(**facts)  # type: ignore[arg-type]
        self._no_room, self._damaged = no_room, damaged
        self._asked = self._taken = 0
        self._stateless: set[int] = set()
        self.most_outputs = self.info.sequences
        self.troubled = False
        """Whether the last decode did less than it was asked for."""

    def held(self, sequence: int) -> Held:
        """(position, token) of each cell that the sequence owns, in order."""
        return self.all_held().get(sequence, [])

    def all_held(self) -> dict[int, Held]:
        """What each sequence holds that holds anything."""
        found: dict[int, Held] = {}
        for at, token, owners in self._cells:
            for name in owners:
                found.setdefault(name, []).append((at, token))
        return {name: sorted(cells) for name, cells in found.items()}

    def decode(self, batch: Batch) -> DecodeResult:
        names = set(batch.sequences.tolist())
        assert 0 < batch.size <= self.info.batch
        assert batch.outputs.sum() <= self.most_outputs
        assert not names & self._stateless, "a fork goes on without its state"
        self._asked += 1
        others = any(owners - names for _, _, owners in self._cells)
        if self._asked in self._no_room and (len(names) > 1 or others):
            self.troubled = True
            return DecodeResult.NO_ROOM
        result = super().decode(batch)
        self.troubled = result is not DecodeResult.DONE
        return result

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        assert source != target
        # The rest of a beginning may be added to it, where a memory can be cut at all.
        cuttable = self.info.kind is MemoryKind.ATTENTION
        before = len(self.held(target))
        assert before == 0 or (cuttable and before == start), "a copy onto something"
        whole = start == 0 and end == len(self.held(source))
        assert (start, end) != (0, 0)
        first = self.held(source)[0][0]
        assert first <= start < end <= first + len(self.held(source))
        if not cuttable and not whole:
            self._stateless.add(target)
        super().copy(source, target, start, end)

    def remove(self, sequence: int, start: int, end: int | None) -> bool:
        if start > 0 and self.info.kind is not MemoryKind.ATTENTION:
            assert end is None
            assert start >= len(self.held(sequence)) - 1, "a rollback deeper than one token"
        if start == 0 and end is None:
            self._stateless.discard(sequence)
        return super().remove(sequence, start, end)

    def restore(self, sequence: int, data: bytes) -> bool:
        assert self.held(sequence) == [], "a restore onto a sequence that holds something"
        return self._fit() and super().restore(sequence, data)

    def load_tip(self, sequence: int, data: bytes) -> bool:
        assert self.held(sequence)
        done = self._fit() and super().load_tip(sequence, data)
        if done:
            self._stateless.discard(sequence)
        return done

    def _fit(self) -> bool:
        self._taken += 1
        return self._taken not in self._damaged
