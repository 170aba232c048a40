"""Names of strangers: understood or refused, and never a way out of the models folder."""

import string
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import HubError
from app.hub import names
from app.hub.names import Kind, Reference

words = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=20)
hostile = st.text(st.sampled_from("./\\:~ \0\n\u202eabCON*?"), max_size=30) | st.text(max_size=30)


@given(hostile | st.lists(hostile, max_size=4).map("/".join))
def test_a_file_stays_below_its_folder_on_every_system(name: str) -> None:
    try:
        path = names.safe_path(name)
    except HubError:
        return
    assert not path.is_absolute()
    assert ".." not in path.parts
    assert str(path) == name
    for part in path.parts:
        windows = PureWindowsPath(part)
        assert not windows.drive
        assert not windows.root
        assert part not in {"", ".", ".."}
    assert (Path("/models") / path).is_relative_to("/models")


@pytest.mark.parametrize(
    "name",
    ["../x.gguf", "/etc/x", "a/../../x", "C:\\x", "C:x", "\\\\host\\share\\x", "a//b", "", "a/.", "con.gguf",
     "a/NUL", "x.gguf ", "x.", "a\0b", "a\nb", "\u202efugg.x", "x" * 300, "\ud800.gguf"],
)  # fmt: skip
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(HubError):
        names.safe_path(name)


@pytest.mark.parametrize("name", ["m.gguf", "Q4/m-00001-of-00002.gguf", "Модель 7B (v2).gguf", "a+b.gguf"])  # fmt: skip
def test_names_that_are_kept(name: str) -> None:
    assert names.safe_path(name) == PurePosixPath(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("o/r", Reference("o/r")),
        ("  o/r ", Reference("o/r")),
        ("o/r:Q4_K_M", Reference("o/r", tag="Q4_K_M")),
        ("hf.co/o/r:Q8_0", Reference("o/r", tag="Q8_0")),
        ("https://huggingface.co/o/r", Reference("o/r")),
        ("huggingface.co/o/r/", Reference("o/r")),
        ("https://huggingface.co/o/r/tree/main", Reference("o/r", revision="main")),
        ("https://huggingface.co/o/r/blob/main/a/m%20x.gguf", Reference("o/r", "main", "a/m x.gguf")),
        ("https://huggingface.co/o/r/resolve/abc/m.gguf?download=true", Reference("o/r", "abc", "m.gguf")),
        ("hf://o/r", Reference("o/r")),
        ("hf://models/o/r", Reference("o/r")),
        ("https://mirror.example:8443/o/r", Reference("o/r")),
    ],
)  # fmt: skip
def test_addresses_that_are_understood(text: str, expected: Reference) -> None:
    assert names.reference(text, "https://mirror.example:8443") == expected


@pytest.mark.parametrize(
    "text",
    ["", "o", "tiny model", "o/r/x", "https://example.com/o/r", "o/../r", "../r", "o/..", "https://huggingface.co/o",
     "https://[bad", "ftp://huggingface.co/o/r", "o/r\0", "o/r?x", "o/a--b", "o/r.git", "https://huggingface.co", "https://huggingface.co/datasets/o/r",
     "https://huggingface.co/spaces/o/r"],
)  # fmt: skip
def test_addresses_that_are_refused(text: str) -> None:
    with pytest.raises(HubError):
        names.reference(text)
    assert not names.is_reference(text)


@given(st.text(max_size=60))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    names.is_reference(text)
    names.kind_of(text)
    names.quantisation(text)
    names.digest(text)
    assert all(
        letter.isprintable() or letter == " " for letter in names.shown(text) if letter.isascii()
    )


def test_a_name_that_is_not_valid_text_can_be_shown() -> None:
    assert names.shown("bad\udcffname").encode() == b"bad name"


@given(words, st.integers(1, 99_999), st.data())
def test_the_parts_of_a_split_model_belong_together(
    stem: str, count: int, data: st.DataObject
) -> None:
    number = data.draw(st.integers(1, count))
    name = f"{stem}-{number:05d}-of-{count:05d}.gguf"
    part = names.part_of(name)
    assert part == names.Part(stem, number, count)
    assert names.part_name(part, number) == name


@pytest.mark.parametrize("name", ["best-of-breed.gguf", "m-1-of-2.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf", "m.gguf"])  # fmt: skip
def test_names_that_are_whole_files(name: str) -> None:
    assert names.part_of(name) is None
    assert names.kind_of(name) is Kind.MODEL


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("best-of-breed.gguf", Kind.MODEL),
        ("m-00001-of-00003.gguf", Kind.MODEL),
        ("sub/mmproj-f16.gguf", Kind.PROJECTOR),
        ("Model.mmproj-Q8_0.gguf", Kind.PROJECTOR),
        ("imatrix.gguf", Kind.MATRIX),
        ("m.imatrix.dat", Kind.MATRIX),
        ("m.gguf.part1of2", Kind.PIECE),
        ("m.gguf-split-a", Kind.PIECE),
        ("adapter-lora.gguf", Kind.ADAPTER),
        ("explorable.gguf", Kind.MODEL),
        ("eagle3-m.gguf", Kind.DRAFT),
        ("mtp-m.gguf", Kind.DRAFT),
        ("nomic-embed-text.gguf", Kind.EMBEDDING),
        ("README.md", None),
        ("imatrix.txt", None),
    ],
)
def test_kinds_by_name(name: str, kind: Kind | None) -> None:
    assert names.kind_of(name) is kind


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("m-Q4_K_M.gguf", "Q4_K_M"),
        ("m.i1-IQ2_XXS.gguf", "IQ2_XXS"),
        ("m-UD-Q4_K_XL-00001-of-00002.gguf", "UD-Q4_K_XL"),
        ("Q8_0/m-bf16.gguf", "BF16"),
        ("m-fp16.gguf", "F16"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("m.gguf", ""),
        ("Qwen3-4B.gguf", ""),
        ("qwen2.5-0.5b-instruct-q4_k_m.gguf", "Q4_K_M"),
    ],
)
def test_the_label_of_a_quantisation(name: str, label: str) -> None:
    assert names.quantisation(name) == label
