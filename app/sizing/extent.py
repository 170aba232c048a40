"""Where the tensors of a GGUF file lie, by their descriptions: a file that was cut short, or whose tensors overlap, is
found here, without reading its data.

They follow the keys (`Header.end`): of each tensor its name, its dimensions, its type and where its data begin.
Nothing of it is believed: every number is bounded before it is used.
"""

import math
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from app import plainfile
from app.sizing.header import Header

BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66), 17: (256, 74),
    18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2),
    26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip
"""Values and bytes of a block, by ggml's number of the type."""

_TELLING = ("general.architecture", "general.type", "split.no")
"""One of these keys is in every file: of a model, of what belongs to one, or of a later part of one."""

_MOST_TENSORS = 65_536
_MOST_NAME = 1024
_MOST_DIMENSIONS = 4
_MOST_VALUES = 1 << 50
_MOST_ALIGNMENT = 1 << 20


class _DamagedError(Exception):
    """Says what is wrong with the descriptions."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    """Its data are the bytes [`start`, `end`), counted from the start of all data."""

    name: bytes
    start: int
    end: int


def problem(path: Path, header: Header) -> str:
    """Why the file cannot be whole, in words; "" where it can."""
    if not any(key in header.values for key in _TELLING):
        return "its head does not say what it is"
    try:
        needed = _needed(path, header)
        there = path.stat().st_size
    except _DamagedError as error:
        return f"its list of tensors is damaged ({error})"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if there < needed:
        return f"it was cut short: {there:,} of at least {needed:,} bytes are there"
    return ""


def _needed(path: Path, header: Header) -> int:
    if header.tensors > _MOST_TENSORS:
        raise _DamagedError(f"{header.tensors:,} tensors")
    alignment = _alignment(header)
    with plainfile.opened(path) as file:
        file.seek(header.end)
        tensors = [_tensor(file) for _ in range(header.tensors)]
        at = file.tell()
    _check_places(tensors, alignment)
    start = -(-at // alignment) * alignment
    return start + max(tensor.end for tensor in tensors) if tensors else at


def _alignment(header: Header) -> int:
    told = header.values.get("general.alignment", 32)
    if not isinstance(told, int) or not 0 < told <= _MOST_ALIGNMENT or told & (told - 1):
        raise _DamagedError("its alignment is no power of two")
    return told


def _check_places(tensors: list[_Tensor], alignment: int) -> None:
    if len({tensor.name for tensor in tensors}) < len(tensors):
        raise _DamagedError("two tensors have the same name")
    if any(tensor.start % alignment for tensor in tensors):
        raise _DamagedError("a tensor begins at an odd place")
    in_order = sorted(tensors, key=lambda tensor: (tensor.start, tensor.end))
    if any(one.end > other.start for one, other in pairwise(in_order)):
        raise _DamagedError("two tensors overlap")


def _tensor(file: BinaryIO) -> _Tensor:
    length = _number(file, "Q")
    if length > _MOST_NAME:
        raise _DamagedError(f"a name of {length:,} bytes")
    name = _read(file, length)
    count = _number(file, "I")
    if count > _MOST_DIMENSIONS:
        raise _DamagedError(f"{count:,} dimensions")
    shape = [_number(file, "Q") for _ in range(count)]
    kind, offset = _number(file, "I"), _number(file, "Q")
    values = math.prod(shape)
    if values > _MOST_VALUES or offset > _MOST_VALUES:
        raise _DamagedError("a tensor of an impossible size")
    # Of a type that is newer than this table nothing is known.
    each, length = BLOCKS.get(kind, (1, 0))
    if values % each or (shape and shape[0] % each):
        raise _DamagedError("a row that ends within a block")
    return _Tensor(name, offset, offset + values // each * length)


def _number(file: BinaryIO, code: str) -> int:
    (number,) = struct.unpack(f"<{code}", _read(file, struct.calcsize(f"<{code}")))
    return int(number)


def _read(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise _DamagedError("the file ends within it")
    return data
