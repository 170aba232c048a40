"""A token buffer is a list of numbers, however it is filled and cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.token_buffer import TokenBuffer

numbers = st.integers(0, 2**31 - 1)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("append"), numbers),
        st.tuples(st.just("extend"), st.lists(numbers, max_size=150)),
        st.tuples(st.just("cut"), st.floats(0, 1)),
    ),
    max_size=40,
)


@given(st.none() | st.lists(numbers, max_size=100), changes)
def test_it_is_a_list(start: list[int] | None, steps: list[tuple[str, object]]) -> None:
    buffer = TokenBuffer(None if start is None else np.array(start, np.int32))
    model = list(start or ())
    for what, value in steps:
        if what == "append":
            assert isinstance(value, int)
            buffer.append(value)
            model.append(value)
        elif what == "extend":
            assert isinstance(value, list)
            buffer.extend(np.array(value, np.int32))
            model.extend(value)
        else:
            assert isinstance(value, float)
            buffer.truncate(int(value * len(model)))
            del model[int(value * len(model)) :]
        assert buffer.view.tolist() == model
        assert (len(buffer), buffer.length) == (len(model), len(model))
        if model:
            assert buffer.last == model[-1]


def test_nothing_has_no_last() -> None:
    with pytest.raises(IndexError):
        _ = TokenBuffer().last
