"""The fit by plain numbers is the one that the formulas of recursive least squares give."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.least_squares import LeastSquares

Numbers = npt.NDArray[np.float64]

FORGETTING = 0.98
PRIOR = 1e3
MOST = 1e4

observations = st.lists(
    st.tuples(st.integers(1, 32), st.floats(0, 10), st.floats(1e-3, 1.0)), min_size=1, max_size=11
)
"""Fewer than make it doubt what it sees, or forget what it does not see."""


def raised(weights: Numbers, covariance: Numbers) -> Numbers:
    """The weights, given that those which fall below zero are zero."""
    zero: list[int] = []
    while (weights < 0).any() and len(zero) < len(weights):
        zero.append(int(weights.argmin()))
        among = covariance[np.ix_(zero, zero)]
        moved = covariance[:, zero] @ np.linalg.solve(among, weights[zero])
        weights = weights - moved
        weights[zero] = 0
    return weights


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
        weights = raised(weights, covariance)
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


runs = st.lists(
    st.tuples(
        st.integers(0, 64),
        st.integers(1, 4096),
        st.floats(0, 260),
        st.integers(1, 800),
        st.floats(1e-4, 10),
    ),
    min_size=1,
    max_size=6,
)
"""Rows, chunk and thousands of cells, so many steps on end of them, and how long each takes."""


@settings(max_examples=30)
@given(runs)
def test_its_covariance_stays_one_whatever_it_sees(
    seen: list[tuple[int, int, float, int, float]],
) -> None:
    """Symmetrical, no direction less than nothing, none without bound; clipped number by number it was none."""
    fit = LeastSquares(4)
    for rows, chunk, cells, count, seconds in seen:
        for _ in range(count):
            fit.learn((1.0, float(rows), float(chunk), chunk * cells), seconds)
        covariance = np.array(fit._variance)
        deviations = np.sqrt(np.diag(covariance))
        assert np.array_equal(covariance, covariance.T)
        assert (deviations > 0).all()
        assert deviations.max() <= np.sqrt(MOST) * (1 + 1e-9)
        alike = covariance / np.outer(deviations, deviations)
        assert np.linalg.eigvalsh(alike).min() >= -1e-6
        assert min(fit._weights) >= 0


def steady(steps: int, size: int, seed: int) -> Iterator[tuple[tuple[float, ...], float]]:
    """The steps of four chats that only write, their cells growing: how many rows more would cost is never seen."""
    random = np.random.default_rng(seed)
    for step in range(steps):
        cells, chunk = (500 + 4 * step) % 8000 / 1000, float(random.choice([4, 8, 16, 30]))
        noise = float(np.exp(random.normal(0, 0.03)))
        if size == 3:
            yield (1.0, 4.0, cells), (0.042 + 0.003 * cells) * noise
        else:
            yield (
                (1.0, 4.0, chunk, chunk * cells),
                (0.042 + 0.003 * chunk + 0.0005 * chunk * cells) * noise,
            )


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_what_never_changes_does_not_spoil_what_is_foreseen(size: int, seed: int) -> None:
    fit, off = LeastSquares(size), []
    for features, seconds in steady(3000, size, seed):
        if fit.knows:
            off.append(abs((fit.predict(features) or 0.0) / seconds - 1))
        fit.learn(features, seconds)
    assert np.mean(off) < 0.05
    assert np.quantile(off, 0.999) < 0.25


def test_a_weight_that_is_nothing_is_no_reason_to_foresee_too_much() -> None:
    """Counted as zero, one below zero left the others at more than all that was ever seen."""
    fit = LeastSquares(3)
    random = np.random.default_rng(5)
    for step in range(600):
        rows, cells = float(1 + step // 40 % 8), step % 500 / 1000
        slower = 1.7 if step >= 300 else 1.0
        seconds = (
            slower * (0.001 + 0.008 * rows + 0.004 * cells) * float(np.exp(random.normal(0, 0.03)))
        )
        if step >= 360 or 60 <= step < 300:
            expected = fit.predict((1.0, rows, cells))
            assert expected is not None
            assert expected <= 1.6 * seconds, step
        fit.learn((1.0, rows, cells), seconds)
