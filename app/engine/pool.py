"""What the KV pool holds: slots (one sequence id each), their tokens and cells, running or idle.

Every change goes to the backend and to the mirror together.  A slot whose request has ended stays as an idle
one, so that the next prompt can share its prefix; idle slots are evicted, least recently used first, when cells
or ids are wanted.
"""

from app.engine.backend import Backend, TokenArray
from app.engine.cells import Cells, Handles
from app.engine.prefix import Match, best_match
from app.engine.token_buffer import TokenBuffer


class Slot:
    """One sequence id and what is evaluated in it: positions [0, len(tokens))."""

    __slots__ = ("busy", "cells", "id", "last_used", "tokens")

    def __init__(self, sequence_id: int) -> None:
        self.id = sequence_id
        self.tokens = TokenBuffer()
        self.cells = TokenBuffer()
        self.busy = True
        self.last_used = 0

    @property
    def length(self) -> int:
        return len(self.tokens)

    @property
    def handles(self) -> Handles:
        return self.cells.view


class Pool:
    """The slots of one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._kind = backend.info.kind
        self.cells = Cells(backend.info.cells)
        self._free_ids = list(range(backend.info.sequences - 1, -1, -1))
        self._slots: dict[int, Slot] = {}
        self._clock = 0

    @property
    def ids_used(self) -> int:
        return len(self._slots)

    @property
    def kept(self) -> int:
        """Cells that only idle slots hold: a cache, there for the taking."""
        return self.cells.used - self.cells.busy

    @property
    def slots(self) -> list[Slot]:
        return list(self._slots.values())

    def match(self, wanted: TokenArray) -> tuple[Slot, int] | None:
        """The slot, running or idle, that holds the longest reusable prefix, and its length."""
        slots = self.slots
        found: Match | None = best_match(self._kind, (slot.tokens.view for slot in slots), wanted)
        return (slots[found.index], found.tokens) if found else None

    def room_for(self, needed: int, source: tuple[Slot, int] | None) -> bool:
        """Whether `needed` new cells can be had without touching running work, if `source` is reused."""
        pinned = self.cells.idle_among(source[0].handles[: source[1]]) if source else 0
        return self.cells.busy + pinned + needed <= self.cells.total

    def acquire(self, source: tuple[Slot, int] | None) -> Slot | None:
        """A running slot that starts with the prefix of `source`; None when every id is at work.

        An idle slot that is reused to its end is taken over; any other is shared, and stays what it was.
        """
        if source is None:
            return self._open()
        slot, length = source
        if not slot.busy and length == slot.length:
            self._wake(slot)
            return slot
        target = self._open(protect=slot.id)
        if target is not None:
            return self._fork(slot, target, length)
        if slot.busy:
            return None
        self._wake(slot)
        self.truncate(slot, length)
        return slot

    def append(self, slot: Slot, tokens: TokenArray) -> None:
        """Record that `tokens` were evaluated at the end of `slot`."""
        slot.cells.extend(self.cells.allocate(len(tokens)))
        slot.tokens.extend(tokens)

    def truncate(self, slot: Slot, length: int) -> None:
        """Drop the tokens from position `length` on (never on a recurrent memory, unless all of them)."""
        if length < slot.length:
            if not self._backend.remove(slot.id, length, None):
                raise RuntimeError(f"sequence {slot.id} cannot be cut at {length}")
            self.cells.release(slot.handles[length:].copy(), busy=slot.busy)
            slot.tokens.truncate(length)
            slot.cells.truncate(length)

    def idle(self, slot: Slot) -> None:
        """The slot's request has ended; keep what it holds."""
        if slot.length == 0:
            self.drop(slot)
            return
        slot.busy = False
        self._clock += 1
        slot.last_used = self._clock
        self.cells.mark_idle(slot.handles)

    def drop(self, slot: Slot) -> None:
        """Empty the slot and give back its id."""
        self._backend.remove(slot.id, 0, None)
        self.cells.release(slot.handles, busy=slot.busy)
        del self._slots[slot.id]
        self._free_ids.append(slot.id)
        # The lowest ids first: a hole in the ids costs another pass on split memories.
        self._free_ids.sort(reverse=True)

    def make_free(self, wanted: int) -> bool:
        """Evict idle slots until `wanted` cells are free; False when that is not enough."""
        while self.cells.free < wanted:
            if not self._evict():
                return False
        return True

    def evict_all(self) -> bool:
        """Evict every idle slot; whether there was one."""
        found = False
        while self._evict():
            found = True
        return found

    def check(self) -> None:
        """Compare the mirror with the backend; raises RuntimeError at the first difference."""
        self.cells.check([(slot.handles, slot.busy) for slot in self.slots])
        for sequence_id in range(self._backend.info.sequences):
            slot = self._slots.get(sequence_id)
            highest = self._backend.span(sequence_id)[1]
            expected = slot.length - 1 if slot else -1
            if highest != expected:
                raise RuntimeError(f"sequence {sequence_id} ends at {highest}, not at {expected}")

    def _open(self, protect: int | None = None) -> Slot | None:
        if not self._free_ids and not self._evict(protect):
            return None
        slot = Slot(self._free_ids.pop())
        self._slots[slot.id] = slot
        return slot

    def _fork(self, source: Slot, target: Slot, length: int) -> Slot:
        self._backend.copy(source.id, target.id, 0, length)
        self.cells.share(source.handles[:length])
        target.cells.extend(source.handles[:length])
        target.tokens.extend(source.tokens.view[:length])
        return target

    def _wake(self, slot: Slot) -> None:
        slot.busy = True
        self.cells.mark_busy(slot.handles)

    def _evict(self, protect: int | None = None) -> bool:
        idle = [slot for slot in self._slots.values() if not slot.busy and slot.id != protect]
        if not idle:
            return False
        self.drop(min(idle, key=lambda slot: slot.last_used))
        return True
