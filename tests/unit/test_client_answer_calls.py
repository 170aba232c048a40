"""Calls in an answer, from the engine's tokens to what the domain hears and what is remembered."""

from typing import Any

import pytest

from app.chat.ports import CallArguments, CallBegun, CallBroken, Ended, Event, Text, Thought
from app.client.answer import Answer
from app.client.voice import Voice
from app.client.written import with_calls
from app.dialogue import Calling, Thinking, ThoughtTags, Tool, Toolbox
from app.text.stream import Vocabulary
from app.wire import Finished, FinishReason, TokenOut, Usage
from tests.scripted_children import END, ENDS, PIECES

TOOL = Tool("look", "", '{"type": "object", "properties": {"a": {"type": "string"}}}')
BOX = Toolbox((TOOL,))
BLOCK = Calling("block")
THINK = ThoughtTags("<think>", "</think>")
CALL = '<tool_call>{"name": "look", "arguments": {"a": "é"}}</tool_call>'


def answer(box: Toolbox = BOX, calling: Calling = BLOCK, **facts: Any) -> Answer:
    voice = Voice(Vocabulary(PIECES, ENDS), Thinking((THINK,)), calling)
    return Answer(voice, (), 1000, calls=voice.calls(box, **facts))


def tokens(text: str) -> list[TokenOut]:
    return [TokenOut(1, byte) for byte in text.encode()]


def finished(reason: FinishReason = FinishReason.STOP) -> Finished:
    return Finished(1, reason, Usage(3, 9, 0))


def heard(made: Answer, text: str, reason: FinishReason = FinishReason.STOP) -> list[Event]:
    """The text a token at a time, then the end."""
    told: list[Event] = []
    for token in tokens(text):
        told += made.feed([token])
    return told + made.feed([finished(reason)])


def test_reasoning_text_and_calls_each_have_their_events() -> None:
    made = answer()
    told = made.feed([*tokens(f"<think>\nhm\n</think>\n\nSo. {CALL}"), finished()])
    begun = told[2]
    assert isinstance(begun, CallBegun)
    assert begun.id.startswith("call_")
    size = len(f"<think>\nhm\n</think>\n\nSo. {CALL}".encode())
    assert told == [
        Thought("hm", 0),
        Text("So.", 0),
        CallBegun(0, begun.id, "look"),
        CallArguments(0, '{"a": "é"}', size),
        Ended(FinishReason.STOP, Usage(3, 9, 0)),
    ]


def test_each_call_has_a_number_and_an_id_of_its_own() -> None:
    begun = [one for one in heard(answer(), CALL * 3) if isinstance(one, CallBegun)]
    assert [one.index for one in begun] == [0, 1, 2]
    assert len({one.id for one in begun}) == 3


def test_what_was_written_is_remembered_for_content_and_calls_together() -> None:
    for before, after in (("", CALL), ("<think>hm</think>\n\n", f"So.\n{CALL}\n")):
        made = answer()
        told = heard(made, before + after)
        text = "".join(one.text for one in told if isinstance(one, Text))
        arguments = "".join(one.text for one in told if isinstance(one, CallArguments))
        called = with_calls(text, [Call(arguments)])
        remembered = dict(made.remembered())
        assert bytes(remembered[called]).decode() == after


class Call:
    """As a client sends it back, under any id."""

    name = "look"

    def __init__(self, arguments: str) -> None:
        self.arguments = arguments


def test_a_broken_call_is_told_and_not_remembered_as_one() -> None:
    made = answer()
    text = '<tool_call>{"name": "look", "arguments": {oops'
    told = heard(made, text)
    assert [one.text for one in told if isinstance(one, CallBroken | Text)] != []
    assert "".join(one.text for one in told if isinstance(one, CallBroken | Text)) == text
    assert all(not key.startswith("\x00") for key, _ in made.remembered())


def test_an_answer_that_was_cut_off_in_a_call_has_none() -> None:
    made = answer()
    told = heard(made, "<function=look><parameter=a>x</parameter>", FinishReason.LENGTH)
    assert isinstance(told[-2], CallBroken)
    whole = heard(answer(), "<function=look><parameter=a>x</parameter>")
    assert not any(isinstance(one, CallBroken) for one in whole)


@pytest.mark.parametrize(
    ("reason", "stop", "cut"),
    [
        (FinishReason.STOP, (), False),
        (FinishReason.LENGTH, (), True),
        (FinishReason.ENGINE_DIED, (), True),
        (FinishReason.CANCELLED, (), True),
        (FinishReason.CANCELLED, ("END",), True),
    ],
)
def test_a_broken_call_says_whether_it_was_cut(
    reason: FinishReason, stop: tuple[str, ...], cut: bool
) -> None:
    text = '<tool_call>{"name": "look", "arguments": {"a": "END'
    voice = Voice(Vocabulary(PIECES, ENDS), Thinking((THINK,)), BLOCK)
    told = heard(Answer(voice, stop, 1000, calls=voice.calls(BOX)), text, reason)
    (broken,) = (one for one in told if isinstance(one, CallBroken))
    assert broken.cut is cut


def test_one_call_ends_an_answer_that_may_have_only_one() -> None:
    for made in (
        answer(Toolbox((TOOL,), single=True)),
        answer(calling=Calling("block", single=True)),
    ):
        told = made.feed(tokens(f"{CALL}{CALL}"))
        assert made.stopped
        told += made.feed([finished(FinishReason.CANCELLED)])
        assert sum(isinstance(one, CallBegun) for one in told) == 1
        written = len(CALL.removesuffix("</tool_call>").encode())
        assert told[-1] == Ended(FinishReason.STOP, Usage(3, written, 0))


def test_text_stays_text_where_no_calls_are_wanted() -> None:
    for box in (Toolbox(), Toolbox((TOOL,), closed=True)):
        told = heard(answer(box), CALL)
        assert "".join(one.text for one in told if isinstance(one, Text)) == CALL


def test_where_tools_were_folded_the_model_may_write_its_own_form() -> None:
    calling = Calling("granite", ((END, "<|tool_call|>"),))
    own = [TokenOut(1, END), *tokens('[{"name": "look", "arguments": {}}]')]
    for written in (own, tokens(CALL)):
        told = answer(calling=calling, folded=True).feed([*written, finished()])
        assert sum(isinstance(one, CallBegun) for one in told) == 1
    assert not any(isinstance(one, CallBegun) for one in heard(answer(calling=calling), CALL))


def test_a_call_in_control_tokens_ends_reasoning_that_was_never_closed() -> None:
    calling = Calling("granite", ((END, "<|tool_call|>"),))
    call = '[{"name": "look", "arguments": {}}]'
    made = answer(calling=calling)
    told = made.feed([*tokens("<think>hm"), TokenOut(1, END), *tokens(call), finished()])
    assert told[0] == Thought("hm", 0)
    assert isinstance(told[1], CallBegun)
    typed = heard(answer(calling=calling), f"<think>hm <|tool_call|>{call}")
    assert not any(isinstance(one, CallBegun) for one in typed)
