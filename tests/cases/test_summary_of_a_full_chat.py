"""A chat that gets full goes on with a summary: written from what the engine has in its pool, and of the lowest class."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from app.chat.models import Message, Priority
from app.chat.turns import ChatService
from app.engine.prefix import common_prefix
from app.settings import Settings
from app.store.conversations import SqliteStore, database_path, open_store
from tests import tiny_models
from tests.cases.whole import GREEDY, RealModel, pieces, until

pytestmark = pytest.mark.slow

WRITTEN = ("They ", "spoke of ", "a river.")
QUESTION = "the long river " * 40
"""600 tokens: every letter is one."""
SETTINGS = Settings(when_full="summarise", system_prompt="Be brief.", sampling=GREEDY)


async def ask(service: ChatService, store: SqliteStore, chat: int, text: str) -> Message:
    """Send, and wait for the answer and for what is done behind it."""
    assert await service.send(chat, text)
    await until(lambda: chat not in service._turns, "the end of the turn")
    await until(lambda: not service._summarising._running, "the summary")
    return (await store.messages(chat))[-1]


def test_a_full_chat_goes_on_with_a_summary(tmp_path: Path) -> None:
    path = tiny_models.talker(tmp_path / "reciter.gguf", recites=WRITTEN)

    async def scenario() -> None:
        store = await open_store(database_path())
        model = RealModel(path, pool_tokens=3072)
        service = ChatService(store, model, lambda: SETTINGS)
        try:
            await model.open()
            chat = (await service.create()).id
            for number in range(4):
                await ask(service, store, chat, f"{number} {QUESTION}")
            stands = await service.summary(chat)
            assert stands is not None
            assert stands.text == "".join(WRITTEN)
            (writing,) = [one for one in model.prompts.asked if one.priority is Priority.BACKGROUND]
            turns = [one for one in model.prompts.asked if one is not writing]
            covered = common_prefix(np.array(writing.tokens), np.array(turns[-1].tokens))
            assert covered > 600, "it goes on from the chat's own beginning"
            assert len(writing.tokens) - covered < 800, "and asks for the summary behind it"
            answer = await ask(service, store, chat, "And now?")
            sent = pieces(model).join(model.prompts.asked[-1].tokens).decode()
            assert stands.text in sent
            assert "0 the long river" not in sent
            assert "3 the long river" in sent
            past = await service.past_turn(chat, answer.id)
            assert past.fed is not None
            assert past.fed.tokens == model.prompts.asked[-1].tokens
        finally:
            await service.close()
            await model.close()
            await store.close()

    asyncio.run(scenario())
