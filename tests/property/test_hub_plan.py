"""However a file arrives, in pieces of any size, with breaks at any place and damaged blocks, it comes together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.hub.journal import BLOCK, block_count, block_length
from app.hub.plan import Overrun, Plan

sizes = st.integers(0, 6 * BLOCK)
breaks = st.tuples(st.integers(0, 6 * BLOCK), st.integers(4096, 3 * BLOCK))
connections = st.lists(breaks, max_size=9) | st.lists(breaks, min_size=30, max_size=90)
"""Of each that breaks, how far it comes and in how large pieces; the one after them comes to the end."""


def content(size: int) -> bytes:
    return b"".join(
        bytes([index + 1]) * block_length(index, size) for index in range(block_count(size))
    )


@settings(max_examples=40)
@given(sizes, st.sets(st.integers(0, 5)), connections)
def test_every_missing_byte_is_asked_for_once_and_comes_together(
    size: int, written: set[int], broken: list[tuple[int, int]]
) -> None:
    whole = content(size)
    there = {index for index in written if index < block_count(size)}
    plan = Plan(size, there)
    found = {index: whole[index * BLOCK :][: block_length(index, size)] for index in there}
    asked = 0
    coming = iter(broken)
    while (wanted := plan.next_range()) is not None:
        first, last = wanted
        assert 0 <= first <= last < size
        # The connection breaks after so many bytes, which came in so large pieces.
        far, step = next(coming, (last - first, BLOCK))
        length = 1 + far % (last - first + 1)
        asked += length
        for at in range(first, first + length, step):
            for block in plan.feed(whole[at : min(at + step, first + length)]):
                assert block.index not in found
                found[block.index] = block.data
        held = sum(len(block) for block in found.values())
        assert 0 <= size - plan.missing_bytes - held < BLOCK
    assert plan.missing_bytes == 0
    assert b"".join(found[index] for index in range(block_count(size))) == whole
    assert asked == size - sum(block_length(index, size) for index in there)


@given(st.integers(1, 6 * BLOCK), st.data())
def test_lost_blocks_are_asked_for_again_and_only_they(size: int, data: st.DataObject) -> None:
    plan = Plan(size, range(block_count(size)))
    assert plan.next_range() is None
    lost = data.draw(st.sets(st.integers(0, block_count(size) - 1), min_size=1))
    plan.lose(lost)
    assert plan.missing_bytes == sum(block_length(index, size) for index in lost)
    again: set[int] = set()
    while (wanted := plan.next_range()) is not None:
        again.update(block.index for block in plan.feed(bytes(wanted[1] - wanted[0] + 1)))
    assert again == lost


@given(st.integers(1, 3 * BLOCK))
def test_more_than_was_asked_for_is_refused(size: int) -> None:
    plan = Plan(size)
    plan.next_range()
    with pytest.raises(Overrun):
        plan.feed(bytes(size + 1))
