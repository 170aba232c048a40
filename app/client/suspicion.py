"""Which request may have ended the engine.  Pure.

A death is counted for every request that the engine was working on, until that request writes again.  Two of them
make it a suspect.  Where one has met more of them than all others, it is set aside.  Of several suspects all but one are
innocent: they are let in one at a time until they have written, beside those that are none, and the one that is in when
the engine dies again has then met one more than anybody else.
"""

from collections.abc import Iterable
from typing import Protocol, TypeVar

SUSPICIOUS = 2
"""Deaths without a token in between that make a suspect."""


class Accused(Protocol):
    """A request.  `active`: the engine may be working on it; `deaths`: how often it died since the last token."""

    deaths: int

    @property
    def active(self) -> bool: ...


_A = TypeVar("_A", bound=Accused)


def is_suspect(request: Accused) -> bool:
    """Whether it may only be let in by itself."""
    return request.deaths >= SUSPICIOUS


def judge(requests: Iterable[_A]) -> _A | None:
    """Count a death; the request that it is put down to, or None where that cannot be told."""
    active = [request for request in requests if request.active]
    for request in active:
        request.deaths += 1
    most = max((request.deaths for request in active), default=0)
    worst = [request for request in active if request.deaths == most]
    return worst[0] if len(worst) == 1 and is_suspect(worst[0]) else None


def was_on_trial(request: Accused) -> bool:
    """Whether a request that was set aside had been let in by itself to find out."""
    return request.deaths > SUSPICIOUS
