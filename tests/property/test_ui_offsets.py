"""The tree of heights answers as a plain list would."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ui.offsets import Offsets

heights = st.lists(st.integers(0, 500), max_size=60)


def tree(values: list[int]) -> Offsets:
    offsets = Offsets()
    for value in values:
        offsets.append(value)
    return offsets


@pytest.mark.slow
@given(heights, st.data())
def test_sums_after_changes(values: list[int], data: st.DataObject) -> None:
    offsets = tree(values)
    for _ in range(data.draw(st.integers(0, 10))):
        if values:
            at = data.draw(st.integers(0, len(values) - 1))
            values[at] = data.draw(st.integers(0, 500))
            offsets.set(at, values[at])
    keep = data.draw(st.integers(0, len(values)))
    offsets.truncate(keep)
    more = data.draw(heights)
    for value in more:
        offsets.append(value)
    values = values[:keep] + more
    assert [offsets.before(index) for index in range(len(values) + 1)] == list(
        accumulate(values, initial=0)
    )
    assert offsets.total == sum(values)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.integers(0, 40_000))
def test_find_is_the_inverse_of_before(values: list[int], offset: int) -> None:
    offsets = tree(values)
    index, rest = offsets.find(offset)
    if offset < sum(values):
        assert offsets.before(index) + rest == offset
        assert rest < values[index]
    else:
        assert (index, rest) == (len(values) - 1, values[-1])
