"""A GGUF file taken apart and put together again, so that a test can break any part of it and keep the rest right.

`parts` reads a good file; `Gguf.written` writes one, whatever it holds; `Gguf.laid_out` says besides where each field is.
"""

import struct
from dataclasses import dataclass
from typing import NamedTuple

SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "B",
    10: "Q",
    11: "q",
    12: "d",
}
"""The codes of `struct` for the kinds of numbers."""
TEXT, ARRAY = 8, 9


class Entry(NamedTuple):
    """A key with its value: `kind` is GGUF's number for what `raw` is, as it stands in the file."""

    key: bytes
    kind: int
    raw: bytes


class Tensor(NamedTuple):
    """The description of a tensor; `offset` counts from the start of all data."""

    name: bytes
    shape: tuple[int, ...]
    kind: int
    offset: int


class Mark(NamedTuple):
    """A field of a written file: what it is, where it starts and how many bytes it has."""

    what: str
    start: int
    size: int


@dataclass
class Gguf:
    """A file in parts; to be changed at will."""

    entries: list[Entry]
    tensors: list[Tensor]
    data: bytes
    version: int = 3
    alignment: int = 32

    def index(self, key: bytes) -> int | None:
        return next((i for i, entry in enumerate(self.entries) if entry.key == key), None)

    def put(self, entry: Entry) -> None:
        """In place of the one with this key, or as a new one."""
        at = self.index(entry.key)
        if at is None:
            self.entries.append(entry)
        else:
            self.entries[at] = entry

    def written(self) -> bytes:
        """The file."""
        return self.laid_out()[0]

    def laid_out(self) -> tuple[bytes, list[Mark], int]:
        """The file, its fields in order, and where its data begin."""
        writer = _Writer()
        writer.add("magic", b"GGUF")
        writer.number("version", "I", self.version)
        writer.number("count of tensors", "Q", len(self.tensors))
        writer.number("count of entries", "Q", len(self.entries))
        for entry in self.entries:
            writer.text("key", entry.key)
            writer.number("kind of a value", "I", entry.kind)
            writer.value(entry)
        for tensor in self.tensors:
            writer.text("name", tensor.name)
            writer.number("count of dimensions", "I", len(tensor.shape))
            for size in tensor.shape:
                writer.number("dimension", "Q", size)
            writer.number("kind of a tensor", "I", tensor.kind)
            writer.number("offset", "Q", tensor.offset)
        writer.add("padding", bytes(-len(writer.out) % self.alignment))
        start = len(writer.out)
        return bytes(writer.out) + self.data, writer.marks, start


class _Writer:
    def __init__(self) -> None:
        self.out = bytearray()
        self.marks: list[Mark] = []

    def add(self, what: str, data: bytes) -> None:
        self.marks.append(Mark(what, len(self.out), len(data)))
        self.out += data

    def number(self, what: str, code: str, value: int) -> None:
        self.add(what, struct.pack(f"<{code}", value))

    def text(self, what: str, data: bytes) -> None:
        self.number(f"length of a {what}", "Q", len(data))
        self.add(what, data)

    def value(self, entry: Entry) -> None:
        """An array's kind and count, and a text's length, are fields of their own."""
        if entry.kind == TEXT:
            self.add("length of a text", entry.raw[:8])
            self.add("text", entry.raw[8:])
        elif entry.kind == ARRAY:
            self.add("kind of an array", entry.raw[:4])
            self.add("length of an array", entry.raw[4:12])
            self.add("array", entry.raw[12:])
        else:
            self.add("number", entry.raw)


def text(value: bytes | str) -> bytes:
    """As it stands in a file."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def texts(values: list[bytes]) -> bytes:
    """An array of texts."""
    return struct.pack("<IQ", TEXT, len(values)) + b"".join(map(text, values))


def number(kind: int, value: float) -> bytes:
    """A number of this kind, cut to what fits."""
    code = SCALARS[kind]
    if code in "fd":
        return struct.pack(f"<{code}", float(value))
    return (int(value) & (1 << 8 * struct.calcsize(code)) - 1).to_bytes(
        struct.calcsize(code), "little"
    )


def parts(data: bytes) -> Gguf:
    """Take a good file apart."""
    reader = _Reader(data)
    _, version, tensors, entries = reader.take("4sIQQ")
    kept = Gguf([reader.entry() for _ in range(entries)], [], b"", version)
    kept.tensors = [reader.tensor() for _ in range(tensors)]
    kept.data = data[reader.at + -reader.at % kept.alignment :]
    return kept


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, code: str) -> tuple:
        found = struct.unpack_from(f"<{code}", self.data, self.at)
        self.at += struct.calcsize(f"<{code}")
        return found

    def text(self) -> bytes:
        (size,) = self.take("Q")
        self.at += size
        return self.data[self.at - size : self.at]

    def entry(self) -> Entry:
        key = self.text()
        (kind,) = self.take("I")
        start = self.at
        self.skip(kind)
        return Entry(key, kind, self.data[start : self.at])

    def skip(self, kind: int) -> None:
        if kind == TEXT:
            self.text()
        elif kind == ARRAY:
            each, count = self.take("IQ")
            for _ in range(count):
                self.skip(each)
        else:
            self.take(SCALARS[kind])

    def tensor(self) -> Tensor:
        name = self.text()
        (dimensions,) = self.take("I")
        shape = self.take(f"{dimensions}Q")
        kind, offset = self.take("IQ")
        return Tensor(name, shape, kind, offset)


def items(entry: Entry) -> list[bytes]:
    """The texts of an array of texts."""
    reader = _Reader(entry.raw)
    _, count = reader.take("IQ")
    return [reader.text() for _ in range(count)]
