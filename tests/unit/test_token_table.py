"""What is asked of all tokens at once is what llama.cpp says of each."""

import ctypes
from pathlib import Path

import pytest

from app.text.token_table import TokenTable
from app.text.vocabulary import LlamaVocabulary
from tests.tiny_text import tiny_vocabulary

LONG = tuple(sign * size for sign, size in zip("lmnop", (63, 64, 65, 300, 1_000), strict=True))


def check(path: Path) -> LlamaVocabulary:
    """Ask for everything of each token by itself, with the binding's own functions."""
    vocabulary = LlamaVocabulary(path)
    api, vocab = vocabulary._llama, vocabulary._vocab
    tokens = range(vocabulary.size)
    room = 2_000
    buffer = ctypes.create_string_buffer(room)
    for token in tokens:
        size = api.llama_token_to_piece(vocab, token, buffer, room, 0, False)
        assert vocabulary.vocabulary.piece(token) == buffer[:size]
    table = TokenTable(api, vocab, vocabulary.size)
    assert table.attributes() == [api.llama_vocab_get_attr(vocab, token) for token in tokens]
    ends = [token for token in tokens if api.llama_vocab_is_eog(vocab, token)]
    assert list(vocabulary.end_tokens) == ends
    assert ends
    return vocabulary


def test_pieces_of_any_length(tmp_path: Path) -> None:
    vocabulary = check(tiny_vocabulary(tmp_path / "tiny.gguf", more=LONG))
    pieces = [vocabulary.vocabulary.piece(token) for token in range(vocabulary.size)]
    assert {text.encode() for text in LONG} <= set(pieces)


@pytest.mark.model
def test_a_real_vocabulary(starter: Path) -> None:
    assert check(starter).size > 40_000
