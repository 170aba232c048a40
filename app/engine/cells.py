"""A mirror of the pool's cells: who owns each, how many are used, how many are held by work that runs.

A handle stands for one cell of the pool; it is ours, not llama.cpp's index.  A cell with no owner is free; one
whose owners are all idle can be had by evicting them.
"""

import numpy as np
import numpy.typing as npt

Handles = npt.NDArray[np.int32]


class Cells:
    """Reference counts over `total` cells."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._owners = np.zeros(total, np.int32)
        self._busy = np.zeros(total, np.int32)
        self._stack = np.arange(total - 1, -1, -1, dtype=np.int32)
        self._free = total
        self._busy_cells = 0

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

    def allocate(self, count: int) -> Handles:
        """`count` new cells with one busy owner each; the caller has made sure that they are free."""
        if count > self._free:
            raise ValueError(f"{count} cells wanted, {self._free} free")
        handles = self._stack[self._free - count : self._free].copy()
        self._free -= count
        self._owners[handles] = 1
        self._busy[handles] = 1
        self._busy_cells += count
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
        self._stack[self._free : self._free + len(gone)] = gone
        self._free += len(gone)

    def mark_busy(self, handles: Handles) -> None:
        self._busy_cells += self.idle_among(handles)
        self._busy[handles] += 1

    def mark_idle(self, handles: Handles) -> None:
        self._busy[handles] -= 1
        self._busy_cells -= self.idle_among(handles)

    def idle_among(self, handles: Handles) -> int:
        """How many of these cells no running owner holds."""
        return int(np.count_nonzero(self._busy[handles] == 0))

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
