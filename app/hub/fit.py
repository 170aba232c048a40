"""Whether a model fits this machine, in terms of chats: what the weights leave room for, counted with llama.cpp's formulas.

Pure.
"""

from dataclasses import dataclass

from app.hub import words
from app.settings import KvType
from app.sizing.footprint import Footprint
from app.sizing.profiles import RESERVE

_SIZES = (2048, 8192, 32_768, 131_072)
_UNKNOWN_CONTEXT = 32_768
_MOST_CHATS = 64
_BATCH = 512
_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Room:
    """So many chats at once of `tokens` each, in cells of `kv_type`."""

    chats: int
    tokens: int
    kv_type: KvType


@dataclass(frozen=True, slots=True)
class Fit:
    """What fits into `free` bytes, small chats first; `needed` bytes are for one small chat."""

    rooms: tuple[Room, ...]
    needed: int
    free: int

    @property
    def fits(self) -> bool:
        """Whether at least one chat does."""
        return any(room.chats for room in self.rooms)

    def __str__(self) -> str:
        """In one line: `6 chats of 8k, or 2 of 32k; 8-bit KV: 11 of 8k`."""
        exact = [room for room in self.rooms if room.chats and room.kv_type == "f16"]
        packed = [room for room in self.rooms if room.chats and room.kv_type == "q8_0"]
        if not exact and not packed:
            return f"does not fit: it takes {words.size(self.needed)}, and {words.size(self.free)} are free"
        text = ", or ".join(_words(room, first=n == 0) for n, room in enumerate(exact))
        more = [room for room in packed if room.chats > _chats(exact, room.tokens)]
        if more:
            with_it = ", or ".join(_words(room, first=not exact and n == 0) for n, room in enumerate(more))  # fmt: skip
            text = f"{text}; 8-bit KV: {with_it}" if text else f"{with_it}, with 8-bit KV only"
        return text


def fit(model: Footprint, free: int) -> Fit:
    """For a machine with `free` bytes of memory; 5 % of them are left alone."""
    budget = int(free * (1 - _MARGIN)) - RESERVE
    context = model.context or _UNKNOWN_CONTEXT
    sizes = [size for size in _SIZES if size <= context][-3:] or [max(256, context)]
    shown = sizes if len(sizes) < 3 else sizes[1:]
    kinds: tuple[KvType, ...] = ("f16", "q8_0") if model.compressible else ("f16",)
    rooms = tuple(Room(_most(model, size, kind, budget), size, kind) for kind in kinds for size in shown)  # fmt: skip
    return Fit(rooms, cost(model, 1, shown[0], kinds[-1]) + RESERVE, free)


def cost(model: Footprint, chats: int, tokens: int, kv_type: KvType) -> int:
    """Bytes of everything with so many chats of so many tokens."""
    pool = chats * tokens
    return (
        model.weights
        + model.pool_bytes(pool, chats, _BATCH, kv_type)
        + model.buffer_bytes(pool, chats, _BATCH)
    )


def _most(model: Footprint, tokens: int, kv_type: KvType, budget: int) -> int:
    low, high = 0, _MOST_CHATS
    while low < high:
        middle = (low + high + 1) // 2
        fits = cost(model, middle, tokens, kv_type) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _chats(rooms: list[Room], tokens: int) -> int:
    return next((room.chats for room in rooms if room.tokens == tokens), 0)


def _words(room: Room, *, first: bool) -> str:
    many = f"{room.chats}+" if room.chats == _MOST_CHATS else str(room.chats)
    size = f"{room.tokens // 1024}k" if room.tokens >= 1024 else f"{room.tokens} tokens"
    noun = ("chat " if room.chats == 1 else "chats ") if first else ""
    return f"{many} {noun}of {size}"
