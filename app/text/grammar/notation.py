"""What notations of grammars, patterns and literals have in common: signs that repeat, characters by their number.  Pure."""

import re
from collections.abc import Mapping

REPEATS: Mapping[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
"""How often at least and at most; None: without end."""

HEX_LENGTHS: Mapping[str, int] = {"x": 2, "u": 4, "U": 8}
"""How many digits follow a backslash and this letter."""

_HEX = re.compile(r"[0-9A-Fa-f]+")


def hex_code(text: str, at: int, length: int) -> int | None:
    """The number of exactly so many hexadecimal digits at this place; None where they are fewer or others."""
    digits = text[at : at + length]
    return int(digits, 16) if len(digits) == length and _HEX.fullmatch(digits) else None
