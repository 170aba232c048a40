"""What a row of the benchmark gives: figures with their goals, and the results of several runs of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from app.bench.quantiles import median

Values = Mapping[str, float]
"""One run of a row: the value of each figure, by its key.  A figure that a run cannot give is left out."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on a figure, or with `of_peer` on its ratio to the peer's."""

    bound: float
    at_most: bool
    of_peer: bool = False

    def met(self, value: float) -> bool:
        """Whether a median (or a ratio, with `of_peer`) keeps the bound."""
        return value <= self.bound if self.at_most else value >= self.bound

    def words(self, unit: str) -> str:
        unit = " x the peer's" if self.of_peer else f" {unit}".rstrip()
        return f"{'at most' if self.at_most else 'at least'} {self.bound:,g}{unit}"


def at_most(bound: float, *, of_peer: bool = False) -> Goal:
    return Goal(bound, at_most=True, of_peer=of_peer)


def at_least(bound: float, *, of_peer: bool = False) -> Goal:
    return Goal(bound, at_most=False, of_peer=of_peer)


@dataclass(frozen=True, slots=True)
class Figure:
    """`words` say what it is; `digits` are those behind the point."""

    key: str
    words: str
    unit: str = ""
    digits: int = 2
    goal: Goal | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """All runs of one figure of one row; `pairs` holds those in which the peer gave one too, ours first."""

    row: str
    figure: Figure
    ours: tuple[float, ...]
    pairs: tuple[tuple[float, float], ...] = ()
    peer: str = ""

    @property
    def median(self) -> float:
        return median(self.ours)

    @property
    def peer_median(self) -> float | None:
        return median([theirs for _, theirs in self.pairs]) if self.pairs else None

    @property
    def ratio(self) -> float | None:
        """The median of the pairs' ratios: the two of a pair ran one after the other, so the machine was the same."""
        return median([_ratio(*pair) for pair in self.pairs]) if self.pairs else None

    @property
    def met(self) -> bool | None:
        """None where there is no goal, or no peer to hold it against."""
        goal = self.figure.goal
        if goal is None or not self.ours:
            return None
        value = self.ratio if goal.of_peer else self.median
        return None if value is None else goal.met(value)


def _ratio(ours: float, theirs: float) -> float:
    if math.isinf(theirs):
        return 0.0 if math.isfinite(ours) else math.nan
    return ours / theirs if theirs else math.inf


def results(
    row: str, figures: tuple[Figure, ...], runs: list[tuple[Values, Values]], peer: str
) -> list[Result]:
    """Sort the runs of a row by figure; each run is ours and the peer's (empty where there is none)."""
    found = []
    for figure in figures:
        key = figure.key
        ours = tuple(values[key] for values, _ in runs if key in values)
        pairs = tuple((a[key], b[key]) for a, b in runs if key in a and key in b)
        if ours:
            found.append(Result(row, figure, ours, pairs, peer if pairs else ""))
    return found
