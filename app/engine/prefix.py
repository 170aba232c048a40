"""How much of a prompt is in the pool already; pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.engine.backend import MemoryKind, TokenArray

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


def reusable(kind: MemoryKind, held: int, common: int, wanted: int) -> int:
    """How many of `common` equal tokens may be reused from a sequence that holds `held` tokens.

    One token of the `wanted` must always be evaluated, for its logits.  A recurrent memory has only its state
    after the last token, so that anything but the whole sequence is read again.
    """
    if kind is MemoryKind.ATTENTION:
        return min(common, wanted - 1)
    return held if common == held and held < wanted else 0


@dataclass(frozen=True, slots=True)
class Match:
    """The best source for a prompt: an index into what was offered, and how many tokens it gives."""

    index: int
    tokens: int


def best_match(kind: MemoryKind, held: Iterable[TokenArray], wanted: TokenArray) -> Match | None:
    """The sequence that gives the most; the first of equals.  None where none gives any."""
    best: Match | None = None
    for index, tokens in enumerate(held):
        count = reusable(kind, len(tokens), common_prefix(tokens, wanted), len(wanted))
        if count > (best.tokens if best else 0):
            best = Match(index, count)
    return best
