"""One answer while it is written."""

import pytest

from app.chat.answer import EMPTY_ANSWER, NO_END, ONLY_THOUGHT, Answer, TokenRate, verdict
from app.chat.events import TurnState
from app.chat.models import FinishReason, Status, TabState, Usage
from app.chat.ports import Counting, Ended, Reading, Text, Thought, Waiting


def test_the_states_of_a_tab() -> None:
    answer = Answer()
    assert answer.state == TurnState(TabState.WAITING)
    answer.feed(Waiting(3), 0.0)
    assert answer.state == TurnState(TabState.WAITING, place=3)
    answer.feed(Waiting(0, "loading the model"), 0.0)
    assert answer.state == TurnState(TabState.WAITING, why="loading the model")
    answer.feed(Counting(), 0.0)
    assert answer.state == TurnState(TabState.WAITING, counting=True)
    answer.feed(Reading(10, 40, 5), 0.0)
    assert answer.state == TurnState(TabState.READING, done=10, total=40, cached=5)
    answer.feed(Text("a", 2), 1.0)
    answer.feed(Text("b", 2), 1.5)
    assert answer.state == TurnState(TabState.WRITING, written=4, tokens_per_second=4.0)


def test_text_is_clean_and_counts_are_known() -> None:
    answer = Answer()
    answer.feed(Reading(8, 8, 3), 0.0)
    assert [answer.feed(Text(text), 1.0) for text in ("a\ud83d", "", "\0b")] == [
        "a\ufffd",
        "",
        "\ufffdb",
    ]
    answer.feed(Text("c"), 3.5)
    assert answer.text == "a\ufffd\ufffdbc"
    assert answer.usage == Usage(8, 4, 3)
    assert answer.seconds == 2.5


def test_the_rate_looks_back_two_seconds() -> None:
    rate = TokenRate()
    assert rate.value == 0.0
    rate.add(5, 0.0)
    assert rate.value == 0.0
    for tick in range(1, 101):
        rate.add(1, tick * 0.1)
    assert rate.value == pytest.approx(10.0)
    for tick in range(1, 101):
        rate.add(1, 10.0 + tick * 0.05)
    assert rate.value == pytest.approx(20.0)


def test_a_pause_is_no_time_of_writing() -> None:
    answer = Answer()
    for event, now in [(Text("a"), 0.0), (Text("b"), 0.1), (Waiting(1), 0.2), (Text("c"), 1.7)]:
        answer.feed(event, now)
    assert answer.state.tokens_per_second == 0.0
    answer.feed(Text("d"), 1.8)
    assert answer.state.tokens_per_second == pytest.approx(10.0)


def test_thoughts_are_apart_and_timed_until_the_answer_begins() -> None:
    answer = Answer()
    for event, now in [
        (Thought("Let "), 1.0),
        (Thought("me see.\0"), 2.0),
        (Text("2"), 4.0),
        (Text("."), 9.0),
    ]:
        assert answer.feed(event, now)
        assert answer.state.state is TabState.WRITING
        assert answer.state.thinking is isinstance(event, Thought)
    assert (answer.reasoning, answer.text) == ("Let me see.\ufffd", "2.")
    assert (answer.thought_seconds, answer.seconds) == (3.0, 8.0)
    assert answer.usage.completion_tokens == 4


LOOP = "the " * 200


def test_what_goes_in_circles_is_told_until_the_user_lets_it() -> None:
    answer = Answer()
    answer.feed(Thought(LOOP), 0.0)
    assert answer.state.repeating
    answer.feed(Waiting(1), 1.0)
    assert answer.state.repeating, "a pause is no change of mind"
    answer.feed(Text("So "), 2.0)
    assert not answer.state.repeating, "the answer is another text"
    answer.feed(Text(LOOP), 3.0)
    assert answer.state.repeating
    answer.let_repeat()
    assert not answer.state.repeating
    answer.feed(Text(LOOP), 4.0)
    assert not answer.state.repeating


def test_an_answer_of_thoughts_alone_says_so() -> None:
    ended = Ended(FinishReason.LENGTH, Usage())
    assert verdict(ended, "", "Well") == (Status.FAILED, ONLY_THOUGHT)
    assert verdict(ended, "\n", " ") == (Status.FAILED, EMPTY_ANSWER)
    assert verdict(ended, "2", "Well") == (Status.DONE, "")


@pytest.mark.parametrize(
    ("reason", "words", "text", "expected"),
    [
        (FinishReason.STOP, "", "x", (Status.DONE, "")),
        (FinishReason.LENGTH, "", "x", (Status.DONE, "")),
        (FinishReason.LENGTH, "Context full.", "x", (Status.DONE, "Context full.")),
        (FinishReason.STOP, "", "", (Status.FAILED, EMPTY_ANSWER)),
        (FinishReason.LENGTH, "", "\n\n", (Status.FAILED, EMPTY_ANSWER)),
        (FinishReason.CANCELLED, "", "", (Status.STOPPED, "")),
        (FinishReason.ERROR, "It broke.", "x", (Status.FAILED, "It broke.")),
        (FinishReason.ENGINE_DIED, "It died.", "", (Status.FAILED, "It died.")),
        (FinishReason.ERROR, "", "", (Status.FAILED, NO_END)),
    ],
)
def test_how_an_answer_is_stored(
    reason: FinishReason, words: str, text: str, expected: tuple[Status, str]
) -> None:
    assert verdict(Ended(reason, Usage(), words), text) == expected
