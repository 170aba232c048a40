"""What the check of a file finds, without its process: none of these files ends the one it runs in."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import ModelError
from app.trial.examination import examine
from tests import tiny_models
from tests.gguf_bytes import Entry, Gguf, number, parts, text

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny_models.talker(tmp_path_factory.mktemp("talker") / "m.gguf").read_bytes()


def found(path: Path, data: bytes) -> str:
    """Why it is refused, "" where it is sound."""
    path.write_bytes(data)
    told: list[float] = []
    try:
        examine(path, told.append)
    except ModelError as error:
        return error.what if error.remedy else "refused without a remedy"
    assert told == sorted(told)
    assert told[-1] == 1.0
    return ""


@pytest.mark.parametrize("kind", tiny_models.KINDS)
def test_a_good_model_of_every_kind_is_sound(kind: str, tmp_path: Path) -> None:
    path = tiny_models.talker(tmp_path / "m.gguf", kind)
    assert found(path, path.read_bytes()) == ""


def test_a_model_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    tiny_models.attention(tmp_path / "m.gguf")
    with pytest.raises(ModelError, match="has no vocabulary"):
        examine(tmp_path / "m.gguf", lambda _: None)


def _nan(model: Gguf) -> None:
    one = next(tensor for tensor in model.tensors if tensor.name == b"output_norm.weight")
    rest = model.data[one.offset + 4 :]
    model.data = model.data[: one.offset] + struct.pack("<f", float("nan")) + rest


def _short(model: Gguf) -> None:
    model.put(Entry(b"llama.context_length", 4, number(4, 2)))


def _without_bytes(model: Gguf) -> None:
    model.put(Entry(b"tokenizer.ggml.model", 8, text("rwkv")))


def _refusing_template(model: Gguf) -> None:
    model.put(Entry(b"tokenizer.chat_template", 8, text("{{ raise_exception('no') }}")))


def _overlap(model: Gguf) -> None:
    model.tensors[1] = model.tensors[1]._replace(offset=model.tensors[0].offset)


def _endless_template(model: Gguf) -> None:
    endless = "{% for a in range(10**9) %}{% for b in range(10**9) %}{% endfor %}{% endfor %}"
    model.put(Entry(b"tokenizer.chat_template", 8, text(endless)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_nan, "what it computes are no numbers"),
        (_short, "its chats would hold 2 tokens at most"),
        (_overlap, "two tensors overlap"),
        (_without_bytes, "its vocabulary has no tokens for ordinary text"),
        (_refusing_template, ""),
        (_endless_template, ""),
    ],
)
def test_what_is_wrong_is_said(
    talker: bytes, tmp_path: Path, change: Callable[[Gguf], None], words: str
) -> None:
    """A template that does not work is no reason: another format is used in its place."""
    model = parts(talker)
    change(model)
    what = found(tmp_path / "m.gguf", model.written())
    assert words in what
    assert bool(what) == bool(words)


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_file_that_was_cut_short_is_named(talker: bytes, tmp_path: Path, share: float) -> None:
    assert "cut short" in found(tmp_path / "m.gguf", talker[: int(share * len(talker))])


def test_a_split_model_is_looked_at_in_all_its_parts(talker: bytes, tmp_path: Path) -> None:
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(talker[:-1])
    what = found(tmp_path / "m-00001-of-00002.gguf", talker)
    assert "m-00002-of-00002.gguf" in what
    assert "cut short" in what
