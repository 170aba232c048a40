"""Profiles: how a model is loaded, made from what the model costs and what the machine has; pure.

A profile gives every number; each may be replaced by one of the user's own, and the others then follow it.  A part of
what is free is left to the rest of the machine.  The pool never gets smaller than the profile's floor: where not even
that fits, `Plan.missing` says how much memory is wanting, and it is the user who decides.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from app.settings import RANGES, KvType, Profile, Settings
from app.sizing.footprint import Footprint
from app.sizing.machine import Machine
from app.wire import LoadParams

RESERVE = 300 << 20
"""Bytes for the window, the text worker and the engine's own program."""

_STEP = 256
"""llama.cpp pads the pool to it."""
_MOST_POOL = int(RANGES["pool_tokens"][1])
_MOST_SEQUENCES = int(RANGES["sequences"][1])
_UNKNOWN_CONTEXT = 32_768
_AUTO_SEQUENCES = 16
"""More in one step still bring more tokens a second on two cores (SmolLM2: 124 with 8, 144 with 16), at the same gap."""


@dataclass(frozen=True, slots=True)
class Own:
    """What the user has chosen; None leaves it to the profile."""

    pool_tokens: int | None = None
    sequences: int | None = None
    batch: int | None = None
    kv_type: KvType | None = None
    mmap: bool | None = None
    spill_megabytes: int | None = None


NO_OWN = Own()


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbers of a load, as `wire.LoadParams` names them; `spill_megabytes` MiB for the states of idle chats.

    `pool_bytes` is what the pool takes, and `missing` how many bytes more all of it takes than can be spared.
    """

    pool_tokens: int
    sequences: int
    batch: int
    kv_type: KvType
    mmap: bool
    spill_megabytes: int
    pool_bytes: int = 0
    missing: int = 0

    def load_params(self, path: str) -> LoadParams:
        """A load of this file with these numbers; what no profile gives is as it usually is."""
        return LoadParams(
            path=path,
            pool_tokens=self.pool_tokens,
            sequences=self.sequences,
            batch=self.batch,
            kv_type=self.kv_type,
            mmap=self.mmap,
            spill_bytes=self.spill_megabytes << 20,
        )


@dataclass(frozen=True, slots=True)
class _Recipe:
    """A profile before it has seen a model and a machine: what it gives at least, and how far it may grow.

    `each` tokens of the pool bring one more chat at once; `share` is the part of the memory left beside the weights
    that may be used.
    """

    pool: int
    sequences: int
    batch: int
    kv_types: tuple[KvType, ...]
    spill: int
    most_spill: int
    share: float
    most_pool: int = 0
    most_sequences: int = 0
    each: int = 2048
    mmap: bool = True


_GROWING = _Recipe(
    pool=16_384,
    sequences=8,
    batch=512,
    kv_types=("f16", "q8_0", "q4_0"),
    spill=256,
    most_spill=1024,
    share=0.5,
)
_DEVELOPMENT = _Recipe(
    pool=4096, sequences=4, batch=512, kv_types=("f16",), spill=128, most_spill=512, share=0.85
)
_EDGE = _Recipe(
    pool=1024,
    sequences=2,
    batch=64,
    kv_types=("q8_0", "q4_0"),
    spill=32,
    most_spill=32,
    share=0.85,
    mmap=False,
)


def own_numbers(settings: Settings) -> Own:
    """The numbers that these settings have instead of their profile's."""
    return Own(
        settings.pool_tokens,
        settings.sequences,
        settings.batch,
        settings.kv_type,
        settings.mmap,
        settings.spill_megabytes,
    )


def plan(profile: Profile, model: Footprint, machine: Machine, own: Own = NO_OWN) -> Plan:
    """The numbers for loading `model` on `machine`: the first that fit, or the smallest that there are."""
    tried = [
        (recipe, kv_type)
        for recipe in _recipes(profile, model, machine)
        for kv_type in _kv_types(recipe, model, own)
    ]
    plans = (_fitted(recipe, kv_type, model, machine, own) for recipe, kv_type in tried)
    fitting = (found for found in plans if not found.missing)
    return next(fitting, None) or _fitted(*tried[-1], model, machine, own)


