"""The chats on disk: `chat.ports.ConversationStore` over SQLite.

Text is made clean at the entrance (no lone surrogates, no NUL).  Ids are never given twice.  A change to a chat
that is gone does nothing, for the window may be a moment behind; a message for one raises StoreError.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from app import paths
from app.chat.models import (
    Conversation,
    ConversationSettings,
    FinishReason,
    Message,
    Role,
    Status,
    Summary,
    Usage,
    clean,
)
from app.errors import StoreError
from app.prompting import FedPrompt
from app.store import prompts, rows
from app.store.database import Database

_log = logging.getLogger(__name__)
_GONE = "This chat or message was deleted."


def database_path() -> Path:
    return paths.data_dir() / "chats.db"


async def open_store(path: Path, *, clock: Callable[[], float] = time.time) -> "SqliteStore":
    """Open the chats at `path`, or make a new file; raises StoreError.

    Answers that were being written when the last run died are marked as interrupted.  `clock` gives the times of
    chats and messages, in seconds since the epoch.
    """
    database = Database(path)
    await database.open()
    store = SqliteStore(database, clock)
    try:
        await store.mark_interrupted()
    except StoreError:
        await store.close()
        raise
    return store


class SqliteStore:
    """Made by `open_store`."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    @property
    def problems(self) -> tuple[str, ...]:
        """What was wrong with the file when it was opened, in words for the user."""
        return self._database.problems

    async def mark_interrupted(self) -> None:
        """Answers that no turn is writing are interrupted; for the start, before any turn."""
        await self._write(
            "UPDATE messages SET status = ? WHERE status = ?", Status.INTERRUPTED, Status.STREAMING
        )

    # chats

    async def create_conversation(self) -> Conversation:
        now = self._clock()
        return await self._database.write(
            lambda db: rows.conversation(
                db.execute(
                    f"INSERT INTO conversations (created, updated) VALUES (?, ?) RETURNING {rows.CONVERSATION}",
                    (now, now),
                ).fetchone()
            )
        )

    async def conversation(self, conversation_id: int) -> Conversation | None:
        found = await self._rows(
            f"SELECT {rows.CONVERSATION} FROM conversations WHERE id = ?", conversation_id
        )
        return rows.conversation(found[0]) if found else None

    async def conversations(self) -> Sequence[Conversation]:
        found = await self._rows(
            f"SELECT {rows.CONVERSATION} FROM conversations ORDER BY updated DESC, id DESC"
        )
        return [rows.conversation(row) for row in found]

    async def rename(self, conversation_id: int, title: str) -> None:
        await self._write(
            "UPDATE conversations SET title = ? WHERE id = ?", clean(title), conversation_id
        )

    async def set_draft(self, conversation_id: int, draft: str) -> None:
        await self._write(
            "UPDATE conversations SET draft = ? WHERE id = ?", clean(draft), conversation_id
        )

    async def set_unread(self, conversation_id: int, unread: bool) -> None:
        await self._write(
            "UPDATE conversations SET unread = ? WHERE id = ?", int(unread), conversation_id
        )

    async def set_settings(self, conversation_id: int, settings: ConversationSettings) -> None:
        await self._write(
            "UPDATE conversations SET settings = ? WHERE id = ?",
            rows.settings_text(settings),
            conversation_id,
        )

    async def set_model(self, conversation_id: int, path: str) -> None:
        await self._write(
            "UPDATE conversations SET model = ? WHERE id = ?", clean(path), conversation_id
        )

    async def delete_conversation(self, conversation_id: int) -> None:
        """Delete it, and its messages, for good: from the journal and from the backups too."""
        await self._erase("DELETE FROM conversations WHERE id = ?", conversation_id)

    # messages

    async def messages(self, conversation_id: int) -> Sequence[Message]:
        found = await self._rows(
            f"SELECT {rows.MESSAGE} FROM messages WHERE conversation_id = ? ORDER BY id",
            conversation_id,
        )
        return [rows.message(row) for row in found]

    async def add_message(
        self, conversation_id: int, role: str, text: str, status: Status
    ) -> Message:
        values = (conversation_id, Role(role), clean(text), status, self._clock())
        return await self._database.write(lambda db: _add_message(db, values))

    async def checkpoint(self, message_id: int, text: str, reasoning: str = "") -> None:
        """Keep the text so far; does nothing for a message that is finished or gone."""
        await self._write(
            "UPDATE messages SET text = ?, reasoning = ? WHERE id = ? AND status = ?",
            clean(text),
            clean(reasoning),
            message_id,
            Status.STREAMING,
        )

    async def finish_message(
        self,
        message_id: int,
        text: str,
        status: Status,
        *,
        finish: FinishReason | None = None,
        usage: Usage = Usage(),
        seconds: float = 0.0,
        error: str = "",
        reasoning: str = "",
        thought_seconds: float = 0.0,
        ids: Sequence[int] = (),
        reasoning_ids: Sequence[int] = (),
        sent_from: int = 0,
        prompt: FedPrompt | None = None,
    ) -> Message:
        """Keep the end of an answer, and in the same change what was fed for it."""
        values = (
            clean(text),
            status,
            finish,
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            seconds,
            clean(error),
            clean(reasoning),
            thought_seconds,
            rows.packed(ids),
            rows.packed(reasoning_ids),
            sent_from,
            message_id,
        )
        return await self._database.write(lambda db: _finish_message(db, values, prompt))

    async def prompt(self, message_id: int) -> FedPrompt | None:
        """What was fed for this answer; None where that is not known."""
        return await self._database.read(lambda db: prompts.read(db, message_id))

    async def summaries(self, conversation_id: int) -> Sequence[Summary]:
        """Those of this chat, oldest first."""
        found = await self._rows(
            "SELECT m.conversation_id, s.message_id, s.text FROM summaries s"
            " JOIN messages m ON m.id = s.message_id WHERE m.conversation_id = ? ORDER BY m.id",
            conversation_id,
        )
        return [Summary(*row) for row in found]

    async def add_summary(self, message_id: int, text: str) -> Summary | None:
        """Keep this as the summary up to that message; None where the message is gone."""
        return await self._database.write(lambda db: _add_summary(db, message_id, clean(text)))

    async def delete_messages_from(self, conversation_id: int, message_id: int) -> None:
        await self._erase(
            "DELETE FROM messages WHERE conversation_id = ? AND id >= ?",
            conversation_id,
            message_id,
        )

    # window

    async def open_tabs(self) -> tuple[tuple[int, ...], int]:
        found = await self._rows("SELECT conversation_id, front FROM open_tabs ORDER BY position")
        front = next((index for index, row in enumerate(found) if row[1]), 0)
        return tuple(row[0] for row in found), front

    async def set_open_tabs(self, conversation_ids: Sequence[int], front: int) -> None:
        """Chats that are gone are left out."""
        tabs = [
            (position, int(position == front), number)
            for position, number in enumerate(conversation_ids)
        ]
        await self._database.write(lambda db: _set_open_tabs(db, tabs))

    async def value(self, key: str) -> bytes | None:
        found = await self._rows("SELECT value FROM window_values WHERE key = ?", key)
        return bytes(found[0][0]) if found else None

    async def set_value(self, key: str, value: bytes) -> None:
        await self._write("INSERT OR REPLACE INTO window_values VALUES (?, ?)", key, value)

    async def close(self) -> None:
        """Wait for what was asked before, empty the journal into the file, close.  Twice is fine."""
        await self._database.close()

    async def _rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        return await self._database.read(lambda db: db.execute(query, values).fetchall())

    async def _write(self, statement: str, *values: object) -> None:
        await self._database.write(lambda db: _run(db, statement, values))

    async def _erase(self, statement: str, *values: object) -> None:
        await self._database.erase(lambda db: _run(db, statement, values))


