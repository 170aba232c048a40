"""The likelihoods of an answer's tokens come out with the text that they belong to."""

from array import array
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.ports import Chance, Event, Likelihood, Text, Thought
from app.client.answer import Answer
from app.client.voice import Voice
from app.dialogue import Thinking, ThoughtTags
from app.sampling import LogProbs
from app.text.stream import Vocabulary
from app.wire import Finished, FinishReason, TokenOut, Usage

TAGS = ThoughtTags("<think>", "</think>")
PIECES = (
    *(bytes([byte]) for byte in range(256)),
    b"",  # 256, a control token
    b"</th",
    b"ink",
    b">Hi",
    b"ab",
    b"bcd",
    "é!".encode(),
    b"<think>",
    b"\n\n",
)
CONTROL = 256


def voice(thinking: Thinking = Thinking()) -> Voice:
    ends = array("I")
    for piece in PIECES:
        ends.append((ends[-1] if ends else 0) + len(piece))
    return Voice(Vocabulary(b"".join(PIECES), ends.tobytes()), thinking)


def written(tokens: Iterable[int]) -> list[TokenOut]:
    return [TokenOut(1, token, LogProbs(-float(place))) for place, token in enumerate(tokens)]


def told(
    tokens: Iterable[int], *stop: str, thinking: Thinking = Thinking(), at_once: bool = False
) -> list[Event]:
    answer = Answer(voice(thinking), stop, 100, likely=True)
    events = written(tokens)
    groups = [events] if at_once else [[event] for event in events]
    found = [event for group in groups for event in answer.feed(group)]
    return found + answer.feed([Finished(1, FinishReason.STOP, Usage())])


def pairs(events: list[Event]) -> list[tuple[str, list[bytes]]]:
    return [
        (event.text, [likelihood.own.piece for likelihood in event.likelihoods])
        for event in events
        if isinstance(event, Text)
    ]


def ids(*pieces: bytes) -> list[int]:
    return [PIECES.index(piece) for piece in pieces]


def test_each_token_comes_with_its_text_and_its_rivals() -> None:
    answer = Answer(voice(), (), 100, likely=True)
    logprobs = LogProbs(-0.5, (ord("b"), CONTROL), (-0.25, -2.0))
    (text,) = answer.feed([TokenOut(1, ord("a"), logprobs)])
    best = (Chance(b"b", -0.25), Chance(b"", -2.0))
    assert text == Text("a", 1, (Likelihood(Chance(b"a", -0.5), best),))


def test_who_does_not_ask_gets_none() -> None:
    answer = Answer(voice(), (), 100)
    assert answer.feed(written(b"ab")) == [Text("ab", 2)]


def test_half_a_character_waits_for_the_other_half() -> None:
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert pairs(told(ids(b"a", first, second))) == [("a", [b"a"]), ("é", [first, second])]
    assert pairs(told(ids(b"a", first))) == [("a", [b"a"]), ("\ufffd", [first])]


def test_what_may_be_a_stop_string_is_held_back_with_its_tokens() -> None:
    assert pairs(told(ids(b"x", b"ab", b"c", b"y"), "abcd")) == [
        ("x", [b"x"]),
        ("abcy", [b"ab", b"c", b"y"]),
    ]
    assert pairs(told(ids(b"x", b"ab", b"c"), "abcd")) == [("x", [b"x"]), ("abc", [b"ab", b"c"])]


def test_tokens_of_the_stop_string_do_not_come_out_but_one_that_was_begun_before_it() -> None:
    assert pairs(told(ids(b"x", b"a", b"bcd"), "abcd")) == [("x", [b"x"])]
    assert pairs(told(ids(b"a", b"bcd", b"z"), "cd")) == [("a", [b"a"]), ("b", [b"bcd"])]


def test_tokens_of_the_reasoning_and_of_its_tags_do_not_come_out() -> None:
    for thinking, opening in (
        (Thinking((TAGS,)), b"<think>"),
        (Thinking((TAGS,), ((PIECES.index(b""), "<think>"),)), b""),
    ):
        tokens = ids(opening, b"a", b"</th", b"ink", b">Hi", b"!")
        for at_once in (False, True):
            events = told(tokens, thinking=thinking, at_once=at_once)
            assert [event.text for event in events if isinstance(event, Thought)] == ["a"]
            found = pairs(events)
            assert "".join(text for text, _ in found) == "Hi!"
            assert [piece for _, pieces in found for piece in pieces] == [b">Hi", b"!"]
    blank = told(
        ids(b"<think>", b"a", b"</th", b"ink", b">", b"\n\n", b"b"), thinking=Thinking((TAGS,))
    )
    assert pairs(blank) == [("b", [b"b"])]


def test_what_was_not_reasoning_after_all_comes_out_whole() -> None:
    thinking = Thinking((TAGS,))
    assert pairs(told(ids(b"\n\n", b"<", b"t", b"x"), thinking=thinking)) == [
        ("\n\n<tx", [b"\n\n", b"<", b"t", b"x"])
    ]
    assert pairs(told(ids(b"<", b"t"), thinking=thinking)) == [("<t", [b"<", b"t"])]


def test_a_control_token_inside_comes_with_the_text_around_it() -> None:
    assert pairs(told(ids(b"a", b"", b"c"))) == [("a", [b"a"]), ("c", [b"", b"c"])]


_tokens = st.lists(
    st.sampled_from(ids(b"a", b"b", b"ab", b"bcd", b"c", "é!".encode(), "é".encode()[:1], b"\n\n")),
    max_size=12,
)


@given(_tokens, st.lists(st.sampled_from(["ab", "bcda", "é!"]), max_size=2), st.data())
def test_they_are_the_text_whatever_holds_it_back(
    tokens: list[int], stop: list[str], data: st.DataObject
) -> None:
    answer = Answer(voice(), tuple(stop), 100, likely=True)
    events: list[Event] = []
    left = written(tokens)
    while left:
        count = data.draw(st.integers(1, len(left)))
        events += answer.feed(left[:count])
        left = left[count:]
    events += answer.feed([Finished(1, FinishReason.STOP, Usage())])
    found = [likelihood for e in events if isinstance(e, Text) for likelihood in e.likelihoods]
    text = "".join(event.text for event in events if isinstance(event, Text))
    pieces = b"".join(likelihood.own.piece for likelihood in found).decode("utf-8", "replace")
    assert pieces == text or (answer.stopped and pieces.startswith(text))
    assert [-likelihood.own.logprob for likelihood in found] == list(range(len(found)))
    shorter = b"".join(likelihood.own.piece for likelihood in found[:-1]).decode("utf-8", "replace")
    assert len(shorter) < len(text) or not found


@pytest.mark.parametrize("reason", [FinishReason.CANCELLED, FinishReason.ERROR])
def test_an_answer_that_is_cut_gives_what_it_held(reason: FinishReason) -> None:
    answer = Answer(voice(), ("abcd",), 100, likely=True)
    events = answer.feed([*written(b"xab"), Finished(1, reason, Usage())])
    assert pairs(events) == [("xab", [b"x", b"a", b"b"])]
