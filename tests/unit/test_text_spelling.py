"""Tokens in words: control tokens apart, text across tokens whole, every token by itself."""

from array import array
from itertools import accumulate

from app.prompting import PromptSpan
from app.text.spelling import nameless, spell
from app.text.stream import Vocabulary

PIECES = (b"he", b"llo", b"\xe4\xbd", b"\xa0", b"", b"\n", b"")


def vocabulary() -> Vocabulary:
    return Vocabulary(b"".join(PIECES), array("I", accumulate(map(len, PIECES))).tobytes())


def test_content_is_joined_and_control_tokens_stand_alone() -> None:
    tokens = (4, 0, 1, 2, 3, 4, 6, 5)
    found = spell(tokens, vocabulary(), {4: "<|turn|>", 6: "<s>"})
    assert found.spans == (
        PromptSpan("<|turn|>", control=True),
        PromptSpan("hello你"),
        PromptSpan("<|turn|>", control=True),
        PromptSpan("<s>", control=True),
        PromptSpan("\n"),
    )
    assert found.text == "<|turn|>hello你<|turn|><s>\n"
    assert found.controls == 3
    assert found.tokens == tokens
    assert found.control == {4, 6}


def test_each_token_by_itself_bytes_that_are_no_text_too() -> None:
    found = spell((0, 2, 3, 4), vocabulary(), {4: "<|turn|>"})
    assert found.texts == ("he", "⟨E4 BD⟩", "⟨A0⟩", "<|turn|>")
    assert spell((2,), vocabulary()).text == "\ufffd"


def test_tokens_of_no_name_or_of_no_vocabulary_are_numbers() -> None:
    assert nameless((4, 0, 99, -1, 4), vocabulary()) == (4, 99, -1)
    assert spell((4, 99, -1), vocabulary(), {4: ""}).texts == ("⟨4⟩", "⟨99⟩", "⟨-1⟩")


def test_nothing_is_nothing() -> None:
    found = spell((), vocabulary())
    assert (found.spans, found.text, found.controls) == ((), "", 0)
