"""Run by test_store_kill: chats until it is killed, and says what was shown and what was committed.

python store_child.py stream DATABASE
python store_child.py update DATABASE
"""

import asyncio
import json
import os
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from app.chat.events import ChatEvent, MessageAdded, MessageFinished, TextAppended
from app.chat.models import Role, Status
from app.chat.ports import Text
from app.chat.turns import ChatService
from app.settings import Settings
from app.store.conversations import SqliteStore, open_store
from app.store.database import Database
from app.store.migrations import STEPS
from tests.fakes import FakeGenerator

CHATS = 5
FINISHED_TURNS = 3
LONG = [Text(f"word{number} ") for number in range(20_000)]
HURRY = 400.0
"""How much faster than the wall the service's clock runs: checkpoints come every 2.5 ms."""


def say(*words: object) -> None:
    """One line in one write, so that a kill cannot cut it from what it tells of."""
    os.write(1, (json.dumps(words) + "\n").encode())


class Telling:
    """The store; says when a checkpoint is committed."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def checkpoint(self, message_id: int, text: str, reasoning: str = "") -> None:
        await self._store.checkpoint(message_id, text, reasoning)
        say("checkpoint", message_id, len(text))


def heard(event: ChatEvent) -> None:
    if isinstance(event, MessageAdded) and event.message.role is Role.USER:
        say("user", event.message.id, event.message.text)
    elif isinstance(event, MessageFinished):
        say("finished", event.message.id, event.message.text)
    elif isinstance(event, TextAppended):
        say("text", event.message_id, event.text)


async def stream(path: Path) -> None:
    store = await open_store(path)
    short = [[Text(f"answer {number}.")] for number in range(CHATS * FINISHED_TURNS)]
    generator = FakeGenerator(scripts=[*short, LONG])
    service = ChatService(
        Telling(store),  # type: ignore[arg-type]
        generator,
        Settings,
        clock=lambda: time.monotonic() * HURRY,
    )
    service.subscribe(heard)
    chats = [(await service.create()).id for _ in range(CHATS)]
    for number in range(FINISHED_TURNS):
        for chat in chats:
            await service.send(chat, f"question {number} of chat {chat}")
            while service.turn(chat).busy:  # noqa: ASYNC110 - turns of the loop
                await asyncio.sleep(0)
    say("streaming")
    for chat in chats:
        await service.send(chat, f"last question of chat {chat}")
    while any(service.turn(chat).busy for chat in chats):  # noqa: ASYNC110 - turns of the loop
        await asyncio.sleep(0)
    say("all done")


def slow_step(connection: sqlite3.Connection) -> None:
    """Add a column and fill it, message by message."""
    connection.execute("ALTER TABLE messages ADD COLUMN words INTEGER")
    ids: Sequence[tuple[int]] = connection.execute("SELECT id FROM messages").fetchall()
    for (number,) in ids:
        connection.execute("UPDATE messages SET words = length(text) WHERE id = ?", (number,))
        if number % 20 == 0:
            say("updated", number)


def index_step(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE INDEX messages_by_words ON messages (words)")
    say("indexed")


NEWER = (*STEPS, slow_step, index_step)


async def update(path: Path) -> None:
    database = Database(path)
    say("opening")
    await database.open(NEWER)
    say("open")
    await database.close()
    say("closed")


async def fill(path: Path, messages: int) -> None:
    """A database of the present shape; called by the test itself."""
    database = Database(path)
    await database.open()
    await database.write(lambda db: insert(db, messages))
    await database.close()


def insert(connection: sqlite3.Connection, messages: int) -> None:
    connection.execute("INSERT INTO conversations (created, updated) VALUES (1, 1)")
    connection.executemany(
        "INSERT INTO messages (conversation_id, role, text, status, created) VALUES (1, ?, ?, ?, 1)",
        [(Role.USER, f"message {number}", Status.DONE) for number in range(messages)],
    )


if __name__ == "__main__":
    asyncio.run({"stream": stream, "update": update}[sys.argv[1]](Path(sys.argv[2])))
