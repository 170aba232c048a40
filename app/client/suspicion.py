"""Which request may have ended the engine.  Pure.

A death is counted for every request that the engine was working on, until that request writes again.  Two of them
make it a suspect.  It is set aside where nobody else can have done it: where whoever was in beside it has written since
the engine got it, or has met two deaths fewer.  One fewer is not enough, for a process may also be ended from outside.

While there is a suspect, all that have met a death without a word of their own are let in one at a time until they have
written, beside those that are in no doubt; and nothing is read beforehand.  Of two that end the engine at the same time, the one that
comes beside a trial may have another set aside in its place: its own turn comes after that.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

SUSPICIOUS = 2
"""Deaths without a token in between that make a suspect."""


class Accused(Protocol):
    """A request.

    `active`: the engine may be working on it; `proven`: it has written since the engine got it; `deaths`: how often the
    engine died since the last token; `cleared`: it had written before the last of them, in the same life of the engine.
    """

    deaths: int
    cleared: bool

    @property
    def active(self) -> bool: ...

    @property
    def proven(self) -> bool: ...


_A = TypeVar("_A", bound=Accused)


def is_suspect(request: Accused) -> bool:
    """Whether it was met by so many deaths that it has to be found out which request brings them."""
    return request.deaths >= SUSPICIOUS


def is_doubted(request: Accused) -> bool:
    """Whether it may only be let in by itself while there is a suspect."""
    return request.deaths > 0 and not request.cleared


def judge(requests: Iterable[_A]) -> _A | None:
    """Count a death; the request that it is put down to, or None where that cannot be told."""
    everybody = list(requests)
    active = [request for request in everybody if request.active]
    for request in active:
        request.deaths += 1
    worst = max(active, key=lambda request: request.deaths, default=None)
    if worst is None or not is_suspect(worst):
        return None
    others = [request for request in everybody if request is not worst]
    return None if _may_be_another(worst, others) else worst


def _may_be_another(worst: Accused, others: Sequence[Accused]) -> bool:
    beside = (other for other in others if other.active and not other.proven)
    # What one has met after it had written counts for little against it.
    if any(other.deaths - other.cleared + SUSPICIOUS > worst.deaths for other in beside):
        return True
    # Who shared the first of two deaths may have brought that one, and nobody this one.
    away = (other for other in others if not other.active)
    return worst.deaths == SUSPICIOUS and any(map(is_doubted, away))
