"""What a step costs, fitted while running; pure.

A step that only decodes is the measure of all others, and what prefill tokens add to it is their price:

    decode         seconds = a + b * rows + c * cells
    small, large   seconds = decode + chunk * (d + e * cells)

each by recursive least squares with forgetting.  `rows` are decode rows, `chunk` prefill tokens, `cells` the used cells
of the pool (attention looks at all of them), in thousands.  There are two prices, since a step of many tokens runs other
kernels than one of few.  A price of one form only is found out even where all chunks are of one size; with a part of
its own for each step it would not be, and chunks would stay as small as they began.

Between its own chunks a long prompt lets a step only decode now and then (`wants_decode`): how much longer decoding takes
behind all that was read meanwhile would otherwise only be guessed, and every gap is measured by it.

A token costs a hundred times more on one machine than on another, so nothing is assumed.  A step that took far longer
than foreseen (the machine was busy with something else) counts only in part.  How far mixed steps overshoot is
followed too, for a promise about the longest gap is not kept by steps that are right on average.
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
_TRY_LARGE = LARGE // 2
"""A step that may read so much is made a large one, where no such step was seen: it may well take no longer."""
_GROWTH = 4
"""A chunk may be so many times as large as the largest that was seen: what few tokens cost may be lost in the noise."""
_BASE_KNOWN = 8
"""Steps that only decode after which prices are learned anew: what they were taken to be more than was a guess before."""
_LOOK_EVERY = 32
"""Mixed steps after which a step only decodes, for the machine may have become another."""
_ALIKE, _FEW = 1.25, 64
"""What it costs to decode is known up to so many times as many rows and cells, and so many cells more, as there were."""
_HARDLY_LONGER = 2.0
"""How much longer than the least step a large one may take where even the least keeps no promise: it reads more than ten
times as much."""
_LEAST_SECONDS = 1e-9
"""The least that one more token of a chunk is taken to cost, so that a chunk is never without bound."""
_QUANTILE = 0.995
_QUANTILE_RATE = 0.07
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
        self._small, self._large = _Price(), _Price()
        self._margin = _FIRST_MARGIN
        self._last = Shape(0, 0, 0)
        self._since = 0
        self.row_limit = RowLimit()

    @property
    def margin(self) -> float:
        """What all but one of 200 mixed steps stay under, as a multiple of the time that was expected of them; at least 1.

        So many read a prompt of a thousand tokens beside four streams, and the longest of their gaps is what is promised.
        By stochastic approximation (Robbins and Monro, 1951).
        """
        return self._margin

    def observe(self, shape: Shape, seconds: float) -> None:
        """Learn from a step."""
        if shape.chunk:
            price = self._price(shape)
            expected = self.seconds(shape)
            if expected and price.knows:
                self._follow_margin(seconds / expected)
            self._since += 1
            # Beside rows of which nothing is known, what the chunk took cannot be told from what they did.
            if self._decode.seen or not shape.rows:
                price.learn(shape, seconds - self._base(shape))
        elif shape.rows:
            self._decode.learn(_decode(shape), seconds)
            self._last, self._since = shape, 0
            if self._decode.seen == _BASE_KNOWN:
                self._small.doubt()
                self._large.doubt()
            self.row_limit.observe(shape.rows, shape.cells, seconds)

    def _follow_margin(self, ratio: float) -> None:
        over = ratio > self._margin
        self._margin += _QUANTILE_RATE * (_QUANTILE - (not over))
        self._margin = min(max(self._margin, 1.0), _MOST_MARGIN)

    def wants_decode(self, rows: int, cells: int) -> bool:
        """Whether a step of `rows` rows should read nothing, to learn what it takes by itself."""
        last = self._last
        more_cells = cells > _ALIKE * last.cells + _FEW
        return more_cells or rows > _ALIKE * last.rows or self._since >= _LOOK_EVERY

    def seconds(self, shape: Shape) -> float | None:
        """The expected time of a step; None while nothing like it was seen."""
        if not shape.chunk:
            return self._decode.predict(_decode(shape))
        more = self._price(shape).seconds(shape.chunk, shape.cells)
        return None if more is None else self._base(shape) + more

    def chunk_for(self, seconds: float, rows: int, cells: int, most: int = UNBOUNDED) -> int:
        """How many prefill tokens, `most` at the most, a step of `rows` rows may read to take about `seconds`; at least 0."""
        least = max(1, LARGE - rows)
        left = seconds - self._base(Shape(rows, 0, cells))
        large = self._large.chunk(left, cells)
        if large is not None and large >= least and most >= least:
            return min(large, most)
        small = self._small.chunk(left, cells)
        if small is None:
            small = self._first_chunk(left)
        elif large is None and small >= _TRY_LARGE and most >= least:
            return least
        # What is left of a text may not make a large step, whatever that would cost.
        return min(small, least - 1, most)

    def _first_chunk(self, seconds: float) -> int:
        """Where no price is known: a prefill token is no dearer than a decode row."""
        if not self._decode.seen:
            return _FIRST_CHUNK
        return max(0, int(seconds / max(self._decode.along((0.0, 1.0, 0.0)), _LEAST_SECONDS)))

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
        price = self._large if self._large.seen else self._small
        return (end - start) * price.each((start + end) // 2) / price.each(0)

    def _base(self, shape: Shape) -> float:
        """Seconds of the step without what it reads; 0 while no step has only decoded."""
        return self._decode.predict(_decode(shape)) or 0.0

    def _price(self, shape: Shape) -> "_Price":
        return self._large if shape.rows + shape.chunk >= LARGE else self._small


class _Price:
    """What the tokens of a chunk add to a step."""

    def __init__(self) -> None:
        self._fit = LeastSquares(2)
        self._most = 0

    @property
    def seen(self) -> int:
        return self._fit.seen

    @property
    def knows(self) -> bool:
        """As `LeastSquares.knows`."""
        return self._fit.knows

    def doubt(self) -> None:
        """As `LeastSquares.doubt`."""
        self._fit.doubt()

    def learn(self, shape: Shape, seconds: float) -> None:
        """These took so many seconds more than the rows beside them."""
        self._most = max(self._most, shape.chunk)
        self._fit.learn(_read(shape.chunk, shape.cells), max(0.0, seconds))

    def seconds(self, chunk: int, cells: int) -> float | None:
        """None where it has seen nothing."""
        return self._fit.along(_read(chunk, cells)) if self._fit.seen else None

    def chunk(self, seconds: float, cells: int) -> int | None:
        """How many tokens take so long; None where it has seen nothing."""
        if not self._fit.seen:
            return None
        return min(max(0, int(seconds / self.each(cells))), _GROWTH * self._most)

    def each(self, cells: int) -> float:
        """Seconds for one more token."""
        return max(self._fit.along(_read(1, cells)), _LEAST_SECONDS)


def _decode(shape: Shape) -> Features:
    return (1.0, float(shape.rows), shape.cells / 1000)


def _read(chunk: int, cells: int) -> Features:
    return (float(chunk), chunk * cells / 1000)
