"""What the clients of a workload saw, reduced to numbers; only whole answers count."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from app.bench.client import Answer
from app.bench.quantiles import quantile


@dataclass(frozen=True, slots=True)
class Outcome:
    """All answers of one workload; `late` is the long prompt of `stall`."""

    answers: tuple[Answer, ...]
    seconds: float
    late: Answer | None = None

    @property
    def everyone(self) -> tuple[Answer, ...]:
        return (*self.answers, self.late) if self.late else self.answers

    @property
    def whole(self) -> list[Answer]:
        return [answer for answer in self.everyone if answer.whole]

    @property
    def tokens_per_second(self) -> float:
        return sum(answer.written for answer in self.whole) / self.seconds

    @property
    def prompt(self) -> int:
        """Prompt tokens of the whole answers."""
        return sum(answer.prompt for answer in self.whole)

    @property
    def cached(self) -> int:
        """Those of them that the server says it did not read."""
        return sum(answer.cached for answer in self.whole)

    @property
    def written(self) -> int:
        return sum(answer.written for answer in self.whole)

    def first(self, share: float) -> float:
        """Seconds to the first text, at this quantile; infinite where an answer never came whole."""
        return quantile([a.first if a.whole else math.inf for a in self.everyone], share)

    def gap(self, share: float) -> float:
        """Seconds between two texts of one answer, at this quantile."""
        return quantile([gap for answer in self.whole for gap in answer.gaps], share)

    @property
    def usual_gap(self) -> float:
        """The median gap in the streams before the late prompt came."""
        late = self.late.began if self.late else math.inf
        return quantile([b - a for a, b in self._gaps() if b <= late], 0.5)

    @property
    def late_gap(self) -> float:
        """The longest gap in the other streams between the late prompt's start and its first text."""
        if self.late is None or not self.late.times:
            return math.inf
        start, end = self.late.began, self.late.times[0]
        return max((b - a for a, b in self._gaps() if b > start and a < end), default=math.inf)

    def _gaps(self) -> Iterable[tuple[float, float]]:
        for answer in self.answers:
            yield from pairwise(answer.times)
