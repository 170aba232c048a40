"""How many bytes a GGUF file must have, by the descriptions of its tensors: a file that was cut short is found here.

They follow the keys (`Header.end`): of each tensor its name, its dimensions, its type and where its data begin.
Nothing of it is believed: every number is bounded before it is used.
"""

import math
import struct
from pathlib import Path
from typing import BinaryIO

from app.hub.words import size as in_words
from app.sizing.header import Header

BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66), 17: (256, 74),
    18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2),
    26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip
"""Values and bytes of a block, by ggml's number of the type."""

_MOST_TENSORS = 65_536
_MOST_NAME = 1024
_MOST_DIMENSIONS = 4
_MOST_VALUES = 1 << 50
_MOST_ALIGNMENT = 1 << 20


class _DamagedError(Exception):
    """Says what is wrong with the descriptions."""


def problem(path: Path, header: Header) -> str:
    """Why the file cannot be whole, in words; "" where it can."""
    try:
        needed = _needed(path, header)
        there = path.stat().st_size
    except _DamagedError as error:
        return f"its list of tensors is damaged ({error})"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if there < needed:
        return f"it was cut short: {in_words(there)} of at least {in_words(needed)} are there"
    return ""


def _needed(path: Path, header: Header) -> int:
    if header.tensors > _MOST_TENSORS:
        raise _DamagedError(f"{header.tensors:,} tensors")
    with path.open("rb") as file:
        file.seek(header.end)
        ends = [_tensor(file) for _ in range(header.tensors)]
        at = file.tell()
    start = -(-at // _alignment(header)) * _alignment(header)
    return start + max(ends) if ends else at


def _alignment(header: Header) -> int:
    told = header.values.get("general.alignment", 32)
    if not isinstance(told, int) or not 0 < told <= _MOST_ALIGNMENT or told & (told - 1):
        raise _DamagedError("its alignment is no power of two")
    return told


def _tensor(file: BinaryIO) -> int:
    """Where the data of the next tensor end, counted from the start of all data."""
    length = _number(file, "Q")
    if length > _MOST_NAME:
        raise _DamagedError(f"a name of {length:,} bytes")
    _read(file, length)
    count = _number(file, "I")
    if count > _MOST_DIMENSIONS:
        raise _DamagedError(f"{count:,} dimensions")
    shape = [_number(file, "Q") for _ in range(count)]
    kind, offset = _number(file, "I"), _number(file, "Q")
    values = math.prod(shape)
    if values > _MOST_VALUES or offset > _MOST_VALUES:
        raise _DamagedError("a tensor of an impossible size")
    each, length = BLOCKS.get(
        kind, (1, 0)
    )  # of a type that is newer than this table nothing is known
    return offset + -(-values // each) * length


def _number(file: BinaryIO, code: str) -> int:
    (number,) = struct.unpack(f"<{code}", _read(file, struct.calcsize(f"<{code}")))
    return int(number)


def _read(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise _DamagedError("the file ends within it")
    return data
