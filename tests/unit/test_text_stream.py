"""Characters cut into tokens, bytes that never become one, stop strings across borders (case 25, case 26, case 28, case 29)."""

import struct
from collections.abc import Sequence

import pytest

from app.text.stream import TextStream, Vocabulary

SAMPLE = "你发龍 é e\u0301 😀 👨‍👩‍👧‍👦 🇫🇷 ガ نص עברית"


def vocabulary_of(pieces: Sequence[bytes]) -> Vocabulary:
    ends, total = [], 0
    for piece in pieces:
        total += len(piece)
        ends.append(total)
    return Vocabulary(b"".join(pieces), struct.pack(f"<{len(ends)}I", *ends))


def play(pieces: Sequence[bytes | str], stop: Sequence[str] = ()) -> tuple[list[str], TextStream]:
    """Feed each piece as a token of its own; the outputs, that of `flush` last."""
    raw = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    stream = TextStream(vocabulary_of(raw), stop)
    outputs = [stream.feed(token) for token in range(len(raw))]
    return [*outputs, stream.flush()], stream


def test_vocabulary_gives_each_tokens_bytes() -> None:
    vocabulary = vocabulary_of([b"ab", b"", b"\xff"])
    assert [vocabulary.piece(token) for token in range(len(vocabulary))] == [b"ab", b"", b"\xff"]
    assert vocabulary.join([2, 0, 1]) == b"\xffab"


def test_tokens_that_write_nothing() -> None:
    assert vocabulary_of([b"", b"ab", b"", b"\x00", b""]).silent == {0, 2, 4}
    assert vocabulary_of([]).silent == frozenset()


@pytest.mark.parametrize("token", [-1, 3])
def test_a_token_outside_the_vocabulary_is_an_error(token: int) -> None:
    with pytest.raises(IndexError):
        vocabulary_of([b"a", b"b", b"c"]).piece(token)


@pytest.mark.parametrize("ends", [b"", struct.pack("<I", 2), b"\x01"])
def test_a_table_that_does_not_fit_is_refused(ends: bytes) -> None:
    with pytest.raises(ValueError, match=r"fit|multiple"):
        Vocabulary(b"a", ends)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_only_whole_characters_come_out(size: int) -> None:
    raw = SAMPLE.encode()
    outputs, _ = play([raw[:1], *(raw[at : at + size] for at in range(1, len(raw), size))])
    assert "".join(outputs) == SAMPLE
    assert not any("\ufffd" in output for output in outputs)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"ok \xe4\xbd", "ok \ufffd"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\xc0\xaf", "\ufffd\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
        (b"a\x80b", "a\ufffdb"),
    ],
)
def test_bad_bytes_become_replacement_marks(raw: bytes, shown: str) -> None:
    outputs, _ = play([raw[at : at + 1] for at in range(len(raw))])
    assert "".join(outputs) == shown
    assert "".join(play([raw])[0]) == shown


def test_a_certainly_bad_byte_shows_at_once_and_half_a_character_at_the_end() -> None:
    outputs, _ = play([b"\xff", b"\xe4", b"\xbd"])
    assert outputs == ["\ufffd", "", "", "\ufffd"]


@pytest.mark.parametrize(
    ("pieces", "stop", "result"),
    [
        (["Blue mo", "on r", "ises"], ["moon ri"], "Blue "),
        (["\nHu", "man", ":"], ["\nHuman:"], ""),
        (["a", "b", "c"], ["abc", "ab"], ""),
        (["abc"], ["abc", "ab"], ""),
        ([*(bytes([byte]) for byte in "🦙".encode()), "STOP"], ["🦙STOP"], ""),
        (["xaa", "aab"], ["aab"], "xaa"),
        (["abcd"], ["bc", "abcd"], "a"),
    ],
)
def test_stop_strings_across_tokens(
    pieces: list[bytes | str], stop: list[str], result: str
) -> None:
    outputs, stream = play(pieces, stop)
    assert "".join(outputs) == result
    assert stream.stopped


def test_what_cannot_begin_a_stop_string_comes_out_in_the_same_feed() -> None:
    outputs, stream = play(["Hello", " wor", "ld #", "# no", " ###", "E"], ["###END"])
    assert outputs == ["Hello", " wor", "ld ", "## no", " ", "", "###E"]
    assert not stream.stopped


def test_held_text_comes_out_at_the_end() -> None:
    outputs, _ = play(["Result: ##"], ["###END"])
    assert outputs == ["Result: ", "##"]


def test_half_a_character_is_left_out_where_the_end_may_not_be_ragged() -> None:
    stream = TextStream(vocabulary_of([b"ok #", b"\xe4\xbd"]), ["#!"])
    assert (stream.feed(0), stream.feed(1)) == ("ok ", "")
    assert stream.flush(ragged=False) == "#"
    assert stream.held == 0


def test_an_empty_stop_string_is_no_stop_string() -> None:
    outputs, stream = play(["a", "b"], [""])
    assert outputs == ["a", "b", ""]
    assert not stream.stopped


def test_a_stop_string_of_ten_thousand_characters() -> None:
    stop = "ab" * 5_000
    outputs, stream = play(["x", *["ab"] * 4_999, "b"], [stop])
    assert "".join(outputs) == "x" + "ab" * 4_999 + "b"
    assert outputs[1] == ""
    assert not stream.stopped
    outputs, stream = play(["x", *["ab"] * 5_000], [stop])
    assert "".join(outputs) == "x"
    assert stream.stopped


def test_nothing_comes_after_a_stop_and_flush_is_idempotent() -> None:
    stream = TextStream(vocabulary_of([b"aX", b"b"]), ["X"])
    assert stream.feed(0) == "a"
    assert (stream.feed(1), stream.flush(), stream.flush()) == ("", "", "")
    stream = TextStream(vocabulary_of([b"#"]), ["##"])
    assert (stream.feed(0), stream.flush(), stream.flush()) == ("", "#", "")


def test_a_half_character_at_the_end_may_complete_a_stop_string() -> None:
    outputs, stream = play([b"ok\xe4"], ["\ufffd"])
    assert "".join(outputs) == "ok"
    assert stream.stopped
