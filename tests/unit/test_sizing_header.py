"""The head of a GGUF file: what it says, and what a damaged or hostile one does."""

import contextlib
import struct
from pathlib import Path

import gguf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import ModelError
from app.sizing.footprint import footprint
from app.sizing.header import Header, read_header


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("header") / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_head_count([4, 8])
    writer.add_token_list(["a", "bc", ""] * 1000)
    writer.add_token_scores([0.5] * 3000)
    writer.add_token_types([1] * 5000)
    writer.add_chat_template("x" * 100_000)
    writer.add_bool("llama.yes", True)
    writer.add_float32("llama.half", 0.5)
    writer.add_vocab_size(9)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_it_keeps_what_describes_the_model(file: Path) -> None:
    header = read_header(file)
    assert header.architecture == "llama"
    assert header.number("block_count") == 2
    assert header.number("vocab_size") == 9
    assert header.number("missing", 7) == 7
    assert header.values["llama.half"] == 0.5
    assert header.by_layer("attention.head_count", 2) == (4, 8)
    assert header.by_layer("block_count", 3) == (2, 2, 2)
    assert header.has("attention.head_count")
    assert not header.has("attention.head_count_kv")


def test_it_counts_vocabularies_and_passes_over_what_is_long(file: Path) -> None:
    header = read_header(file)
    assert header.lengths["tokenizer.ggml.tokens"] == 3000
    assert "tokenizer.ggml.tokens" not in header.arrays
    assert "tokenizer.ggml.token_type" not in header.arrays
    assert len(header.arrays["tokenizer.ggml.scores"]) == 3000
    assert "tokenizer.chat_template" not in header.values


def test_an_array_that_is_not_of_whole_numbers_says_nothing_of_layers() -> None:
    values = {"general.architecture": "llama"}
    for told in ((float("nan"), 1.0), (1, 2.5), (float("inf"),) * 2):
        header = Header(values, arrays={"llama.attention.head_count": told})
        assert header.by_layer("attention.head_count", 2, 5) == (5, 5)
        assert footprint(header, 1_000).weights == 1_000


def test_a_truth_value_is_no_number(file: Path) -> None:
    assert read_header(file).number("yes", 3) == 3


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_that_ends_too_early_is_refused(file: Path, tmp_path: Path, share: float) -> None:
    data = file.read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ModelError, match=r"cut\.gguf"):
        read_header(cut)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(8, 4000), value=st.binary(min_size=1, max_size=9))
def test_a_damaged_file_is_read_or_refused(
    file: Path, tmp_path: Path, place: int, value: bytes
) -> None:
    data = bytearray(file.read_bytes())
    data[place : place + len(value)] = value
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(data)
    with contextlib.suppress(ModelError):
        assert isinstance(read_header(damaged).number("block_count"), int)


def head(keys: int, rest: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, keys) + rest


def key(kind: int) -> bytes:
    return struct.pack("<Q", 1) + b"k" + struct.pack("<I", kind)


@pytest.mark.parametrize(
    "data",
    [
        head(1 << 60, b""),
        head(1, struct.pack("<Q", 1 << 62) + b"k"),
        head(1, key(8) + struct.pack("<Q", 1 << 62)),
        head(1, key(9) + struct.pack("<IQ", 8, 1 << 62)),
        head(1, key(9) + struct.pack("<IQ", 4, 1 << 62)),
        head(1, key(9) + struct.pack("<IQ", 9, 1)),
        head(1, key(99)),
    ],
    ids=("keys", "key", "text", "texts", "numbers", "nested", "unknown"),
)
def test_no_length_is_believed(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError, match="damaged"):
        read_header(path)


def test_endless_empty_texts_are_given_up(tmp_path: Path) -> None:
    """A file of zeros may hold as many empty texts as it has room for."""
    path = tmp_path / "zeros.gguf"
    with path.open("wb") as file:
        file.write(head(1, key(9) + struct.pack("<IQ", 8, 5_000_000)))
        file.truncate(50_000_000)
    with pytest.raises(ModelError, match="5,000,000 texts"):
        read_header(path)


def test_what_is_no_model_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello, hello")
    with pytest.raises(ModelError, match="not a model in the GGUF format"):
        read_header(tmp_path / "a.txt")
