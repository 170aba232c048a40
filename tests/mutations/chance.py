"""The random choices that all mutations share."""

import math
import random
from collections.abc import Sequence

from tests.gguf_bytes import Gguf

_ABSURD = (
    0,
    1,
    2,
    3,
    7,
    255,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 63) - 1,
    (1 << 64) - 1,
)
FLOATS = (0.0, -1.0, 1e-45, 1e38, math.nan, math.inf, -math.inf)


class Chance(random.Random):
    """The same seed makes the same choices."""

    def entry(self, model: Gguf, *, kinds: Sequence[int] = ()) -> int:
        """The place of an entry, of one of these kinds where some are given."""
        fitting = [i for i, one in enumerate(model.entries) if not kinds or one.kind in kinds]
        return self.choice(fitting)

    def absurd(self) -> int:
        """A number that no count or size can be."""
        return self.choice(_ABSURD)

    def odd(self) -> float:
        """A number that no factor can be."""
        return self.choice(FLOATS)
