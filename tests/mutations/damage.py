"""Bytes as a disk, a cut download or a stranger leaves them, and fields that lie."""

from collections.abc import Callable

from tests.gguf_bytes import Gguf, Mark
from tests.mutations.chance import Chance


def bits(model: Gguf, chance: Chance) -> bytes:
    """A few anywhere in the head, most of which is the vocabulary."""
    out, _, start = model.laid_out()
    return _flipped(out, 0, start, chance.choice((1, 1, 1, 2, 5, 20)), chance)


def short_fields(model: Gguf, chance: Chance) -> bytes:
    """A few in the part of the head that is not the vocabulary."""
    _, marks, _ = model.laid_out()
    short = [mark for mark in marks if 0 < mark.size <= 64]
    mark = chance.choice(short)
    return _flipped(
        model.written(), mark.start, mark.start + mark.size, chance.choice((1, 2)), chance
    )


def weights(model: Gguf, chance: Chance) -> bytes:
    out, _, start = model.laid_out()
    return _flipped(out, start, len(out), chance.choice((1, 10, 1000)), chance)


def _flipped(data: bytes, start: int, end: int, count: int, chance: Chance) -> bytes:
    out = bytearray(data)
    for _ in range(count):
        out[chance.randrange(start, end)] ^= 1 << chance.randrange(8)
    return bytes(out)


def cut(model: Gguf, chance: Chance) -> bytes:
    out, marks, start = model.laid_out()
    ends = (
        chance.randrange(len(out)),
        chance.randrange(start),
        chance.choice(marks).start,
        len(out) - chance.choice((1, 3, 32, 4096)),
    )
    return out[: chance.choice(ends)]


def appended(model: Gguf, chance: Chance) -> bytes:
    return model.written() + chance.randbytes(chance.choice((1, 31, 4096, 100_000)))


def block(model: Gguf, chance: Chance) -> bytes:
    """A stretch as a disk or a download leaves it: zeros, rubbish, another stretch, or gone."""
    out, _, start = model.laid_out()
    size = chance.choice((8, 64, 512, 4096))
    at = chance.randrange(chance.choice((start, len(out))) - size)
    other = chance.randrange(len(out) - size)
    new = (bytes(size), chance.randbytes(size), b"\xff" * size, out[other : other + size], b"")
    return out[:at] + chance.choice(new) + out[at + size :]


def field(*what: str) -> Callable[[Gguf, Chance], bytes]:
    """A number of one of these fields becomes an absurd one, or another by one."""

    def change(model: Gguf, chance: Chance) -> bytes:
        out, marks, _ = model.laid_out()
        mark = chance.choice([mark for mark in marks if mark.what in what])
        return _overwritten(out, mark, chance)

    return change


def _overwritten(data: bytes, mark: Mark, chance: Chance) -> bytes:
    present = int.from_bytes(data[mark.start : mark.start + mark.size], "little")
    near = (
        present + 1,
        present - 1,
        present * 2,
        present // 2,
        present ^ (1 << chance.randrange(8 * mark.size)),
    )
    new = chance.choice(near) if chance.random() < 0.5 else chance.absurd()
    raw = (new & ((1 << 8 * mark.size) - 1)).to_bytes(mark.size, "little")
    return data[: mark.start] + raw + data[mark.start + mark.size :]
