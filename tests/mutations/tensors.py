"""Tensors that are not where, or not what, the model needs."""

import math
import struct

from tests.gguf_bytes import Gguf
from tests.mutations.chance import Chance


def changed(model: Gguf, chance: Chance) -> bytes:
    """One description changed so that the file is still well written."""
    at = chance.randrange(len(model.tensors))
    one, other = model.tensors[at], chance.choice(model.tensors)
    changes = (
        one._replace(kind=chance.choice((*range(42), 1000))),
        one._replace(
            shape=chance.choice(
                (one.shape[::-1], (*one.shape, 1), one.shape[:1], (), (0,), (1 << 40, 1 << 40))
            )
        ),
        one._replace(shape=tuple(chance.absurd() & ((1 << 63) - 1) for _ in one.shape)),
        one._replace(offset=other.offset),
        one._replace(
            offset=one.offset + chance.choice((1, 16, 32, -32, 1 << 40)) & ((1 << 64) - 1)
        ),
        one._replace(name=other.name),
        one._replace(
            name=chance.choice(
                (b"", b"x" * 70, b"\xff\xfe", b"blk.99.attn_q.weight", b"token_embd.weight")
            )
        ),
    )
    model.tensors[at] = chance.choice(changes)
    return model.written()


def resized(model: Gguf, chance: Chance) -> bytes:
    """Another shape or type with data of the right length: only the model is wrong."""
    at = chance.randrange(len(model.tensors))
    one = model.tensors[at]
    kind, size = chance.choice(((0, 4), (1, 2), (30, 2), (28, 8), (26, 4), (24, 1)))
    shape = chance.choice(
        (
            one.shape,
            one.shape[::-1],
            (one.shape[0] * 2, *one.shape[1:]),
            (one.shape[0] // 2 or 1, *one.shape[1:]),
        )
    )
    made = one._replace(kind=kind, shape=shape)
    return _laid_anew(model, {at: (made, math.prod(shape) * size)})


def without(model: Gguf, chance: Chance) -> bytes:
    """A tensor is not there, and the others lie as they should."""
    del model.tensors[chance.randrange(len(model.tensors))]
    return _laid_anew(model, {})


def _laid_anew(model: Gguf, changed: dict[int, tuple]) -> bytes:
    """Offsets and data as they must be, of F32 tensors but for those that are given with their bytes."""
    data = bytearray()
    old = model.data
    for at, tensor in enumerate(model.tensors):
        made, length = changed.get(at, (tensor, 4 * math.prod(tensor.shape)))
        model.tensors[at] = made._replace(offset=len(data))
        piece = old[tensor.offset : tensor.offset + length]
        data += piece + bytes(length - len(piece))
        data += bytes(-len(data) % model.alignment)
    model.data = bytes(data)
    return model.written()


def swapped(model: Gguf, chance: Chance) -> bytes:
    one, other = chance.sample(range(len(model.tensors)), 2)
    first, second = model.tensors[one], model.tensors[other]
    if chance.random() < 0.5:
        model.tensors[one], model.tensors[other] = second, first
    else:
        model.tensors[one] = first._replace(name=second.name)
        model.tensors[other] = second._replace(name=first.name)
    return model.written()


def nonsense(model: Gguf, chance: Chance) -> bytes:
    """Weights that are no numbers, or all the same."""
    one = chance.choice(model.tensors)
    size = 4 * math.prod(one.shape)
    values = (math.nan, math.inf, -math.inf, 0.0, 1e38)
    piece = struct.pack("<f", chance.choice(values)) * (size // 4)
    model.data = model.data[: one.offset] + piece + model.data[one.offset + size :]
    return model.written()
