"""What the model is shown of a conversation."""

import pytest

from app.chat import context
from app.chat.models import ChatMessage, FinishReason, Message, Role, Status, Usage


def user(text: str) -> Message:
    return Message(1, 1, Role.USER, text, Status.DONE, 0.0)


def answer(text: str, status: Status = Status.DONE, finish: FinishReason | None = None) -> Message:
    return Message(1, 1, Role.ASSISTANT, text, status, 0.0, finish)


REFUSED = answer("", Status.FAILED, FinishReason.ERROR)
DIED = answer("", Status.FAILED, FinishReason.ENGINE_DIED)


def shown(*history: Message, prompt: str = "") -> list[str]:
    return [line.content for line in context.lines(prompt, context.sent(history))]


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", "\x00", "\x00 \x00", "\ufffd\n\ufffd"])
def test_blank(blank: str) -> None:
    assert context.is_blank(blank)
    assert not context.is_blank(blank + "x")


def test_the_system_prompt_comes_first_unless_it_is_blank() -> None:
    assert context.lines("Be brief.", [user("a")]) == (
        ChatMessage(Role.SYSTEM, "Be brief."),
        ChatMessage(Role.USER, "a"),
    )
    assert context.lines(" \n", [user("a")]) == (ChatMessage(Role.USER, "a"),)
    assert context.lines("Be brief.", []) == (ChatMessage(Role.SYSTEM, "Be brief."),)
    assert context.lines("", []) == ()


@pytest.mark.parametrize("status", [Status.DONE, Status.STOPPED, Status.INTERRUPTED])
def test_what_was_written_is_shown(status: Status) -> None:
    assert shown(user("a"), answer("A", status), user("b")) == ["a", "A", "b"]


def test_failed_and_blank_answers_are_left_out_and_their_questions_stay() -> None:
    history = (
        *(user("a"), answer("", Status.STOPPED)),
        *(user("b"), answer(" \n")),
        *(user("c"), DIED),
        *(user("d"), answer("half", Status.FAILED, FinishReason.ERROR)),
        user("e"),
    )
    assert shown(*history) == ["a", "b", "c", "d", "e"]


def test_a_refused_question_does_not_block_the_chat() -> None:
    assert shown(user("a"), answer("A"), user("far too long"), REFUSED, user("b")) == [
        "a",
        "A",
        "b",
    ]
    assert shown(user("a"), answer("A"), user("far too long")) == ["a", "A", "far too long"]


def test_refused_means_nothing_was_written() -> None:
    assert context.was_refused(REFUSED)
    assert not context.was_refused(DIED)
    assert not context.was_refused(answer("x", Status.FAILED, FinishReason.ERROR))
    wrote = Message(
        1, 1, Role.ASSISTANT, "", Status.FAILED, 0.0, FinishReason.ERROR, Usage(5, 1, 0)
    )
    assert not context.was_refused(wrote)


def test_the_last_question() -> None:
    assert context.questions_end([]) == 0
    assert context.questions_end([answer("imported")]) == 0
    assert context.questions_end([user("a"), answer("A"), user("b"), REFUSED, REFUSED]) == 3
    assert context.questions_end([user("a")]) == 1
