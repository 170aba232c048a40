"""Which ids were written for a text."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from app.client.voice import Voice
from app.dialogue import Thinking, ThoughtTags
from app.text.stream import Vocabulary

PIECES = (b"", b"<think>", b"\n", b"a", b"b", b"ab", "é".encode()[:1], "é".encode()[1:], b".\n\n")


def voice(thinking: Thinking = Thinking()) -> Voice:
    ends = array("I")
    for piece in PIECES:
        ends.append((ends[-1] if ends else 0) + len(piece))
    return Voice(Vocabulary(b"".join(PIECES), ends.tobytes()), thinking)


def test_control_tokens_beside_a_text_are_no_part_of_it() -> None:
    assert voice().within([0, 3, 4, 0], "ab") == (0, 3, 4, 0)  # nothing else was written
    assert voice().within([1, 2, 0, 3, 4, 0], "ab") == (3, 4)


def test_the_last_place_is_the_answers() -> None:
    assert voice().within([5, 2, 3, 4], "ab") == (5,)
    assert voice().within([5, 2, 3, 4], "ab", last=True) == (3, 4)


def test_a_text_that_begins_or_ends_inside_a_token_has_no_ids() -> None:
    assert voice().within([1, 3, 8, 4], "a.") == ()
    assert voice().within([5, 2], "b") == ()
    assert voice().within([3], "") == ()
    assert voice().within([], "a") == ()


def test_stray_bytes_are_what_they_were_shown_as() -> None:
    assert voice().within([3, 6], "a\ufffd") == (3, 6)


def test_tags_that_a_prompt_opened_are_told_as_the_stream_has_them() -> None:
    tags = ThoughtTags("<think>", "</think>")
    made = voice(Thinking((tags,), ((0, "</think>"),)))
    assert made.told(None) is None
    assert made.told(tags) == made.tags[0] == ThoughtTags("<think>", made.symbols[0])


@given(st.lists(st.integers(0, len(PIECES) - 1), max_size=12), st.data())
def test_what_is_found_stands_for_exactly_the_text(ids: list[int], data: st.DataObject) -> None:
    made = voice()
    low = data.draw(st.integers(0, len(ids)))
    high = data.draw(st.integers(low, len(ids)))
    text = made.vocabulary.join(ids[low:high]).decode("utf-8", "replace")
    for last in (False, True):
        found = made.within(ids, text, last=last)
        if found:
            assert made.vocabulary.join(found).decode("utf-8", "replace") == text
