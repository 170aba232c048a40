"""Whatever the descriptions of tensors hold, the answer is words, never an exception and never much memory."""

import struct
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.hub.extent import problem
from app.sizing.header import Header

numbers = st.integers(0, 1 << 64).map(lambda n: min(n, (1 << 64) - 1)) | st.integers(0, 70_000)


def answer(data: bytes, header: Header) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(data)
        return problem(path, header)


@given(st.binary(max_size=300), numbers, numbers)
def test_any_bytes_get_words_or_pass(data: bytes, tensors: int, alignment: int) -> None:
    found = answer(data, Header({"general.alignment": alignment}, tensors=tensors))
    assert tensors == 0 or found or len(data) >= tensors * 24


@given(st.lists(st.tuples(st.sampled_from([(0, 1, 4), (8, 32, 34), (12, 256, 144)]), st.integers(1, 40)), max_size=5), st.integers(0, 200))  # fmt: skip
def test_a_file_is_whole_from_its_last_byte_on(tensors: list[tuple[tuple[int, int, int], int]], lacking: int) -> None:  # fmt: skip
    infos, at = b"", 0
    for (kind, each, length), blocks in tensors:
        infos += struct.pack("<Q1sIQIQ", 1, b"t", 1, each * blocks, kind, at)
        at += length * blocks
    infos += bytes(-len(infos) % 32)
    whole = infos + bytes(at)
    header = Header(tensors=len(tensors))
    assert answer(whole, header) == ""
    cut = min(lacking, at)
    assert answer(whole[: len(whole) - cut], header).startswith("it was cut short") == (cut > 0)
