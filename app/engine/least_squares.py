"""Recursive least squares with forgetting, of a few coefficients; pure.

Plain numbers, not numpy: a fit learns once a step, just after a decode that has put everything else out of the caches.
There a dozen array functions took 0.16 ms of processor time, and this takes 0.06.
"""

from collections.abc import Sequence

Features = tuple[float, ...]

_FORGETTING = 0.98
_OUTLIER = 3.0
_PRIOR_VARIANCE = 1e3
_MOST_VARIANCE = 1e6


class LeastSquares:
    """`value = sum(weight * feature)`, the weights below zero counting as zero when predicting.

    The update is that of recursive least squares with exponential forgetting (Haykin, Adaptive Filter Theory, the
    chapter on the RLS algorithm).
    """

    def __init__(self, size: int) -> None:
        self._weights = [0.0] * size
        self._scale = 0.0
        self._size = size
        self.seen = 0
        self.doubt()

    @property
    def knows(self) -> bool:
        """Whether enough was seen to tell a value that is off from one that was not understood."""
        return self.seen >= 4 * self._size

    @property
    def scale(self) -> float:
        """About the largest value of late; 0 before the first."""
        return self._scale

    def doubt(self) -> None:
        """What was learned so far counts as a guess: what comes next outweighs it."""
        places = range(self._size)
        self._variance = [
            [_PRIOR_VARIANCE if row == column else 0.0 for column in places] for row in places
        ]

    def learn(self, features: Features, value: float) -> None:
        """One more observation; one that is far over what was expected counts only in part."""
        expected = self.predict(features)
        # While little is known, a value may well be far from what was expected.
        if expected and self.knows:
            value = min(value, _OUTLIER * expected)
        self.seen += 1
        self._scale = max(self._scale * _FORGETTING, value)
        spread = [_dot(row, features) for row in self._variance]
        divisor = _FORGETTING + _dot(spread, features)
        surprise = (value - _dot(self._weights, features)) / divisor
        self._weights = [
            weight + change * surprise for weight, change in zip(self._weights, spread, strict=True)
        ]
        self._narrow(spread, divisor)

    def _narrow(self, spread: Sequence[float], divisor: float) -> None:
        for row, by in enumerate(spread):
            for column in range(row + 1):
                narrowed = self._variance[row][column] - by * spread[column] / divisor
                # Directions that are not excited for long would otherwise grow without bound.
                narrowed = min(max(narrowed / _FORGETTING, -_MOST_VARIANCE), _MOST_VARIANCE)
                self._variance[row][column] = self._variance[column][row] = narrowed

    def predict(self, features: Features) -> float | None:
        """The expected value; None before the first observation."""
        return self.along(features) if self._scale else None

    def along(self, direction: Features) -> float:
        """How much the value changes with a step in this direction."""
        return sum(
            weight * part
            for weight, part in zip(self._weights, direction, strict=True)
            if weight > 0
        )


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
