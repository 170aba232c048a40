"""The shape of the database, as a numbered list of steps.

`PRAGMA user_version` counts the steps that a file has seen.  Each step is one transaction together with its
number, so a process that is killed between or inside steps leaves a file that the next start goes on with.
A step that was once released is never changed; a new shape is a new step.
"""

import sqlite3
from collections.abc import Callable, Sequence

from app.store.connection import transaction

Step = Callable[[sqlite3.Connection], None]

APPLICATION_ID = 0x54757474
"""Marks a file as Tutti's ("Tutt")."""

_FIRST = (
    # `lineage` names this database for good, `changes` counts its commits.  Every commit writes the row, so that a
    # journal of another database never goes unnoticed.
    """CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        lineage BLOB NOT NULL,
        changes INTEGER NOT NULL
    ) STRICT""",
    "INSERT INTO meta VALUES (1, randomblob(16), 0)",
    # AUTOINCREMENT: an id is never given twice, so nothing late can reach another chat.
    """CREATE TABLE conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL DEFAULT '',
        created REAL NOT NULL,
        updated REAL NOT NULL,
        draft TEXT NOT NULL DEFAULT '',
        unread INTEGER NOT NULL DEFAULT 0 CHECK (unread IN (0, 1)),
        settings TEXT NOT NULL DEFAULT '{}'
    ) STRICT""",
    "CREATE INDEX conversations_by_time ON conversations (updated DESC, id DESC)",
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
        text TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('done', 'streaming', 'stopped', 'interrupted', 'failed')),
        created REAL NOT NULL,
        finish TEXT CHECK (finish IN ('stop', 'length', 'cancelled', 'error', 'engine_died')),
        prompt_tokens INTEGER NOT NULL DEFAULT 0,
        completion_tokens INTEGER NOT NULL DEFAULT 0,
        cached_tokens INTEGER NOT NULL DEFAULT 0,
        seconds REAL NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    "CREATE INDEX messages_of_conversation ON messages (conversation_id, id)",
    """CREATE TABLE open_tabs (
        position INTEGER PRIMARY KEY,
        conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        front INTEGER NOT NULL CHECK (front IN (0, 1))
    ) STRICT""",
    "CREATE TABLE window_values (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT",
)

# What was thought before an answer, the tokens (little-endian int32) that were written for the two texts, and the first
# message that was sent for it (0: all).
_REASONING = (
    "ALTER TABLE messages ADD COLUMN reasoning TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE messages ADD COLUMN thought_seconds REAL NOT NULL DEFAULT 0",
    "ALTER TABLE messages ADD COLUMN ids BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE messages ADD COLUMN reasoning_ids BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE messages ADD COLUMN sent_from INTEGER NOT NULL DEFAULT 0",
)

# What was fed for an answer: the first `kept` tokens of what was fed for the message `base` (0: none), and the rest.
_PROMPTS = (
    """CREATE TABLE prompts (
        message_id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        base INTEGER NOT NULL,
        kept INTEGER NOT NULL,
        rest BLOB NOT NULL
    ) STRICT""",
)

# What stands for the messages of a chat up to this one, that one included; a change there takes it away.
_SUMMARIES = (
    """CREATE TABLE summaries (
        message_id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
        text TEXT NOT NULL
    ) STRICT""",
)


# The file of the model that a chat goes on with; "" before its first question.
_MODELS = ("ALTER TABLE conversations ADD COLUMN model TEXT NOT NULL DEFAULT ''",)


def _all(statements: Sequence[str]) -> Step:
    def step(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return step


STEPS: tuple[Step, ...] = tuple(
    _all(statements) for statements in (_FIRST, _REASONING, _PROMPTS, _SUMMARIES, _MODELS)
)


def version(connection: sqlite3.Connection) -> int:
    """How many steps this file has seen."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> None:
    """Run the steps that this file has not seen."""
    for number in range(version(connection), len(steps)):
        with transaction(connection):
            steps[number](connection)
            connection.execute(f"PRAGMA user_version = {number + 1}")
