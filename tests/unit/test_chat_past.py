"""The prompt of any turn: what was really fed where that is known, else what would be fed today."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.chat import past
from app.chat.models import (
    ConversationSettings,
    FinishReason,
    Message,
    Role,
    Status,
    Usage,
)
from app.chat.ports import Ended, Text
from app.chat.turns import ChatService
from app.errors import StoreError
from app.prompting import FedPrompt
from app.settings import Settings
from app.store.conversations import SqliteStore, open_store
from tests.fakes import FakeGenerator

FED = FedPrompt("f00d", tuple(range(10)))  # as many as the fake model counts


class Room:
    """A service over a real store, with a scripted generator."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.generator = FakeGenerator()
        self.settings = Settings()
        self.service = ChatService(store, self.generator, lambda: self.settings)

    async def chat(self) -> int:
        return (await self.service.create()).id

    async def ask(self, chat: int, text: str) -> Message:
        """Send, and wait for the stored answer."""
        assert await self.service.send(chat, text)
        await self.idle(chat)
        return (await self.store.messages(chat))[-1]

    async def idle(self, chat: int) -> None:
        async with asyncio.timeout(20):
            while chat in self.service._turns:  # noqa: ASYNC110
                await asyncio.sleep(0)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Callable[[Room], Awaitable[None]]], None]:
    def play(scenario: Callable[[Room], Awaitable[None]]) -> None:
        async def main() -> None:
            store = await open_store(tmp_path / "chats.db")
            room = Room(store)
            try:
                await scenario(room)
            finally:
                await room.service.close()
                await store.close()

        asyncio.run(main())

    return play


def contents(turn: past.PastTurn) -> list[str]:
    return [line.content for line in turn.request.messages]


def test_what_was_fed_lies_with_the_answer(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        room.generator.prompts[chat] = FED
        answer = await room.ask(chat, "one")
        room.generator.prompts.clear()
        assert await room.store.prompt(answer.id) == FED
        turn = await room.service.past_turn(chat, answer.id)
        assert turn.fed == FED
        assert contents(turn) == ["one"]

    run(scenario)


def test_a_turn_in_the_middle_is_asked_as_it_was_then(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        await room.service.set_settings(
            chat, ConversationSettings(system_prompt="Be brief.", thinking=True, effort="high")
        )
        await room.ask(chat, "one")
        second = await room.ask(chat, "two")
        await room.ask(chat, "three")
        question = (await room.store.messages(chat))[2]
        for number in (second.id, question.id):  # the question of a turn leads to it as well
            turn = await room.service.past_turn(chat, number)
            assert contents(turn) == ["Be brief.", "one", "Hello.", "two"]
            assert turn.fed is None
            assert turn.answered
        conversation = await room.service.conversation(chat)
        assert conversation is not None
        assert (turn.request.thinking, turn.request.effort) == (True, "high")
        assert turn.request.since == conversation.created

    run(scenario)


def test_what_was_left_out_then_is_left_out(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        await room.ask(chat, "one")
        kept = await room.store.add_message(chat, Role.USER, "two", Status.DONE)
        answer = await room.store.add_message(chat, Role.ASSISTANT, "", Status.STREAMING)
        await room.store.finish_message(answer.id, "x", Status.DONE, sent_from=kept.id)
        assert contents(await room.service.past_turn(chat, answer.id)) == ["two"]

    run(scenario)


def test_a_prompt_of_another_length_than_was_counted_is_not_shown_as_fed(
    run: Callable[..., None],
) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        room.generator.prompts[chat] = FedPrompt("f00d", (1, 2))
        answer = await room.ask(chat, "one")
        assert await room.store.prompt(answer.id) is not None
        assert (await room.service.past_turn(chat, answer.id)).fed is None

    run(scenario)


def test_a_question_without_an_answer_and_a_chat_that_is_gone(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        question = await room.store.add_message(chat, Role.USER, "one", Status.DONE)
        turn = await room.service.past_turn(chat, question.id)
        assert not turn.answered
        assert contents(turn) == ["one"]
        await room.service.delete(chat)
        with pytest.raises(StoreError):
            await room.service.past_turn(chat, question.id)

    run(scenario)


@pytest.mark.parametrize("when_full", ["leave_out", "stop"])
def test_an_unanswered_question_is_shown_as_it_would_be_sent(
    run: Callable[..., None], when_full: str
) -> None:
    async def scenario(room: Room) -> None:
        room.settings = replace(room.settings, when_full=when_full, max_answer_tokens=7)
        chat = await room.chat()
        await room.ask(chat, "one")
        kept = await room.store.add_message(chat, Role.USER, "two", Status.DONE)
        answer = await room.store.add_message(chat, Role.ASSISTANT, "", Status.STREAMING)
        await room.store.finish_message(answer.id, "x", Status.DONE, sent_from=kept.id)
        question = await room.store.add_message(chat, Role.USER, "three", Status.DONE)
        shown = (await room.service.past_turn(chat, question.id)).request
        assert await room.service.regenerate(chat)
        await room.idle(chat)
        sent = room.generator.requests[-1]
        assert shown.messages == sent.messages
        assert (shown.max_tokens, shown.may_leave_out) == (sent.max_tokens, sent.may_leave_out)
        assert (sent.max_tokens, sent.may_leave_out) == (7, when_full == "leave_out")

    run(scenario)


def test_a_message_that_is_gone_is_not_taken_for_a_question(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        answer = await room.ask(chat, "one")
        await room.store.delete_messages_from(chat, answer.id)
        with pytest.raises(StoreError, match="deleted"):
            await room.service.past_turn(chat, answer.id)

    run(scenario)


def test_while_an_answer_is_written_its_prompt_is_known(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        room.generator.prompts[chat] = FED
        gate = room.generator.gate = asyncio.Semaphore(0)
        room.generator.scripts = [[Text("a"), Text("b")]]
        assert await room.service.send(chat, "one")
        gate.release()
        async with asyncio.timeout(20):
            while room.service.turn(chat).written == 0:  # noqa: ASYNC110
                await asyncio.sleep(0)
        answer = (await room.store.messages(chat))[-1]
        assert (await room.service.past_turn(chat, answer.id)).fed == FED
        room.service.stop(chat)
        await room.idle(chat)

    run(scenario)


def test_a_refused_turn_keeps_nothing(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        room.generator.prompts[chat] = FED
        room.generator.scripts = [[Ended(FinishReason.ERROR, Usage(), "No room.")]]
        answer = await room.ask(chat, "one")
        assert await room.store.prompt(answer.id) is None

    run(scenario)
