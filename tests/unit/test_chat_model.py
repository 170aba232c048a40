"""The model of a chat: kept with its first question, asked for from then on, and changed only by the user."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from app.chat.events import ConversationChanged
from app.chat.turns import ChatService
from app.settings import Settings
from app.store.conversations import SqliteStore, open_store
from tests.fakes import FakeGenerator


def play(
    folder: Path, scenario: Callable[[ChatService, SqliteStore, FakeGenerator], Awaitable[None]]
) -> None:
    async def main() -> None:
        store = await open_store(folder / "chats.db")
        generator = FakeGenerator()
        service = ChatService(store, generator, Settings)
        try:
            await scenario(service, store, generator)
        finally:
            await service.close()
            await store.close()

    asyncio.run(main())


async def ask(service: ChatService, chat: int) -> None:
    assert await service.send(chat, "hi")
    async with asyncio.timeout(20):
        while service.turn(chat).busy:  # noqa: ASYNC110 - a turn of the loop, not a time, is waited for
            await asyncio.sleep(0)


async def model_of(store: SqliteStore, chat: int) -> str:
    found = await store.conversation(chat)
    assert found is not None
    return found.model


def test_the_first_question_keeps_the_model_that_there_is(tmp_path: Path) -> None:
    async def scenario(service: ChatService, store: SqliteStore, generator: FakeGenerator) -> None:
        chat = (await service.create()).id
        await ask(service, chat)
        assert await model_of(store, chat) == "", "there was none"
        for path in ("/a.gguf", "/b.gguf"):
            generator.model = path
            await ask(service, chat)
            assert await model_of(store, chat) == "/a.gguf"
        assert [request.model for request in generator.requests] == ["", "/a.gguf", "/a.gguf"]

    play(tmp_path, scenario)


def test_another_model_keeps_the_chat(tmp_path: Path) -> None:
    async def scenario(service: ChatService, store: SqliteStore, generator: FakeGenerator) -> None:
        chat, other = (await service.create()).id, (await service.create()).id
        generator.model = "/a.gguf"
        await ask(service, chat)
        await ask(service, other)
        told: list[str] = []
        service.subscribe(
            lambda event: (
                told.append(event.conversation.model)
                if isinstance(event, ConversationChanged)
                else None
            )
        )
        await service.use_model(chat, "/b.gguf")
        assert told[-1] == "/b.gguf"
        await ask(service, chat)
        assert generator.requests[-1].model == "/b.gguf"
        texts = [line.content for line in generator.requests[-1].messages]
        assert texts == ["hi", "Hello.", "hi"]
        assert await model_of(store, other) == "/a.gguf"

    play(tmp_path, scenario)
