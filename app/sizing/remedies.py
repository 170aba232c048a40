"""What can be done about a model that did not fit into the memory: in order, and only what helps by the estimate.  Pure.

A smaller pool, then one of 8 bits, then the same model in a smaller quantisation.  What helps is told by the formulas of
`footprint` and what was free; where the load failed although these said that it fits, they are known to be too hopeful
(a limit of the process, a graphics card), and only what takes much less counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.errors import MemoryPart
from app.settings import Profile
from app.sizing.footprint import Footprint
from app.sizing.machine import Machine
from app.sizing.profiles import NO_OWN, RESERVE, Own, Plan, plan

LEAST_POOL = 1024
"""Tokens of the smallest pool that is offered: what the smallest profile has."""

NOTHING_HELPS = "Close other programs, or choose a smaller model."
"""What to say where there is no remedy."""

_ROUND, _FINE, _FROM = 1024, 256, 4096
"""A pool is offered in whole steps of so many tokens: in fine ones below `_FROM`."""


class RemedyKind(StrEnum):
    """What is made smaller; `FIND` is a smaller quantisation that is not on this machine yet."""

    POOL = "pool"
    KV = "kv"
    FILE = "file"
    FIND = "find"


@dataclass(frozen=True, slots=True)
class Smaller:
    """The same model in another file: `label` names its quantisation."""

    path: str
    label: str
    model: Footprint


@dataclass(frozen=True, slots=True)
class Attempt:
    """The load of `path` that failed for want of memory: what it was planned with, and what there was no memory for."""

    path: str
    model: Footprint
    machine: Machine
    part: MemoryPart
    profile: Profile
    own: Own = NO_OWN


@dataclass(frozen=True, slots=True)
class Remedy:
    """Load `path` with these numbers of one's own.  `pool_tokens` is the pool that this gives; of a FILE `label` and
    `size` (bytes) tell which it is; a FIND is to be searched for, and then loaded."""

    kind: RemedyKind
    path: str
    own: Own
    pool_tokens: int = 0
    label: str = ""
    size: int = 0


def remedies(
    attempt: Attempt, others: Sequence[Smaller] = (), least_share: float = 1.0
) -> tuple[Remedy, ...]:
    """Those that help, in the order in which they are to be offered.

    `others` are on this machine; `least_share` is how large the smallest usual quantisation of this model would be.
    """
    return tuple(_found(attempt, others, least_share)) if attempt.model.layers else ()


def _found(attempt: Attempt, others: Sequence[Smaller], least_share: float) -> Iterator[Remedy]:
    tried = _plan(attempt, attempt.model, attempt.own)
    limit = _limit(attempt, tried)
    if limit <= 0:
        return
    path, own = attempt.path, attempt.own
    # A pool that nobody asked for was made smaller by the engine already, down to its least.
    settled = own.pool_tokens is None and own.kv_type is None
    if not (settled and attempt.part is MemoryPart.POOL):
        exact = _most(attempt, replace(own, kv_type=tried.kv_type), tried.pool_tokens - 1, limit)
        if exact:
            yield Remedy(RemedyKind.POOL, path, replace(own, pool_tokens=exact), exact)
        packed = 0
        if tried.kv_type == "f16" and attempt.model.compressible:
            packed = _most(attempt, replace(own, kv_type="q8_0"), tried.pool_tokens, limit)
        if packed > exact:
            changed = replace(own, kv_type="q8_0", pool_tokens=packed)
            yield Remedy(RemedyKind.KV, path, changed, packed)
    yield from _files(attempt, others, least_share, limit)


def _files(
    attempt: Attempt, others: Sequence[Smaller], least_share: float, limit: int
) -> Iterator[Remedy]:
    """The best file that fits, or that one may be looked for."""
    lighter = (one for one in others if one.model.weights < attempt.model.weights)
    for one in sorted(lighter, key=lambda one: -one.model.weights):
        if _fits(attempt, one.model, attempt.own, limit):
            pool = _plan(attempt, one.model, attempt.own).pool_tokens
            size = one.model.weights
            yield Remedy(RemedyKind.FILE, one.path, attempt.own, pool, one.label, size)
            return
    least = replace(attempt.model, weights=int(attempt.model.weights * least_share))
    if least_share < 1 and _fits(attempt, least, attempt.own, limit):
        yield Remedy(RemedyKind.FIND, attempt.path, attempt.own)


def _limit(attempt: Attempt, tried: Plan) -> int:
    """Bytes that everything together may take; 0 where that cannot be told."""
    floor = attempt.model.weights + RESERVE
    hopeful = not tried.missing
    match attempt.part:
        case MemoryPart.WEIGHTS:  # nothing about the pool helps
            most = floor - 1
        case MemoryPart.POOL if hopeful:
            most = floor + (_bytes(attempt.model, tried) - floor) // 2
        case MemoryPart.UNKNOWN if hopeful:
            most = 0
        case _:
            most = attempt.machine.free
    return most if hopeful else min(most, attempt.machine.free)


def _most(attempt: Attempt, own: Own, most: int, limit: int) -> int:
    """The largest pool of at most so many tokens that fits, 0 where not even the least does."""

    def fits(tokens: int) -> bool:
        return _fits(attempt, attempt.model, replace(own, pool_tokens=tokens), limit)

    if fits(most) and most >= LEAST_POOL:
        return _even(most)
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return _even(low) if low >= LEAST_POOL else 0


def _even(tokens: int) -> int:
    step = _ROUND if tokens >= _FROM else _FINE
    return tokens // step * step


def _fits(attempt: Attempt, model: Footprint, own: Own, limit: int) -> bool:
    planned = _plan(attempt, model, own)
    return not planned.missing and _bytes(model, planned) <= limit


def _plan(attempt: Attempt, model: Footprint, own: Own) -> Plan:
    return plan(attempt.profile, model, attempt.machine, own)


def _bytes(model: Footprint, planned: Plan) -> int:
    """What all of it takes, with what is left to the rest of the machine."""
    buffers = model.buffer_bytes(planned.pool_tokens, planned.sequences, planned.batch)
    spill = planned.spill_megabytes << 20
    return model.weights + RESERVE + planned.pool_bytes + buffers + spill
