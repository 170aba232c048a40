"""What is read of a GGUF file, and what is refused (cases 17, 22, 23)."""

from pathlib import Path

import pytest

from app import modelfile, wire
from app.dialogue import ChatLine
from app.errors import ModelError
from app.text.session import TextSession
from app.text.vocabulary import LlamaVocabulary
from tests.tiny_text import (
    CHATML,
    blank_vocabulary,
    number_value,
    text_value,
    tiny_vocabulary,
    with_metadata,
)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return tiny_vocabulary(tmp_path / "tiny.gguf")


def test_pieces_and_special_tokens(tiny: Path) -> None:
    vocabulary = LlamaVocabulary(tiny)
    control = {text: vocabulary.control.id(text) for text in vocabulary.control.texts()}
    assert set(control) == {
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
        "<filename>",
        "<s>",
        "</s>",
    }
    assert all(vocabulary.vocabulary.piece(token) == b"" for token in control.values())
    assert vocabulary.end_tokens == tuple(
        control[text] for text in ("<|im_end|>", "<|endoftext|>", "</s>")
    )
    assert (vocabulary.bos, vocabulary.eos) == (control["<|endoftext|>"], control["<|im_end|>"])
    assert vocabulary.text(vocabulary.bos) == "<|endoftext|>"
    assert vocabulary.text(None) == ""
    assert not vocabulary.add_bos
    assert vocabulary.templates == {"": CHATML.encode()}


@pytest.mark.parametrize(
    "text", ["", "hello hello\n\n", "<s></s><|im_end|>", "é你😀\x00\x01", "x" * 1_000_000]
)
def test_mere_text_comes_back_byte_for_byte(tiny: Path, text: str) -> None:
    vocabulary = LlamaVocabulary(tiny)
    assert vocabulary.vocabulary.join(vocabulary.tokenize(text)) == text.encode()


def test_control_tokens_only_in_rendered_text(tiny: Path) -> None:
    vocabulary = LlamaVocabulary(tiny)
    token = vocabulary.control.id("<|im_end|>")
    assert token in vocabulary.tokenize_rendered("a<|im_end|>")
    assert token not in vocabulary.tokenize("a<|im_end|>")


def test_no_blank_is_put_before_text_that_goes_on(tmp_path: Path) -> None:
    vocabulary = LlamaVocabulary(blank_vocabulary(tmp_path / "blank.gguf", template=None))
    join = vocabulary.vocabulary.join
    assert join(vocabulary.tokenize("he")) == b" he"
    for text in ("he", " he", "\nx", "é", "\x01"):
        assert join(vocabulary.tokenize(text, inside=True)) == text.encode()
    assert vocabulary.templates == {}


@pytest.mark.parametrize("number", [3, 4294967295, None])
def test_a_wrong_end_token_does_no_harm(tiny: Path, tmp_path: Path, number: int | None) -> None:
    value = None if number is None else number_value(number)
    path = with_metadata(tiny, tmp_path / "eos.gguf", {"tokenizer.ggml.eos_token_id": value})
    vocabulary = LlamaVocabulary(path)
    assert vocabulary.control.id("<|im_end|>") in vocabulary.end_tokens
    assert all(0 <= token < vocabulary.size for token in vocabulary.end_tokens)
    assert vocabulary.eos is None or 0 <= vocabulary.eos < vocabulary.size


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        (text_value(b"\xff\xfe"), b"\xff\xfe"),
        (number_value(7), b"7"),
        (text_value("x" * 100_000), b"x" * 100_000),
        (text_value(""), b""),
    ],
)
def test_oddly_typed_templates_are_read_as_bytes(
    tiny: Path, tmp_path: Path, value: tuple[int, bytes], raw: bytes
) -> None:
    key = "tokenizer.chat_template"
    path = with_metadata(tiny, tmp_path / "odd.gguf", {key: value, f"{key}.tool_use": value})
    assert LlamaVocabulary(path).templates == {"": raw, "tool_use": raw}


def test_files_that_are_no_models_are_refused_with_a_reason(tmp_path: Path) -> None:
    text = tmp_path / "notes.gguf"
    text.write_text("not a model")
    for path, reason in (
        (text, "not a model in the GGUF format"),
        (tmp_path, "is a folder"),
        (tmp_path / "gone.gguf", "no file"),
        (tmp_path / ("x" * 300), "cannot be read"),
        (Path("a\0b"), "cannot be read"),
    ):
        with pytest.raises(ModelError, match=reason):
            modelfile.check(path)


def test_a_damaged_file_and_one_without_vocabulary_are_refused(tiny: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny.read_bytes()[:400])
    with pytest.raises(ModelError, match=r"cut\.gguf.*cannot be loaded"):
        LlamaVocabulary(cut)
    none = with_metadata(
        tiny, tmp_path / "none.gguf", {"tokenizer.ggml.model": text_value("no_vocab")}
    )
    with pytest.raises(ModelError, match="no vocabulary"):
        LlamaVocabulary(none)
    unknown = with_metadata(
        tiny, tmp_path / "pre.gguf", {"tokenizer.ggml.pre": text_value("from-the-future")}
    )
    with pytest.raises(ModelError, match="from-the-future"):
        LlamaVocabulary(unknown)


def test_a_table_without_tokens_for_a_text_costs_that_text_only(tiny: Path, tmp_path: Path) -> None:
    # Read as one of this kind, a byte-level vocabulary spells some characters otherwise.
    changes = {"tokenizer.ggml.model": text_value("rwkv")}
    session = TextSession(with_metadata(tiny, tmp_path / "other.gguf", changes))
    words = "has no token for a part of this text"
    rendered = session.render(wire.Render(1, (ChatLine("user", "hello \U0001f600"),)))
    assert isinstance(rendered, wire.TextFailed)
    assert words in rendered.reason
    counted = session.count(wire.Tokenize(2, "\U0001f600"))
    assert isinstance(counted, wire.TextFailed)
    assert words in counted.reason
    assert session.count(wire.Tokenize(3, "hello")) == wire.Tokenized(3, 1)


def test_closing_twice_is_fine(tiny: Path) -> None:
    vocabulary = LlamaVocabulary(tiny)
    vocabulary.close()
    vocabulary.close()
