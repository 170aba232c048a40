"""The mirror of the cells against a plain model of how llama.cpp looks for free ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.cells import Cells

TOTAL = 40


class Plain:
    """`find_slot`, `apply_ubatch` and `seq_rm`, one cell at a time."""

    def __init__(self) -> None:
        self.used = [False] * TOTAL
        self.head = 0

    def take(self, count: int) -> list[int]:
        at = 0 if self.head > sum(self.used) + 2 * count else self.head
        found: list[int] = []
        while len(found) < count:
            if at == TOTAL:
                at = 0
            if not self.used[at]:
                found.append(at)
            at += 1
        for cell in found:
            self.used[cell] = True
        self.head = found[-1] + 1
        return found

    def give_back(self, cells: list[int]) -> None:
        for cell in cells:
            self.used[cell] = False
        if cells and min(cells) < self.head:
            self.head = min(cells)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=40))
def test_cells_are_taken_in_the_order_of_llama_cpp(steps: list[tuple[bool, int]]) -> None:
    cells, plain = Cells(TOTAL), Plain()
    held: list[np.ndarray] = []
    for take, number in steps:
        if take:
            count = min(1 + number % 12, cells.free)
            if count:
                held.append(cells.allocate(count))
                assert held[-1].tolist() == plain.take(count)
        elif held:
            gone = held.pop(number % len(held))
            cells.release(gone, busy=True)
            plain.give_back(gone.tolist())
        cells.check([(handles, True) for handles in held])
        assert cells.used == sum(plain.used)
        top = max((int(handles.max()) + 1 for handles in held), default=0)
        assert cells.highest == top


def test_shared_cells_are_free_only_when_nobody_holds_them() -> None:
    cells = Cells(10)
    own = cells.allocate(6)
    cells.share(own[:4])
    assert (cells.used, cells.alone_among(own)) == (6, 2)
    cells.release(own, busy=True)
    assert (cells.used, cells.busy, cells.highest) == (4, 4, 4)
    cells.mark_idle(own[:4])
    assert (cells.used, cells.busy) == (4, 0)


def test_more_than_is_free_is_refused() -> None:
    cells = Cells(5)
    assert len(cells.allocate(0)) == 0
    cells.allocate(3)
    with pytest.raises(ValueError, match="3 cells wanted, 2 free"):
        cells.allocate(3)
