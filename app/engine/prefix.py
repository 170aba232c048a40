"""How much of a prompt is in the pool already; pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.engine.backend import TokenArray

_PROBE = 32


def common_prefix(left: TokenArray, right: TokenArray) -> int:
    """The number of equal tokens at the start of both."""
    length = min(len(left), len(right))
    # Most pairs differ early, so that a short look spares the comparison of thousands of tokens.
    probe = min(length, _PROBE)
    differs = left[:probe] != right[:probe]
    if differs.any():
        return int(differs.argmax())
    differs = left[probe:length] != right[probe:length]
    return probe + int(differs.argmax()) if differs.any() else length


@dataclass(frozen=True, slots=True)
class Held:
    """What a sequence holds.  `cuttable` says whether any prefix of it may be reused (plain attention only); `tips`
    are the positions at which it may be all the same, because the state there was kept."""

    tokens: TokenArray
    cuttable: bool
    tips: tuple[int, ...] = ()


def reusable(held: Held, common: int, wanted: int) -> int:
    """How many of `common` equal tokens may be reused for a prompt of `wanted` tokens.

    One token must always be evaluated, for its logits.
    """
    most = min(common, wanted - 1)
    if held.cuttable:
        return most
    return max((tip for tip in (*held.tips, len(held.tokens)) if tip <= most), default=0)


@dataclass(frozen=True, slots=True)
class Match:
    """The best source for a prompt: an index into what was offered, and how many tokens it gives."""

    index: int
    tokens: int


def best_match(held: Iterable[Held], wanted: TokenArray) -> Match | None:
    """The sequence that gives the most; the first of equals.  None where none gives any."""
    best: Match | None = None
    for index, one in enumerate(held):
        common = common_prefix(one.tokens, wanted)
        count = reusable(one, common, len(wanted))
        if count > (best.tokens if best else 0):
            best = Match(index, count)
    return best
