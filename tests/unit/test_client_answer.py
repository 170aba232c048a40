"""From engine events to what the domain hears."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.ports import Ended, Event, Reading, Text, Waiting
from app.client.answer import Answer
from app.client.voice import Voice
from app.text.stream import Vocabulary
from app.wire import Finished, FinishReason, ReadingNow, TokenOut, Usage, WaitingNow
from tests.scripted_children import ENDS, PIECES

WORDS = Vocabulary(PIECES, ENDS)
VOICE = Voice(WORDS)


def tokens(text: str | bytes) -> list[TokenOut]:
    return [TokenOut(1, byte) for byte in (text.encode() if isinstance(text, str) else text)]


def end(reason: FinishReason = FinishReason.STOP, usage: Usage = Usage(3, 9, 1)) -> Finished:
    return Finished(1, reason, usage)


def answer(*stop: str) -> Answer:
    return Answer(VOICE, stop, 100)


def shown(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


@pytest.mark.parametrize(
    ("reason", "usage", "full"),
    [
        (FinishReason.LENGTH, Usage(90, 10, 0), True),
        (FinishReason.LENGTH, Usage(90, 9, 0), False),
        (FinishReason.STOP, Usage(90, 10, 0), False),
        (FinishReason.CANCELLED, Usage(90, 10, 0), False),
    ],
)
def test_that_the_context_is_full_is_told(reason: FinishReason, usage: Usage, full: bool) -> None:
    (ended,) = answer().feed([end(reason, usage)])
    assert ended.error.startswith("Context full: this chat has used all of its 100 tokens") is full


def test_all_tokens_of_one_wake_up_are_one_text() -> None:
    made = answer()
    assert made.feed(tokens("Hello")) == [Text("Hello", 5)]
    assert made.feed([*tokens("!"), end()]) == [
        Text("!", 1),
        Ended(FinishReason.STOP, Usage(3, 9, 1)),
    ]
    assert made.ended
    assert made.remembered() == [("Hello!", tuple(b"Hello!"))]


def test_waiting_and_reading_keep_their_place_between_texts() -> None:
    made = answer()
    assert made.feed(
        [WaitingNow(1, 2), ReadingNow(1, 5, 9, 4), *tokens("a"), WaitingNow(1, 1), *tokens("b")]
    ) == [Waiting(2), Reading(5, 9, 4), Text("a", 1), Waiting(1), Text("b", 1)]


def test_half_a_character_counts_with_the_whole() -> None:
    made = answer()
    first, second, third = tokens("€")
    assert made.feed([first]) == []
    assert made.feed([second]) == []
    assert made.feed([third]) == [Text("€", 3)]


@pytest.mark.parametrize("reason", list(FinishReason))
def test_text_that_was_held_back_comes_out_in_every_way_to_end(reason: FinishReason) -> None:
    made = answer("###END")
    assert shown(made.feed(tokens("Result: ##"))) == "Result: "
    told = made.feed([Finished(1, reason, Usage(), "words")])
    assert told == [Text("##", 0), Ended(reason, Usage(), "words")]


def test_what_a_reader_left_early_is_what_was_held_back_without_half_a_character() -> None:
    made = answer("###END")
    made.feed(tokens("Result: ##"))
    assert made.rest() == [Text("##", 0)]
    assert made.rest() == []
    assert made.remembered() == [("Result: ##", tuple(b"Result: ##"))]
    made = answer("###END")
    assert shown(made.feed(tokens("€#".encode()[:2]))) == ""
    assert made.rest() == []


def test_a_stop_string_that_was_met_leaves_nothing_held_back() -> None:
    made = answer("END")
    made.feed(tokens("abEND"))
    assert made.rest() == []


def test_a_stop_string_ends_the_text_and_what_follows_is_no_part_of_it() -> None:
    made = answer("END")
    assert made.feed(tokens("abEN")) == [Text("ab", 4)]
    assert made.feed(tokens("Dxyz")) == []
    assert made.stopped
    assert not made.ended
    assert made.feed([*tokens("more"), end(FinishReason.CANCELLED)]) == [
        Ended(FinishReason.STOP, Usage(3, 5, 1))
    ]
    # Where the stop string was cut off at a token's border, what stands before it is known exactly.
    assert made.remembered() == [("ab", tuple(b"ab"))]


def test_left_early_what_was_shown_is_remembered_with_exactly_its_ids() -> None:
    made = answer()
    made.feed(tokens("aé"))
    made.feed(tokens("€".encode()[:2]))
    assert made.remembered() == [("aé", tuple("aé".encode()))]


@given(
    st.text(max_size=30), st.lists(st.integers(1, 7)), st.lists(st.sampled_from(["a", "##", "é"]))
)
def test_any_cut_into_wake_ups_tells_the_same(text: str, cuts: list[int], stop: list[str]) -> None:
    whole = answer(*stop)
    everything: list[Any] = [*tokens(text), end()]
    expected = whole.feed(everything)
    pieces = answer(*stop)
    told: list[Event] = []
    rest = everything
    for cut in [*cuts, len(everything)]:
        told += pieces.feed(rest[:cut])
        rest = rest[cut:]
        if not rest:
            break
    assert shown(told) == shown(expected)
    assert told[-1] == expected[-1]
    assert sum(isinstance(event, Ended) for event in told) == 1
    assert pieces.remembered() == whole.remembered()
    if not whole.stopped:
        assert shown(told) == text


@given(st.text(max_size=20), st.integers(0, 80))
def test_left_anywhere_the_remembered_ids_are_those_of_the_shown_text(text: str, cut: int) -> None:
    made = answer("zz")
    told = [event for token in tokens(text)[:cut] for event in made.feed([token])]
    expected = [(shown(told), tuple(shown(told).encode()))] if shown(told) else []
    assert made.remembered() == expected


@given(st.text(alphabet="a#<é", max_size=20), st.integers(0, 20))
def test_left_anywhere_it_is_the_text_of_an_answer_that_ended_there(text: str, cut: int) -> None:
    written, stop = tokens(text[:cut]), ("##a", "é<")
    left, ended = answer(*stop), answer(*stop)
    told = [*left.feed(written), *left.rest()]
    assert shown(told) == shown(ended.feed([*written, end()]))
    assert left.remembered() == ended.remembered()
