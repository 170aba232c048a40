"""Order statistics of small samples."""

import math
import statistics
from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of all lie (nearest rank); infinite when there are none, for nothing came."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.inf


def median(values: Sequence[float]) -> float:
    """The middle one, or the mean of the two in the middle; infinite when there are none."""
    return statistics.median(values) if values else math.inf
