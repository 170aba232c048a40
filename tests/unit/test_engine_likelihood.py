"""Log-probabilities of a row: sums, order, ties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from app.engine.likelihood import log_softmax, told

_rows = arrays.arrays(
    np.float32,
    st.integers(1, 40),
    elements=st.floats(-50, 50, width=32) | st.sampled_from([0.0, 1.0]),
)


@given(_rows, st.integers(0, 50), st.data())
def test_the_best_come_first_and_all_sum_to_one(
    row: "np.ndarray", most: int, data: st.DataObject
) -> None:
    before = row.copy()
    chances = log_softmax(row)
    assert (row == before).all(), "the logits stay as they are"
    assert np.exp(chances.astype(np.float64)).sum() == pytest.approx(1, abs=1e-4)
    exact = row.astype(np.float64)
    exact -= exact.max()
    exact -= math.log(np.exp(exact).sum())
    assert chances == pytest.approx(exact, abs=1e-4)
    token = data.draw(st.integers(0, len(row) - 1))
    found = told(chances, token, most)
    assert found.own == chances[token]
    assert len(found.tokens) == len(found.values) == min(most, len(row))
    assert list(found.values) == sorted(chances.tolist(), reverse=True)[:most]
    assert [chances[one] for one in found.tokens] == list(found.values)
    assert len(set(found.tokens)) == len(found.tokens)


def test_of_equals_the_lower_id_comes_first() -> None:
    row = np.array([0, 2, 1, 2, 1], np.float32)
    assert told(log_softmax(row), 0, 4).tokens == (1, 3, 2, 4)


def test_what_is_impossible_is_infinitely_unlikely() -> None:
    row = np.array([-np.inf, 0, 0], np.float32)
    found = told(log_softmax(row), 0, 3)
    assert found.own == -math.inf
    assert found.values == (pytest.approx(-math.log(2)), pytest.approx(-math.log(2)), -math.inf)
