"""What a step costs, fitted while running; pure.

Three linear models, each by recursive least squares with forgetting, since a step that only decodes runs other
kernels than one that also reads, and one of many tokens others than one of few:

    decode         seconds = a + b * rows + c * cells
    small, large   seconds = a + b * rows + c * chunk + d * chunk * cells

`rows` are decode rows, `chunk` prefill tokens, `cells` the used cells of the pool (attention looks at all of
them), in thousands.  A token costs a hundred times more on one machine than on another, so nothing is assumed:
a first small chunk is the only constant.  A step that took far longer than foreseen (the machine was busy with
something else) counts only in part.  How far mixed steps overshoot is followed too, for a promise about the
longest gap is not kept by steps that are right on average.
"""

import sys
from dataclasses import dataclass

from app.engine.least_squares import Features, LeastSquares
from app.engine.row_limit import RowLimit

LARGE = 64
"""Rows and chunk together from which on a step is a large one.  On the CPU, flash attention takes fewer of them cell by cell,
and this many in tiles.  What that is worth depends on how llama.cpp was compiled: on the same two cores, 64 tokens of
SmolLM2 behind 1,000 others took 1.3 times as long as 16 with one set of instructions, and 3.5 times with another."""

UNBOUNDED = sys.maxsize
"""As many tokens as one likes."""

_FIRST_CHUNK = 32
_FIRST_SMALL_CHUNK = 8
_LITTLE = 4
_TRY_LARGE = LARGE // 4
"""A step that may read so much is made a large one, where no such step was seen: it may well take no longer."""
_HARDLY_LONGER = 2.0
"""How much longer than the least step a large one may take where even the least keeps no promise: it reads more than ten
times as much."""
_LEAST_SHARE = 1e-5
_LEAST_SECONDS = 1e-9
"""The least that one more token of a chunk is taken to cost: of the longest step of late, and in seconds."""
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
        self._decode = LeastSquares(3)
        self._small, self._large = LeastSquares(4), LeastSquares(4)
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
            fit = self._fit(shape)
            expected = fit.predict(_mixed(shape))
            if expected and fit.knows:
                self._follow_margin(seconds / expected)
            fit.learn(_mixed(shape), seconds)
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
            return self._fit(shape).predict(_mixed(shape))
        found = self._decode.predict(_decode(shape))
        if found is not None:
            return found
        # Before the first step that only decodes, one that also reads a little is the nearest to it: what of that was for
        # the rows alone is not known.
        fit = self._small if self._small.seen else self._large
        return fit.predict(_mixed(Shape(shape.rows, _LITTLE, shape.cells)))

    def chunk_for(self, seconds: float, rows: int, cells: int, most: int = UNBOUNDED) -> int:
        """How many prefill tokens, `most` at the most, a step of `rows` rows may read to take about `seconds`; at least 0."""
        least = max(1, LARGE - rows)
        large = _chunk(self._large, seconds, rows, cells)
        small = _chunk(self._small, seconds, rows, cells)
        if large is None and small is None:
            return min(_FIRST_CHUNK, most)
        if most < least:
            # What is left of a text does not make a large step, whatever that would cost.
            return min(_FIRST_SMALL_CHUNK if small is None else small, most)
        if large is not None and large >= least:
            return min(large, most)
        if large is None and small is not None:
            return least if _TRY_LARGE <= small < least else min(small, most)
        return min(_FIRST_SMALL_CHUNK if small is None else small, least - 1)

    def least_chunk(self, floor: int, rows: int, cells: int, most: int = UNBOUNDED) -> int:
        """What a step of `rows` rows reads, of `most` tokens, where not even `floor` fit into its time.

        Few tokens behind many cells may take as long as a large step's: then the gap is as long either way, and only
        the large step brings the text to its end.
        """
        large = max(floor, LARGE - rows)
        many = self.seconds(Shape(rows, large, cells))
        few = self.seconds(Shape(rows, floor, cells))
        if large > most or many is None or few is None:
            return min(floor, most)
        return large if many <= _HARDLY_LONGER * few else floor

    def effort(self, start: int, end: int) -> float:
        """What it costs to read positions [start, end), in tokens at the beginning of a text."""
        fit = self._known
        return (end - start) * _each(fit, (start + end) // 2) / _each(fit, 0)

    @property
    def _known(self) -> LeastSquares:
        """What is known of reading, of large steps if there were any."""
        return self._large if self._large.seen else self._small

    def _fit(self, shape: Shape) -> LeastSquares:
        return self._large if shape.rows + shape.chunk >= LARGE else self._small


def _chunk(fit: LeastSquares, seconds: float, rows: int, cells: int) -> int | None:
    """The chunk with which a step takes this long, by one model; None where it has seen nothing."""
    fixed = fit.predict(_mixed(Shape(rows, 0, cells)))
    return None if fixed is None else max(0, int((seconds - fixed) / _each(fit, cells)))


def _each(fit: LeastSquares, cells: int) -> float:
    """Seconds for one more token of a chunk."""
    each = fit.along((0.0, 0.0, 1.0, cells / 1000))
    # Never so little that a chunk would be without bound.
    return max(each, fit.scale * _LEAST_SHARE, _LEAST_SECONDS)


def _decode(shape: Shape) -> Features:
    return (1.0, float(shape.rows), shape.cells / 1000)


def _mixed(shape: Shape) -> Features:
    rows, chunk = float(shape.rows), float(shape.chunk)
    return (1.0, rows, chunk, chunk * shape.cells / 1000)
