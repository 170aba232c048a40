"""What a step costs, fitted while running; pure.

Two linear models, each by recursive least squares with forgetting, since a step that only decodes runs other
kernels than one that also reads:

    decode   seconds = a + b * rows + c * cells
    mixed    seconds = a + b * rows + c * chunk + d * chunk * cells

`rows` are decode rows, `chunk` prefill tokens, `cells` the used cells of the pool (attention looks at all of
them), in thousands.  A token costs a hundred times more on one machine than on another, so nothing is assumed:
a first small chunk is the only constant.  A step that took far longer than foreseen (the machine was busy with
something else) counts only in part.  How far mixed steps overshoot is followed too, for a promise about the
longest gap is not kept by steps that are right on average.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.engine.row_limit import RowLimit

_FORGETTING = 0.98
_FIRST_CHUNK = 32
_OUTLIER = 3.0
_PRIOR_VARIANCE = 1e3
_MOST_VARIANCE = 1e6
_QUANTILE = 0.98
_QUANTILE_RATE = 0.05
_FIRST_MARGIN, _MOST_MARGIN = 1.2, 2.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a step evaluates."""

    rows: int
    chunk: int
    cells: int


class CostModel:
    """Seconds per step, from the steps that were."""

    def __init__(self) -> None:
        self._decode = _Fit(3)
        self._mixed = _Fit(4)
        self._margin = _FIRST_MARGIN
        self.row_limit = RowLimit()

    @property
    def margin(self) -> float:
        """What all but a few mixed steps stay under, as a multiple of the time that was expected of them; at least 1.

        The 98th percentile by stochastic approximation (Robbins and Monro, 1951).
        """
        return self._margin

    def observe(self, shape: Shape, seconds: float) -> None:
        """Learn from a step."""
        if shape.chunk:
            expected = self._mixed.predict(_mixed(shape))
            if expected and self._mixed.knows:
                self._follow_margin(seconds / expected)
            self._mixed.learn(_mixed(shape), seconds)
        elif shape.rows:
            self._decode.learn(_decode(shape), seconds)
            self.row_limit.observe(shape.rows, shape.cells, seconds)

    def _follow_margin(self, ratio: float) -> None:
        over = ratio > self._margin
        self._margin += _QUANTILE_RATE * (_QUANTILE - (not over))
        self._margin = min(max(self._margin, 1.0), _MOST_MARGIN)

    def seconds(self, shape: Shape) -> float | None:
        """The expected time of a step; None while nothing like it was seen."""
        if shape.chunk:
            return self._mixed.predict(_mixed(shape))
        found = self._decode.predict(_decode(shape))
        # Before the first step that only decodes, one that also reads is the only thing known.
        return found if found is not None else self._mixed.predict(_mixed(shape))

    def chunk_for(self, seconds: float, rows: int, cells: int) -> int:
        """How many prefill tokens a step of `rows` rows may read to take about `seconds`; at least 0."""
        fixed = self._mixed.predict(_mixed(Shape(rows, 0, cells)))
        if fixed is None:
            return _FIRST_CHUNK
        each = self._mixed.slope(_mixed(Shape(0, 1, cells)) - _mixed(Shape(0, 0, cells)))
        return max(0, int((seconds - fixed) / each))

    def effort(self, start: int, end: int) -> float:
        """What it costs to read positions [start, end), in tokens at the beginning of a text."""
        token = _mixed(Shape(0, 1, 0)) - _mixed(Shape(0, 0, 0))
        cells = (start + end) // 2
        here = _mixed(Shape(0, 1, cells)) - _mixed(Shape(0, 0, cells))
        return (end - start) * self._mixed.slope(here) / self._mixed.slope(token)


def _decode(shape: Shape) -> npt.NDArray[np.float64]:
    return np.array([1.0, shape.rows, shape.cells / 1000])


def _mixed(shape: Shape) -> npt.NDArray[np.float64]:
    return np.array([1.0, shape.rows, shape.chunk, shape.chunk * shape.cells / 1000])


class _Fit:
    """Recursive least squares; coefficients below zero count as zero when predicting."""

    def __init__(self, size: int) -> None:
        self._weights = np.zeros(size)
        self._variance: npt.NDArray[Any] = np.eye(size) * _PRIOR_VARIANCE
        self._scale = 0.0
        self._size = size
        self._seen = 0

    @property
    def knows(self) -> bool:
        """Whether enough was seen to tell a step that was slow from one that was not understood."""
        return self._seen >= 4 * self._size

    def learn(self, features: npt.NDArray[np.float64], seconds: float) -> None:
        expected = self.predict(features)
        # While little is known, a step may well be far from what was expected.
        if expected and self.knows:
            seconds = min(seconds, _OUTLIER * expected)
        self._seen += 1
        self._scale = max(self._scale * _FORGETTING, seconds)
        spread = self._variance @ features
        gain = spread / (_FORGETTING + features @ spread)
        self._weights = self._weights + gain * (seconds - features @ self._weights)
        variance = (self._variance - np.outer(gain, spread)) / _FORGETTING
        # Directions that are not excited for long would otherwise grow without bound.
        self._variance = np.clip((variance + variance.T) / 2, -_MOST_VARIANCE, _MOST_VARIANCE)

    def predict(self, features: npt.NDArray[np.float64]) -> float | None:
        if not self._scale:
            return None
        return float(features @ np.maximum(self._weights, 0.0))

    def slope(self, direction: npt.NDArray[np.float64]) -> float:
        """Seconds for each unit of `direction`, never so small that a chunk would be without bound."""
        return max(float(direction @ np.maximum(self._weights, 0.0)), self._scale * 1e-5, 1e-9)