def _run(db: sqlite3.Connection, statement: str, values: tuple[object, ...]) -> None:
    db.execute(statement, values)


def _add_message(db: sqlite3.Connection, values: tuple[object, ...]) -> Message:
    touched = db.execute(
        "UPDATE conversations SET updated = max(updated, ?) WHERE id = ?", (values[-1], values[0])
    )
    if touched.rowcount == 0:
        raise StoreError(_GONE)
    row = db.execute(
        "INSERT INTO messages (conversation_id, role, text, status, created) VALUES (?, ?, ?, ?, ?)"
        f" RETURNING {rows.MESSAGE}",
        values,
    ).fetchone()
    return rows.message(row)


def _finish_message(
    db: sqlite3.Connection, values: tuple[object, ...], prompt: FedPrompt | None
) -> Message:
    row = db.execute(
        "UPDATE messages SET text = ?, status = ?, finish = ?, prompt_tokens = ?, completion_tokens = ?,"
        " cached_tokens = ?, seconds = ?, error = ?, reasoning = ?, thought_seconds = ?, ids = ?, reasoning_ids = ?,"
        f" sent_from = ? WHERE id = ? RETURNING {rows.MESSAGE}",
        values,
    ).fetchone()
    if row is None:
        raise StoreError(_GONE)
    message = rows.message(row)
    if prompt is not None:
        _keep_prompt(db, message, prompt)
    return message


def _add_summary(db: sqlite3.Connection, message_id: int, text: str) -> Summary | None:
    chat = db.execute("SELECT conversation_id FROM messages WHERE id = ?", (message_id,)).fetchone()
    if chat is None:
        return None
    db.execute("INSERT OR REPLACE INTO summaries VALUES (?, ?)", (message_id, text))
    return Summary(chat[0], message_id, text)


def _keep_prompt(db: sqlite3.Connection, message: Message, prompt: FedPrompt) -> None:
    """Keep what was fed; an answer is not lost because that cannot be kept, unless the whole change is."""
    try:
        prompts.keep(db, message, prompt)
    except sqlite3.Error as error:
        if not db.in_transaction:
            raise
        _log.warning("chat %d: a prompt was not kept: %s", message.conversation_id, error)


def _set_open_tabs(db: sqlite3.Connection, tabs: list[tuple[int, int, int]]) -> None:
    db.execute("DELETE FROM open_tabs")
    db.executemany(
        "INSERT INTO open_tabs (position, front, conversation_id)"
        " SELECT ?, ?, id FROM conversations WHERE id = ?",
        tabs,
    )
