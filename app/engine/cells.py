"""A mirror of the pool's cells: who owns each, how many are used, how many are held by work that runs.

A handle is the number of a cell, given out in the order in which llama.cpp looks for free ones.  Nothing depends on
its being the same cell there, but for an estimate: every step's cost follows the highest cell in use.  A cell with no
owner is free; one whose owners are all idle can be had by evicting them.
"""

import numpy as np
import numpy.typing as npt

Handles = npt.NDArray[np.int32]

_LOOK = 1024
"""Cells that are looked at together for free ones."""


class Cells:
    """Reference counts over `total` cells."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._owners = np.zeros(total, np.int32)
        self._busy = np.zeros(total, np.int32)
        self._free = total
        self._busy_cells = 0
        self._head = 0

    @property
    def free(self) -> int:
        return self._free

    @property
    def used(self) -> int:
        return self.total - self._free

    @property
    def busy(self) -> int:
        """Cells with at least one owner that is at work."""
        return self._busy_cells

    @property
    def highest(self) -> int:
        """One more than the number of the highest cell in use; 0 where none is."""
        used = self._owners[::-1] > 0
        return self.total - int(used.argmax()) if self.used else 0

    def allocate(self, count: int) -> Handles:
        """`count` new cells with one busy owner each; the caller has made sure that they are free."""
        if count > self._free:
            raise ValueError(f"{count} cells wanted, {self._free} free")
        if not count:
            return np.empty(0, np.int32)
        self._free -= count
        self._busy_cells += count
        start = self._begin(count)
        end = start + count
        if end <= self.total and not self._owners[start:end].any():
            # Nearly every step: no search is needed, and a slice costs a fraction of what single places do.
            self._owners[start:end] = self._busy[start:end] = 1
            self._head = end
            return np.arange(start, end, dtype=np.int32)
        handles = self._search(start, count)
        self._owners[handles] = self._busy[handles] = 1
        self._head = int(handles[-1]) + 1
        return handles

    def share(self, handles: Handles) -> None:
        """One more owner, at work, for each."""
        self._owners[handles] += 1
        self.mark_busy(handles)

    def release(self, handles: Handles, *, busy: bool) -> None:
        """One owner fewer for each; `busy` says whether that owner was at work."""
        if busy:
            self.mark_idle(handles)
        self._owners[handles] -= 1
        gone = handles[self._owners[handles] == 0]
        self._free += len(gone)
        if len(gone):
            self._head = min(self._head, int(gone.min()))

    def mark_busy(self, handles: Handles) -> None:
        self._busy_cells += self.idle_among(handles)
        self._busy[handles] += 1

    def mark_idle(self, handles: Handles) -> None:
        self._busy[handles] -= 1
        self._busy_cells -= self.idle_among(handles)

    def idle_among(self, handles: Handles) -> int:
        """How many of these cells no running owner holds."""
        return int(np.count_nonzero(self._busy[handles] == 0))

    def alone_among(self, handles: Handles) -> int:
        """How many of these cells have one owner only, so that they become free with it."""
        return int(np.count_nonzero(self._owners[handles] == 1))

    def check(self, slots: list[tuple[Handles, bool]]) -> None:
        """Compare with the handles that the slots really hold, each with whether it is at work."""
        owners, busy = np.zeros_like(self._owners), np.zeros_like(self._busy)
        for handles, at_work in slots:
            owners[handles] += 1
            if at_work:
                busy[handles] += 1
        if not (np.array_equal(owners, self._owners) and np.array_equal(busy, self._busy)):
            raise RuntimeError("the mirror of the cells differs from what the sequences hold")
        counts = (int(np.count_nonzero(owners == 0)), int(np.count_nonzero(busy)))
        if counts != (self._free, self._busy_cells):
            raise RuntimeError("the counts of free and busy cells are wrong")

    def _begin(self, count: int) -> int:
        """As llama.cpp does: from where the last search ended, or from the beginning where enough was freed there."""
        # The cells that are wanted count as used already.
        return 0 if self._head > self.used + count else self._head

    def _search(self, start: int, count: int) -> Handles:
        found: list[Handles] = []
        missing = count
        for first, last in ((start, self.total), (0, start)):
            for begin in range(first, last, _LOOK):
                if not missing:
                    break
                owners = self._owners[begin : min(begin + _LOOK, last)]
                free = (begin + np.flatnonzero(owners == 0)[:missing]).astype(np.int32)
                found.append(free)
                missing -= len(free)
        return np.concatenate(found)