def roomy(profile: Profile, model: Footprint, machine: Machine, own: Own = NO_OWN) -> bool:
    """Whether `model` is to be loaded beside others that leave `machine` what it has: not where all it would get is a pool
    of the smallest size, for two models without room serve nobody better than one with."""
    found = plan(profile, model, machine, own)
    least = _DEVELOPMENT.pool if own.pool_tokens is None else own.pool_tokens
    return bool(model.layers) and not found.missing and found.pool_tokens >= least


def shortage(name: str, plan: Plan) -> str:
    """What to say before the model of this name is loaded as planned; "" where it fits."""
    if not plan.missing:
        return ""
    return (
        f"{name} takes {plan.missing / 1e9:,.1f} GB more memory than can be spared, so that it may be slow or not load. "
        "The profile “edge” takes the least; a smaller model takes less still."
    )


def _recipes(profile: Profile, model: Footprint, machine: Machine) -> Iterator[_Recipe]:
    """In the order in which they are tried; the last one is taken where none fits."""
    context = model.context or _UNKNOWN_CONTEXT
    match profile:
        case "development":
            yield _DEVELOPMENT
        case "edge":
            yield _EDGE
        case "production":
            most = min(_MOST_SEQUENCES, max(8, 8 * machine.cores))
            yield replace(
                _GROWING, share=0.85, most_spill=4096, most_sequences=most, most_pool=most * context
            )
        case "auto":
            roomy = min(max(context, _GROWING.pool), 2 * _GROWING.pool)
            # Nobody has asked for it, so that no pool is taken here that the model would notice.
            yield replace(
                _GROWING,
                kv_types=("f16", "q8_0"),
                share=0.5,
                most_pool=roomy,
                most_sequences=_AUTO_SEQUENCES,
            )
            yield replace(_DEVELOPMENT, kv_types=("f16", "q8_0"))
            yield _EDGE


def _kv_types(recipe: _Recipe, model: Footprint, own: Own) -> tuple[KvType, ...]:
    """Those that this model can be used with, the best first."""
    if own.kv_type is not None:
        return (own.kv_type,)
    return recipe.kv_types if model.compressible else ("f16",)


def _fitted(recipe: _Recipe, kv_type: KvType, model: Footprint, machine: Machine, own: Own) -> Plan:
    """The recipe with as large a pool as there is room for."""
    batch = recipe.batch if own.batch is None else own.batch
    least_spill = recipe.spill if own.spill_megabytes is None else own.spill_megabytes
    least = recipe.pool if own.pool_tokens is None else own.pool_tokens

    def sequences(pool: int) -> int:
        if own.sequences is not None:
            return own.sequences
        return max(recipe.sequences, min(recipe.most_sequences, pool // recipe.each))

    def cost(pool: int) -> int:
        return (
            model.pool_bytes(pool, sequences(pool), batch, kv_type)
            + model.buffer_bytes(pool, sequences(pool), batch)
            + (least_spill << 20)
        )

    room = machine.free - RESERVE - model.weights
    budget = int(recipe.share * room) if room > 0 else room
    spare = max(0, budget - cost(least))
    pool = least
    # A compressed pool is there to reach the floor: beyond it, fewer tokens that are exact are worth more.
    if own.pool_tokens is None and kv_type in (own.kv_type, recipe.kv_types[0]) and model.layers:
        most = min(_MOST_POOL, recipe.most_pool)
        pool = _largest(least, most, lambda tokens: cost(tokens) <= cost(least) + spare * 3 // 4)
    spill = least_spill
    if own.spill_megabytes is None:
        spill = min(recipe.most_spill, spill + (max(0, budget - cost(pool)) >> 22))
    return Plan(
        pool_tokens=pool,
        sequences=sequences(pool),
        batch=batch,
        kv_type=kv_type,
        mmap=recipe.mmap if own.mmap is None else own.mmap,
        spill_megabytes=spill,
        pool_bytes=model.pool_bytes(pool, sequences(pool), batch, kv_type),
        missing=max(0, cost(least) - budget),
    )


def _largest(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """The most tokens that fit, in whole steps of llama.cpp; `least` where nothing more does."""
    low, high = 0, max(0, most - least) // _STEP
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(least + middle * _STEP) else (low, middle - 1)
    return least + low * _STEP
