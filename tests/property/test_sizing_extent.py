"""Whatever the descriptions of tensors hold, the answer is words, never an exception and never much memory."""

import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sizing.extent import problem
from app.sizing.header import Header

LLAMA = {"general.architecture": "llama"}
numbers = st.integers(0, 1 << 64).map(lambda n: min(n, (1 << 64) - 1)) | st.integers(0, 70_000)


def answer(data: bytes, header: Header) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(data)
        return problem(path, header)


@given(st.binary(max_size=300), numbers, numbers)
def test_any_bytes_get_words_or_pass(data: bytes, tensors: int, alignment: int) -> None:
    found = answer(data, Header({**LLAMA, "general.alignment": alignment}, tensors=tensors))
    assert tensors == 0 or found or len(data) >= tensors * 24


@given(st.lists(st.tuples(st.sampled_from([(0, 1, 4), (8, 32, 34), (12, 256, 144)]), st.integers(1, 40)), max_size=5), st.integers(0, 200))  # fmt: skip
def test_a_file_is_whole_from_its_last_byte_on(tensors: list[tuple[tuple[int, int, int], int]], lacking: int) -> None:  # fmt: skip
    infos, at = b"", 0
    for number, ((kind, each, length), blocks) in enumerate(tensors):
        at += -at % 32
        infos += struct.pack("<Q1sIQIQ", 1, b"%d" % number, 1, each * blocks, kind, at)
        at += length * blocks
    infos += bytes(-len(infos) % 32)
    whole = infos + bytes(at)
    header = Header(LLAMA, tensors=len(tensors))
    assert answer(whole, header) == ""
    cut = min(lacking, at)
    assert answer(whole[: len(whole) - cut], header).startswith("it was cut short") == (cut > 0)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ((b"b", (8,), 0, 32), ""),
        ((b"b", (8,), 0, 0), "two tensors overlap"),
        ((b"b", (8,), 0, 16), "begins at an odd place"),
        ((b"a", (8,), 0, 32), "two tensors have the same name"),
        ((b"b", (16, 2), 8, 32), "a row that ends within a block"),
        ((b"b", (1 << 40, 1 << 40), 0, 32), "impossible size"),
        ((b"b", (1, 1, 1, 1, 1), 0, 32), "5 dimensions"),
    ],
)
def test_tensors_that_cannot_lie_so_are_named(second: tuple[bytes, tuple[int, ...], int, int], words: str) -> None:  # fmt: skip
    data = b""
    for name, shape, kind, offset in ((b"a", (8,), 0, 0), second):
        data += struct.pack(f"<Q{len(name)}sI{len(shape)}QIQ", len(name), name, len(shape), *shape, kind, offset)  # fmt: skip
    found = answer(data + bytes(-len(data) % 32) + bytes(64), Header(LLAMA, tensors=2))
    assert words in found
    assert bool(found) == bool(words)


@pytest.mark.parametrize("key", ["general.architecture", "general.type", "split.no"])
def test_a_head_says_what_it_is_of(key: str) -> None:
    assert answer(b"", Header({key: "x"})) == ""
    assert answer(b"", Header({"general.name": "x"})) == "its head does not say what it is"
