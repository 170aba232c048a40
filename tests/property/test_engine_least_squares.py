"""The fit by plain numbers is the one that the formulas of recursive least squares give."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.engine.least_squares import LeastSquares

FORGETTING = 0.98
PRIOR = 1e3

observations = st.lists(
    st.tuples(st.integers(1, 32), st.floats(0, 10), st.floats(1e-3, 1.0)), min_size=1, max_size=11
)
"""Fewer than make it doubt what it sees."""


@given(observations)
def test_it_follows_the_formulas(seen: list[tuple[int, float, float]]) -> None:
    fit = LeastSquares(3)
    weights, covariance = np.zeros(3), np.eye(3) * PRIOR
    for rows, cells, seconds in seen:
        fit.learn((1.0, float(rows), cells), seconds)
        features = np.array([1.0, rows, cells])
        gain = covariance @ features / (FORGETTING + features @ covariance @ features)
        weights = weights + gain * (seconds - features @ weights)
        covariance = (covariance - np.outer(gain, features @ covariance)) / FORGETTING
    for probe in ((1.0, 1.0, 0.0), (1.0, 8.0, 2.0), (0.0, 0.0, 1.0)):
        wanted = float(np.array(probe) @ np.maximum(weights, 0))
        assert np.isclose(fit.along(probe), wanted, rtol=1e-6, atol=1e-9)


def test_one_that_is_far_over_what_was_expected_counts_in_part() -> None:
    fit = LeastSquares(3)
    for rows in range(1, 41):
        fit.learn((1.0, float(rows), 0.0), 0.01 * rows)
    fit.learn((1.0, 20.0, 0.0), 1e6)
    expected = fit.predict((1.0, 20.0, 0.0))
    assert expected is not None
    assert 0.2 <= expected <= 0.6


def test_nothing_is_expected_before_the_first() -> None:
    assert LeastSquares(3).predict((1.0, 1.0, 1.0)) is None
