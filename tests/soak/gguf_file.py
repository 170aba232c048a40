"""A GGUF file taken apart, so that any part of it can be put back wrong."""

import io
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tests.tiny_text import Value, _read_string, _read_value

ALIGNMENT = 32
NUMBER, SIGNED, FLOAT, TEXT, ARRAY = 4, 5, 6, 8, 9


@dataclass(frozen=True, slots=True)
class Tensor:
    """The description of one: `offset` counts from where the data begin."""

    name: bytes
    shape: tuple[int, ...]
    kind: int
    offset: int

    def packed(self) -> bytes:
        sizes = struct.pack(f"<I{len(self.shape)}Q", len(self.shape), *self.shape)
        return _length(self.name) + sizes + struct.pack("<IQ", self.kind, self.offset)


@dataclass(frozen=True, slots=True)
class GgufFile:
    """Its parts; a key may come twice."""

    values: tuple[tuple[bytes, Value], ...]
    tensors: tuple[Tensor, ...]
    data: bytes
    version: int = 3
    magic: bytes = b"GGUF"

    def with_value(self, key: str, value: Value | None) -> "GgufFile":
        """With another value under this key, in its place; None takes it out."""
        name = key.encode()
        kept = [(old, value if old == name else former) for old, former in self.values]
        if name not in dict(self.values):
            kept.append((name, value))
        return replace(self, values=tuple((old, one) for old, one in kept if one is not None))

    def value(self, key: str) -> Value | None:
        return dict(self.values).get(key.encode())

    @property
    def keys(self) -> list[str]:
        return [key.decode() for key, _ in self.values]

    def packed(self, tensors: int | None = None, keys: int | None = None) -> bytes:
        """The file; its head may lie about how much there is."""
        head = struct.pack(
            "<4sIQQ",
            self.magic,
            self.version,
            len(self.tensors) if tensors is None else tensors,
            len(self.values) if keys is None else keys,
        )
        pairs = [_length(key) + struct.pack("<I", kind) + raw for key, (kind, raw) in self.values]
        front = head + b"".join(pairs) + b"".join(one.packed() for one in self.tensors)
        return front + bytes(-len(front) % ALIGNMENT) + self.data


def read(data: bytes) -> GgufFile:
    """Take a good file apart."""
    file = io.BytesIO(data)
    magic, version, tensors, keys = struct.unpack("<4sIQQ", file.read(24))
    values: list[tuple[bytes, Value]] = []
    for _ in range(keys):
        key = _read_string(file)[8:]
        (kind,) = struct.unpack("<I", file.read(4))
        values.append((key, (kind, _read_value(file, kind))))
    found = tuple(_tensor(file) for _ in range(tensors))
    start = -(-file.tell() // ALIGNMENT) * ALIGNMENT
    return GgufFile(tuple(values), found, data[start:], version, magic)


def _tensor(file: io.BytesIO) -> Tensor:
    name = _read_string(file)[8:]
    (count,) = struct.unpack("<I", file.read(4))
    shape = struct.unpack(f"<{count}Q", file.read(8 * count))
    kind, offset = struct.unpack("<IQ", file.read(12))
    return Tensor(name, shape, kind, offset)


def texts(items: Iterable[bytes]) -> Value:
    """An array of texts."""
    rows = [_length(item) for item in items]
    return ARRAY, struct.pack("<IQ", TEXT, len(rows)) + b"".join(rows)


def numbers(items: Iterable[int]) -> Value:
    """An array of whole numbers of 32 bits."""
    rows = list(items)
    return ARRAY, struct.pack(f"<IQ{len(rows)}i", SIGNED, len(rows), *rows)


def floats(items: Iterable[float]) -> Value:
    """An array of numbers."""
    rows = list(items)
    return ARRAY, struct.pack(f"<IQ{len(rows)}f", FLOAT, len(rows), *rows)


def items(value: Value) -> list[bytes]:
    """The texts of an array of texts."""
    file = io.BytesIO(value[1])
    _, count = struct.unpack("<IQ", file.read(12))
    return [_read_string(file)[8:] for _ in range(count)]


def _length(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text
