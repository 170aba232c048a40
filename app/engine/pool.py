"""What the KV pool holds: slots (one sequence id each), their tokens and cells, running or idle.

Every change goes to the backend and to the mirror together.  A slot whose request has ended stays as an idle
one, so that the next prompt can share its prefix.  Idle slots are evicted when cells or ids are wanted, those first
that are cheap to have again and were not used for long, and retired when they have been idle for a while beside running
work, for their cells cost every step; their states are then kept outside the pool, as far as the budget goes.  Work
whose cells are left far apart by that is lifted out once, and comes back to the lowest ones.
"""

import math
from collections.abc import Callable
from collections.abc import Sequence as Seq
from pathlib import Path

import numpy as np

from app.engine.backend import Backend, MemoryKind, TokenArray
from app.engine.blob import Blob, Segment, worth_restoring
from app.engine.cells import Cells
from app.engine.prefix import best_match
from app.engine.slot import Slot, Source
from app.engine.state_files import StateFiles
from app.engine.states import StateTree, count_tokens
from app.engine.tips import Tips

_TIP_SHARE = 4
"""All tips in the pool together may take this part of the spill budget."""

_LOOSE = 2048
"""Unused cells below the highest one from which on gathering the work may pay."""


class Pool:
    """The slots of one backend, and `spill_bytes` of states outside it."""

    def __init__(
        self,
        backend: Backend,
        spill_bytes: int = 0,
        files: StateFiles | None = None,
        effort: Callable[[int, int], float] = count_tokens,
    ) -> None:
        """`effort(start, end)` says what it costs to read these positions."""
        self._backend = backend
        self.files = files
        self._effort = effort
        self._rested: set[int] = set()
        self._cuttable = backend.info.kind is MemoryKind.ATTENTION
        self.cells = Cells(backend.info.cells)
        self.states = StateTree(spill_bytes, exact=not self._cuttable, effort=effort)
        self._tips = Tips(backend, spill_bytes // _TIP_SHARE)
        self._inflation = 0.0
        self._loosened = False
        # The last id is for moving ranges in and out; it is empty between any two calls.
        self._scratch = backend.info.sequences - 1
        self._free_ids = list(range(self._scratch - 1, -1, -1))
        self._slots: dict[int, Slot] = {}
        self._clock = 0
        self.restored = 0
        for blob in files.scan() if files else ():
            if not self.states.adopt(blob) and files and blob.file:
                files.delete(blob.file)

    @property
    def ids_used(self) -> int:
        return len(self._slots)

    @property
    def ids_total(self) -> int:
        return self._scratch

    @property
    def kept(self) -> int:
        """Cells that only idle slots hold: a cache, there for the taking."""
        return self.cells.used - self.cells.busy

    @property
    def slots(self) -> list[Slot]:
        return list(self._slots.values())

    # --- finding and giving ----------------------------------------------------------------------------------

    def match(self, wanted: TokenArray) -> Source:
        """The longest reusable prefix of `wanted`: in a slot, running or idle, or in the saved states."""
        slots = self.slots
        found = best_match((slot.held for slot in slots), wanted)
        live = Source(slots[found.index], found.tokens) if found else Source()
        segments = self.states.match(wanted, len(wanted) - 1)
        beyond = tuple(segment for segment in segments if segment.end > live.live)
        if not beyond or not worth_restoring(beyond, live.live):
            return live
        return (
            Source(None, 0, beyond) if self.states.exact else Source(live.slot, live.live, beyond)
        )

    def room_for(self, needed: int, source: Source) -> bool:
        """Whether `needed` new cells can be had without touching running work, if `source` is reused."""
        pinned = self.cells.idle_among(source.slot.handles[: source.live]) if source.slot else 0
        return self.cells.busy + pinned + needed <= self.cells.total

    def acquire(self, source: Source, wanted: TokenArray) -> Slot | None:
        """A running slot that starts with what `source` gives of `wanted`; None when every id is at work.

        An idle slot that is reused to its end is taken over; any other is shared, and stays what it was.
        """
        slot = self._live(source)
        if slot is not None:
            for segment in source.segments:
                if not self._restore(slot, segment, wanted):
                    break
        return slot

    # --- a slot's life ---------------------------------------------------------------------------------------

    def append(self, parts: Seq[tuple[Slot, TokenArray]]) -> None:
        """Record that one call evaluated these tokens at the end of their slots."""
        count, most = sum(len(tokens) for _, tokens in parts), self._backend.info.ubatch
        if count <= most:
            handles = self.cells.allocate(count)
        else:
            pieces = [min(most, count - done) for done in range(0, count, most)]
            handles = np.concatenate([*map(self.cells.allocate, pieces)])
        done = 0
        for slot, tokens in parts:
            slot.extend(tokens, handles[done : done + len(tokens)])
            done += len(tokens)

    @property
    def wants_tips(self) -> bool:
        """Whether forks from the middle need the state there to have been kept."""
        return self.states.exact

    def keep_tip(self, slot: Slot) -> None:
        """Keep the state at the slot's present end, where a fork from there needs it."""
        if self.wants_tips:
            self._tips.keep(slot, self._slots.values())

    def truncate(self, slot: Slot, length: int) -> None:
        """Drop the tokens from position `length` on (only where the slot is cuttable, unless all of them)."""
        if length < slot.length:
            if not self._backend.remove(slot.id, length, None):
                raise RuntimeError(f"sequence {slot.id} cannot be cut at {length}")
            self.cells.release(slot.handles[length:].copy(), busy=slot.busy)
            slot.tokens.truncate(length)
            slot.cells.truncate(length)

    def idle(self, slot: Slot, now: float) -> None:
        """The slot's request has ended; keep what it holds."""
        if slot.length == 0:
            self._drop(slot)
            return
        slot.busy = False
        slot.idle_since = now
        self._clock += 1
        slot.last_used = self._clock
        slot.worth = self._inflation + self._effort(0, slot.length) / slot.length
        self.cells.mark_idle(slot.handles)

    def spill(self, slot: Slot) -> None:
        """Empty the slot and give back its id; its state is kept outside as far as the budget goes."""
        if slot.length and self.states.budget:
            self._keep(slot)
        self._drop(slot)

    def _keep(self, slot: Slot) -> None:
        tokens, tips, owner = slot.tokens.view, slot.tips, slot.owner
        self.states.put(tokens, lambda start, end: self._save(slot, start, end), tips, owner)

    def rest(self) -> bool:
        """While nothing runs: keep the state of one more idle chat, or bring one more to disk.

        False when there is nothing left to do.
        """
        self._delete_dropped()
        for slot in sorted(self._slots.values(), key=lambda one: -one.last_used):
            worth = slot.owner > 0 and self.states.budget and not slot.busy
            if worth and not self.states.holds(slot.tokens.view) and slot.id not in self._rested:
                # Once for each rest of a slot, or one that does not fit would be saved again and again.
                self._rested.add(slot.id)
                self._keep(slot)
                return True
        return self._write_states()

    def _write_states(self) -> bool:
        """Have what belongs on disk written there, while the engine goes on; whether there was any."""
        files = self.files
        return files is not None and any(files.order(blob) for blob in self.states.unwritten())

    def forget(self, owner: int) -> None:
        """Drop all that is kept of a chat, in the pool (where it is idle), outside and on disk.

        What other chats go on from stays, as theirs.
        """
        for slot in self.slots:
            if slot.owner == owner and not slot.busy:
                self._drop(slot)
        self.states.forget_owner(owner, self._cut)
        self._delete_dropped()

    def _cut(self, blob: Blob, end: int) -> bytes | None:
        """The bytes of a state's positions before `end`; None where they cannot be had."""
        data = self.states.data_of(blob, self._load)
        count = blob.end - blob.start
        if data is None or end == blob.end:
            return data
        if not self.make_free(count) or not self._backend.restore(self._scratch, data):
            return None
        self.cells.release(self.cells.allocate(count), busy=True)
        self._backend.remove(self._scratch, end, None)
        shorter = self._backend.save(self._scratch)
        self._backend.remove(self._scratch, 0, None)
        return shorter

    def _delete_dropped(self) -> None:
        while self.states.dropped:
            path = self.states.dropped.pop()
            if self.files:
                self.files.delete(path)

    def retire(self, before: float) -> bool:
        """Spill one slot that has been idle since before this time; whether there was one.

        One whose state does not fit the budget stays until its room is wanted: to read it again would cost more.
        """
        if not self.states.budget:
            return False
        old = [slot for slot in self._slots.values() if not slot.busy and slot.idle_since < before]
        for slot in sorted(old, key=lambda slot: slot.last_used)[:1]:
            self._keep(slot)
            if self.states.holds(slot.tokens.view):
                self._drop(slot)
                self._write_states()
            else:
                slot.idle_since = math.inf
        return bool(old)

    @property
    def scattered(self) -> bool:
        """Whether the cells lie so far apart, after some were given back, that `lift` would pay."""
        if not self._loosened:
            return False
        self._loosened = False
        # Where a state is only whole, what several have in common would come back once for each.
        lengths = sum(slot.length for slot in self._slots.values() if slot.busy)
        apart = self._cuttable or lengths == self.cells.busy
        return apart and self.cells.highest - self.cells.used > max(_LOOSE, self.cells.used)

    def lift(self) -> bool:
        """Take all work out, its states kept outside, to come back to the lowest cells.

        False, and everything stays, where the states do not fit their budget.
        """
        busy = [slot for slot in self._slots.values() if slot.busy]
        for slot in busy:
            self._keep(slot)
        if not all(self.states.holds(slot.tokens.view) for slot in busy):
            return False
        for slot in busy:
            self._drop(slot)
        self._loosened = False
        return True

    def make_free(self, wanted: int, protect: Slot | None = None) -> bool:
        """Evict idle slots until `wanted` cells are free; False when that is not enough."""
        while self.cells.free < wanted:
            if not self._evict(protect):
                return False
        return True

    def evict_all(self) -> bool:
        """Evict every idle slot; whether there was one."""
        count = len(self._slots)
        while self._evict():
            pass
        return len(self._slots) < count

    def check(self) -> None:
        """Compare the mirror with the backend; raises RuntimeError at the first difference."""
        self.cells.check([(slot.handles, slot.busy) for slot in self.slots])
        self.states.check()
        for sequence_id in range(self._backend.info.sequences):
            slot = self._slots.get(sequence_id)
            lowest, highest = self._backend.span(sequence_id)
            expected = slot.length - 1 if slot else -1
            if highest != expected:
                raise RuntimeError(f"sequence {sequence_id} ends at {highest}, not at {expected}")
            if self._cuttable and lowest > 0:
                raise RuntimeError(f"sequence {sequence_id} begins at {lowest}")

    # --- inside ----------------------------------------------------------------------------------------------

    def _live(self, source: Source) -> Slot | None:
        slot = source.slot
        if slot is None:
            return self._open()
        if not slot.busy and source.live == slot.length:
            self._wake(slot)
            return slot
        target = self._open(protect=slot)
        if target is not None:
            return self._fork(slot, target, source.live)
        if slot.busy:
            return None
        if not slot.cuttable:
            return self._open()
        self._wake(slot)
        self.truncate(slot, source.live)
        return slot

    def _open(self, protect: Slot | None = None) -> Slot | None:
        if not self._free_ids and not self._evict(protect, for_id=True):
            return None
        slot = Slot(self._free_ids.pop(), cuttable=self._cuttable)
        self._slots[slot.id] = slot
        return slot

    def _fork(self, source: Slot, target: Slot, length: int) -> Slot:
        self._backend.copy(source.id, target.id, 0, length)
        if not source.cuttable:
            tip = self._tips.at(source, length)
            # Its own tip at the end too: a window's cells that two sequences hold are never given free.
            if tip is None or not self._backend.load_tip(target.id, tip):
                # The copy's cells without their state would answer wrong: read everything.
                self._backend.remove(target.id, 0, None)
                return target
        self.cells.share(source.handles[:length])
        target.cells.extend(source.handles[:length])
        target.tokens.extend(source.tokens.view[:length])
        target.tips = [tip for tip in source.tips if tip.at <= length]
        return target

    def _wake(self, slot: Slot) -> None:
        self._rested.discard(slot.id)
        slot.busy = True
        self.cells.mark_busy(slot.handles)

    def _drop(self, slot: Slot) -> None:
        self._rested.discard(slot.id)
        self._backend.remove(slot.id, 0, None)
        self.cells.release(slot.handles, busy=slot.busy)
        self._loosened = True
        del self._slots[slot.id]
        self._free_ids.append(slot.id)
        # The lowest ids first: a hole in the ids costs another pass on split memories.
        self._free_ids.sort(reverse=True)

    def _evict(self, protect: Slot | None = None, *, for_id: bool = False) -> bool:
        """Evict the idle slot that is worth least: recently used and costly to read again is worth much.

        Where cells are wanted, one whose cells others hold too frees nothing; where an id is, it costs nothing.
        """
        idle = [slot for slot in self._slots.values() if not slot.busy and slot is not protect]
        if not idle:
            return False
        shared = {slot.id: not self.cells.alone_among(slot.handles) for slot in idle}
        victim = min(idle, key=lambda slot: (shared[slot.id] != for_id, slot.worth, slot.last_used))
        self._inflation = max(self._inflation, victim.worth)
        self.spill(victim)
        return True

    def _save(self, slot: Slot, start: int, end: int) -> bytes | None:
        if self.states.exact or (start == 0 and end == slot.length):
            return self._backend.save(slot.id)
        self._backend.copy(slot.id, self._scratch, start, end)
        data = self._backend.save(self._scratch)
        self._backend.remove(self._scratch, 0, None)
        return data

    def _load(self, path: Path) -> bytes | None:
        return self.files.load(path) if self.files else None

    def _restore(self, slot: Slot, segment: Segment, wanted: TokenArray) -> bool:
        blob = segment.blob
        start = slot.length
        if not self.make_free(blob.end - blob.start):
            return False
        # A state that is used whole goes where it belongs; of any other only a range is taken.
        whole = start == 0 and segment.end == blob.end
        target = slot.id if whole else self._scratch
        data = self.states.data_of(blob, self._load)
        if data is None or not self._backend.restore(target, data):
            self.states.forget(blob)
            return False
        if not whole:
            self._backend.copy(self._scratch, slot.id, start, segment.end)
            tipped = segment.tip is None or self._backend.load_tip(slot.id, segment.tip)
            self._backend.remove(self._scratch, 0, None)
            if not tipped:
                self._backend.remove(slot.id, 0, None)
                self.states.forget(blob)
                return False
        handles = self.cells.allocate(blob.end - blob.start)
        taken = np.zeros(len(handles), np.bool_)
        taken[start - blob.start : segment.end - blob.start] = True
        self.cells.release(handles[~taken], busy=True)
        slot.extend(wanted[start : segment.end], handles[taken])
        self.restored += segment.end - start
        return True
