"""Whose step is next where several engines compute on one device; pure.

Stride scheduling: an engine's *pass* is the time that it has computed, over the weight of its class, and the smallest pass
goes next.  So engines of equal classes share the time equally, whatever their steps cost, and a more urgent one gets more
of it, but never all.  `now` is the pass of the one that computed last: who was idle begins there, for time that nobody
used is not owed, and who computed too long keeps that debt, counted by the class that it has now.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.wire import Priority

_WEIGHTS = {Priority.FRONT: 2.0, Priority.NORMAL: 1.0, Priority.BACKGROUND: 1 / 16}
"""Somebody looks at the front chat, and waits for the other chats; background work takes what they leave, and a little
more, so that it comes to its end."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An engine that wants the device: its number, and its pass in seconds of weight 1."""

    number: int
    passed: float


def first(claims: Iterable[Claim]) -> Claim | None:
    """The one whose step is next."""
    return min(claims, key=lambda claim: (claim.passed, claim.number), default=None)


def charged(passed: float, level: int, seconds: float) -> float:
    """The pass of an engine of this class after a step of so many seconds."""
    return passed + seconds / _weight(level)


def joined(passed: float, now: float, before: int, level: int) -> float:
    """The pass of an engine that was idle, and begins to want the device with this class."""
    return reweighted(max(passed, now), now, before, level)


def reweighted(passed: float, now: float, before: int, level: int) -> float:
    """The pass of an engine whose class changes: what it is ahead, or behind, is worth as many seconds as before."""
    return now + (passed - now) * _weight(before) / _weight(level)


def _weight(level: int) -> float:
    return _WEIGHTS[Priority(min(level, Priority.BACKGROUND))]
