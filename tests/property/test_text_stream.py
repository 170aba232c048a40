"""The text of an answer does not depend on how its bytes were cut into tokens."""

import struct
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.text.stream import TextStream, Vocabulary

BYTES = st.one_of(
    st.text(alphabet="ab#é你😀", max_size=12).map(str.encode),
    st.lists(
        st.sampled_from([b"a", b"#", "é".encode(), b"\xe4", b"\xbd", b"\xff", b"\xf0\x9f"])
    ).map(b"".join),
)
STOPS = st.lists(st.text(alphabet="ab#é你😀\ufffd", max_size=4), max_size=3)


def cut(raw: bytes, places: list[int]) -> list[bytes]:
    borders = [0, *sorted(place % (len(raw) + 1) for place in places), len(raw)]
    return [raw[a:b] for a, b in pairwise(borders)]


def outputs_of(pieces: list[bytes], stop: list[str]) -> list[str]:
    ends = [sum(map(len, pieces[: index + 1])) for index in range(len(pieces))]
    vocabulary = Vocabulary(b"".join(pieces), struct.pack(f"<{len(ends)}I", *ends))
    stream = TextStream(vocabulary, stop)
    return [*(stream.feed(token) for token in range(len(pieces))), stream.flush()]


def expected(raw: bytes, stop: list[str]) -> str:
    """The text before the stop string that is complete first, the longest of several."""
    text = raw.decode("utf-8", "replace")
    for end in range(len(text) + 1):
        found = [len(s) for s in stop if s and text[:end].endswith(s)]
        if found:
            return text[: end - max(found)]
    return text


@given(BYTES, STOPS, st.lists(st.integers(0, 60), max_size=8))
def test_every_cut_gives_the_same_text(raw: bytes, stop: list[str], places: list[int]) -> None:
    outputs = outputs_of(cut(raw, places), stop)
    assert "".join(outputs) == expected(raw, stop)


@given(BYTES, STOPS)
def test_no_more_is_held_back_than_may_begin_a_stop_string(raw: bytes, stop: list[str]) -> None:
    whole = expected(raw, stop)
    shown, seen = "", b""
    pieces = [raw[at : at + 1] for at in range(len(raw))]
    for piece, output in zip(pieces, outputs_of(pieces, stop), strict=False):
        seen += piece
        shown += output
        assert whole.startswith(shown)
        certain = seen.decode("utf-8", "ignore" if b"\xff" not in seen else "replace")
        held = certain[len(shown) :] if certain.startswith(shown) else ""
        if held and shown != whole and "\ufffd" not in certain:
            assert any(s.startswith(held) for s in stop)
