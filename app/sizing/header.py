"""The facts at the head of a GGUF file, read without llama.cpp.

Only what describes the model is kept; vocabularies are counted and passed over.  A file may be damaged or hostile, so
that nothing in it is believed: every length is bounded, and what is wrong is a ModelError.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from app import modelfile, plainfile
from app.errors import ModelError

Value = int | float | bool | str
Values = tuple[int | float | bool, ...]

_MOST_KEYS = 65_536
_MOST_KEY_BYTES = 1024
_MOST_TEXT_BYTES = 65_536
_MOST_KEPT = 4096
"""Elements of an array of numbers that is kept: one for each layer, and never a score for each token."""
_MOST_SIZE = 1 << 31
_MOST_LAYERS = 1024
_MOST_ITEMS = 4_000_000
"""Texts in all arrays together; the largest vocabularies have a sixteenth of it."""

_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_TEXT, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class Header:
    """`values` and `arrays` by key, and the `lengths` of all arrays, those that were passed over too.

    The descriptions of so many `tensors` begin at byte `end` of the file.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    arrays: Mapping[str, Values] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)
    tensors: int = 0
    end: int = 0

    @property
    def architecture(self) -> str:
        name = self.values.get("general.architecture", "")
        return name if isinstance(name, str) else ""

    def number(self, key: str, default: int = 0) -> int:
        """The whole number under `ARCHITECTURE.key`; `default` where there is none."""
        value = self.values.get(f"{self.architecture}.{key}")
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def size(self, key: str, default: int = 0) -> int:
        """The same where it says how many: within bounds, whatever the file says."""
        return max(0, min(self.number(key, default), _MOST_SIZE))

    @property
    def layers(self) -> int:
        return min(self.size("block_count"), _MOST_LAYERS)

    def widest(self, key: str) -> int:
        """The largest of the sizes under `key`, of which there may be one for each layer."""
        return max(0, min(max(self.by_layer(key, self.layers), default=0), _MOST_SIZE))

    def by_layer(self, key: str, layers: int, default: int = 0) -> tuple[int, ...]:
        """One whole number for each layer, from an array or from a number that holds for all."""
        values = self.arrays.get(f"{self.architecture}.{key}", ())
        own = values[:layers]
        if len(own) == layers and all(isinstance(value, int) for value in own):
            return tuple(int(value) for value in own)
        return (self.number(key, default),) * layers

    def has(self, key: str) -> bool:
        name = f"{self.architecture}.{key}"
        return name in self.values or name in self.lengths


def read_header(path: Path) -> Header:
    """Raises ModelError where the file is not a GGUF file or its head is damaged."""
    modelfile.check(path)
    try:
        with plainfile.opened(path, buffering=1 << 20) as file:
            return _Reader(file, path.stat().st_size).header()
    except (_DamagedError, OSError) as error:
        raise ModelError(
            f"“{path.name}” cannot be used: the head of the file is damaged ({error}).",
            "Get the file again.",
        ) from error


class _DamagedError(Exception):
    """Says what is wrong with the file."""


class _Reader:
    """Reads `file` from its start; `size` are its bytes."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size
        self._items = 0
        self._values: dict[str, Value] = {}
        self._arrays: dict[str, Values] = {}
        self._lengths: dict[str, int] = {}

    def header(self) -> Header:
        self._skip(8)  # the magic and the version, which `modelfile.check` has seen
        tensors = int(self._unpack("Q"))
        keys = self._count(_MOST_KEYS, "keys")
        for _ in range(keys):
            key = self._bytes(self._count(_MOST_KEY_BYTES, "bytes of a key")).decode(
                "utf-8", "replace"
            )
            self._entry(key, self._unpack("I"))
        return Header(self._values, self._arrays, self._lengths, tensors, self._file.tell())

    def _entry(self, key: str, kind: int | float) -> None:
        if kind == _ARRAY:
            self._array(key, self._unpack("I"), self._count(self._left, "elements"))
        elif kind == _TEXT:
            self._text(key)
        elif kind in _NUMBERS:
            self._values[key] = self._unpack(_NUMBERS[int(kind)])
        else:
            raise _DamagedError(f"a value of the unknown kind {kind}")

    def _text(self, key: str) -> None:
        size = self._count(self._left, "bytes")
        if size > _MOST_TEXT_BYTES:
            self._skip(size)
        else:
            self._values[key] = self._bytes(size).decode("utf-8", "replace")

    def _array(self, key: str, kind: int | float, count: int) -> None:
        self._lengths[key] = count
        if kind == _TEXT:
            self._items += count
            if self._items > _MOST_ITEMS:
                raise _DamagedError(f"{self._items:,} texts")
            for _ in range(count):
                self._skip(self._count(self._left, "bytes"))
            return
        if kind not in _NUMBERS:
            raise _DamagedError(f"an array of the unknown kind {kind}")
        code = _NUMBERS[int(kind)]
        if count > _MOST_KEPT:
            self._skip(count * struct.calcsize(f"<{code}"))
            return
        data = self._bytes(count * struct.calcsize(f"<{code}"))
        self._arrays[key] = struct.unpack(f"<{count}{code}", data)

    def _unpack(self, code: str) -> int | float:
        data = self._bytes(struct.calcsize(f"<{code}"))
        value: int | float = struct.unpack(f"<{code}", data)[0]
        return value

    def _count(self, most: int, what: str) -> int:
        count = int(self._unpack("Q"))
        if count > most:
            raise _DamagedError(f"{count:,} {what}")
        return count

    def _bytes(self, size: int) -> bytes:
        self._take(size)
        data = self._file.read(size)
        if len(data) < size:
            raise _DamagedError("it ends too early")
        return data

    def _skip(self, size: int) -> None:
        self._take(size)
        self._file.seek(size, 1)

    def _take(self, size: int) -> None:
        if size > self._left:
            raise _DamagedError("it ends too early")
        self._left -= size
