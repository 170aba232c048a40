"""What is read while the user types, and when that stops; over a real store and a scripted generator."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.chat.models import ChatMessage, ConversationSettings, Role
from app.chat.turns import ChatService
from app.settings import Settings
from app.store.conversations import SqliteStore, open_store
from tests.fakes import FakeGenerator


@dataclass
class Room:
    """A service over a real store; `gate` holds every warm-up until the test sets it."""

    service: ChatService
    store: SqliteStore
    generator: FakeGenerator
    gate: asyncio.Event

    async def until(self, happened: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not happened():  # noqa: ASYNC110 - a turn of the loop, not a time, is waited for
                await asyncio.sleep(0)

    async def chat(self) -> int:
        return (await self.service.create()).id

    async def ask(self, chat: int, text: str) -> None:
        assert await self.service.send(chat, text)
        await self.until(lambda: not self.service.turn(chat).busy)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Callable[[Room], Awaitable[None]]], None]:
    def play(scenario: Callable[[Room], Awaitable[None]]) -> None:
        async def main() -> None:
            store = await open_store(tmp_path / "chats.db")
            generator = FakeGenerator()
            generator.warm_gate = asyncio.Event()
            service = ChatService(store, generator, lambda: Settings(system_prompt="Be brief."))
            await scenario(Room(service, store, generator, generator.warm_gate))
            await service.close()
            left = asyncio.all_tasks() - {asyncio.current_task()}
            await store.close()
            assert not left
            assert generator.warming == 0

        asyncio.run(main())

    return play


Run = Callable[[Callable[[Room], Awaitable[None]]], None]
SYSTEM = ChatMessage(Role.SYSTEM, "Be brief.")


def test_the_history_is_read_as_the_model_will_be_shown_it(run: Run) -> None:
    async def scenario(room: Room) -> None:
        chat, new, own = [await room.chat() for _ in range(3)]
        await room.service.set_settings(own, ConversationSettings("Own."))
        await room.ask(chat, "Why?")
        for number, warmed in enumerate((chat, new, own), start=1):
            room.service.warm(warmed)
            await room.until(lambda number=number: len(room.generator.warmed) == number)
        assert [request.messages for request in room.generator.warmed] == [
            (SYSTEM, ChatMessage(Role.USER, "Why?"), ChatMessage(Role.ASSISTANT, "Hello.")),
            (SYSTEM,),
            (ChatMessage(Role.SYSTEM, "Own."),),
        ]
        assert [request.owner for request in room.generator.warmed] == [chat, new, own]
        await room.ask(chat, "More?")
        asked = room.generator.requests[-1].messages
        assert asked[:-1] == room.generator.warmed[0].messages

    run(scenario)


def test_one_at_a_time_in_each_chat(run: Run) -> None:
    async def scenario(room: Room) -> None:
        chats = [await room.chat() for _ in range(2)]
        for chat in chats * 3:
            room.service.warm(chat)
        await room.until(lambda: room.generator.warming == 2)
        assert len(room.generator.warmed) == 2
        room.gate.set()
        await room.until(lambda: room.generator.warming == 0)
        await asyncio.sleep(0)
        room.service.warm(chats[0])
        await room.until(lambda: len(room.generator.warmed) == 3)

    run(scenario)


@pytest.mark.parametrize("how", ["send", "regenerate", "delete", "leave"])
def test_it_stops_once_it_is_of_no_use(run: Run, how: str) -> None:
    async def scenario(room: Room) -> None:
        chat, other = await room.chat(), await room.chat()
        await room.ask(chat, "Why?")
        room.service.warm(chat)
        room.service.warm(other)
        await room.until(lambda: room.generator.warming == 2)
        if how == "send":
            await room.ask(chat, "More?")
        elif how == "regenerate":
            await room.service.regenerate(chat)
        elif how == "delete":
            await room.service.delete(chat)
        else:
            room.service.stop_warming(chat)
            room.service.stop_warming(chat)
        await room.until(lambda: room.generator.warming == 1)

    run(scenario)


def test_nothing_is_read_while_an_answer_is_written_or_after_the_end(run: Run) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        room.generator.gate = asyncio.Semaphore(0)
        await room.service.send(chat, "Why?")
        room.service.warm(chat)
        room.service.stop(chat)
        await room.until(lambda: not room.service.turn(chat).busy)
        assert room.generator.warmed == []
        await room.service.delete(chat)
        room.service.warm(chat)
        await room.service.close()
        room.service.warm(chat)
        assert room.generator.warmed == []

    run(scenario)
