"""What waits for a client: joined it says the same, weighs the same, and costs no more than what has come."""

import asyncio
from collections.abc import AsyncIterator
from typing import ClassVar

import pytest

from app.api.answer import Answer
from app.api.pieces import CallPiece, Piece, TextPiece, joined, whole
from app.chat.models import ToolCall
from app.chat.ports import (
    CallBegun,
    Chance,
    Ended,
    Event,
    FinishReason,
    Likelihood,
    Text,
    Thought,
    Usage,
)

SURE = Likelihood(Chance(b"x", -0.5), (Chance(b"y", -1.5),))
PIECES: list[Piece] = [
    TextPiece("a", thought=True),
    TextPiece("b", thought=True),
    TextPiece("c", likelihoods=(SURE,)),
    TextPiece("d"),
    TextPiece("e", likelihoods=(SURE, SURE)),
    CallPiece(0, "", CallBegun(0, "call_0", "look")),
    CallPiece(0, "{"),
    CallPiece(0, "}"),
    CallPiece(1, "", CallBegun(1, "call_1", "find")),
    CallPiece(1, "{oops"),
    CallPiece(1, "<call>{oops", broken=True),
    TextPiece("f"),
]


def test_neighbours_of_a_kind_become_one_of_the_same_weight() -> None:
    assert joined(PIECES) == [
        TextPiece("ab", thought=True),
        TextPiece("cde", likelihoods=(SURE, SURE, SURE)),
        CallPiece(0, "{}", CallBegun(0, "call_0", "look")),
        CallPiece(1, "{oops", CallBegun(1, "call_1", "find")),
        CallPiece(1, "<call>{oops", broken=True),
        TextPiece("f"),
    ]
    assert sum(one.weight for one in joined(PIECES)) == sum(one.weight for one in PIECES)
    assert joined([]) == []


def test_an_answer_is_the_same_whole_however_it_came() -> None:
    made = whole(PIECES)
    assert (made.text, made.thought) == ("cde<call>{oopsf", "ab")
    assert made.calls == (ToolCall("call_0", "look", "{}"),)
    assert made.likelihoods == (SURE, SURE, SURE)
    assert whole(joined(PIECES)) == made


async def taken(events: list[Event], most: int | None) -> tuple[list[Piece], Ended]:
    """What waits when all these have come while nobody read, and the end."""

    async def coming() -> AsyncIterator[Event]:
        for event in events:
            yield event

    answer = Answer(coming(), most)
    await answer.collect()
    assert answer.ended is not None
    return await answer.take(None), answer.ended


DONE = Ended(FinishReason.STOP, Usage(1, 2, 0))


@pytest.mark.parametrize("most", [100, 1000])
def test_there_is_room_to_the_last_character_and_not_beyond(most: int) -> None:
    async def scenario() -> None:
        letters: list[Event] = [Text("x")] * most
        pieces, ended = await taken([*letters, DONE], most)
        assert (whole(pieces).text, ended) == ("x" * most, DONE)
        pieces, ended = await taken([*letters, Text("y"), DONE], most)
        assert (whole(pieces).text, ended.code) == ("x" * most, "slow_client")

    asyncio.run(scenario())


def test_what_was_taken_leaves_its_room() -> None:
    async def scenario() -> None:
        gate = asyncio.Event()

        async def coming() -> AsyncIterator[Event]:
            yield Text("x" * 10)
            await gate.wait()
            yield Text("y" * 10)
            yield DONE

        answer = Answer(coming(), 10)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(answer.collect())
            first = await answer.take(None)
            gate.set()
        assert whole([*first, *await answer.take(None)]).text == "x" * 10 + "y" * 10
        assert answer.ended == DONE

    asyncio.run(scenario())


class Word(str):
    """A text that counts how often its length was asked for, in all."""

    __slots__ = ()
    asked: ClassVar[int] = 0

    def __len__(self) -> int:
        Word.asked += 1
        return super().__len__()


@pytest.mark.parametrize("count", [500, 2000])
def test_what_waits_is_not_weighed_again_with_all_that_comes(count: int) -> None:
    """Thoughts and text by turns cannot be joined: there the most of them wait."""

    async def scenario() -> None:
        Word.asked = 0
        kinds = (Thought, Text)
        events: list[Event] = [kinds[number % 2](Word("x")) for number in range(count)]
        pieces, ended = await taken([*events, DONE], 10 * count)
        assert len(pieces) == count
        assert ended == DONE
        assert Word.asked <= 4 * count

    asyncio.run(scenario())
