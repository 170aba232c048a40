"""The prompts that were fed, each stored as what it has beyond an earlier one of its chat.

A chat's next prompt begins, as a rule, like the one before: so a chat of many turns takes as much room as its last prompt,
and not as the sum of all.  Tokens of different models are never mixed.
"""

import sqlite3
import sys
from collections.abc import Sequence
from itertools import chain

from app.chat.models import Message
from app.prompting import FedPrompt
from app.store.rows import packed, unpacked

_CHAIN = """
    WITH RECURSIVE chain (message_id, model, base, kept, rest) AS (
        SELECT message_id, model, base, kept, rest FROM prompts WHERE message_id = ?
        UNION ALL
        SELECT p.message_id, p.model, p.base, p.kept, p.rest FROM prompts p JOIN chain c ON p.message_id = c.base
        WHERE p.message_id < c.message_id
    )
    SELECT message_id, model, base, kept, rest FROM chain ORDER BY message_id DESC
"""


def keep(db: sqlite3.Connection, message: Message, prompt: FedPrompt) -> None:
    """Keep what was fed for this message."""
    base = _before(db, message.conversation_id, message.id, prompt.model)
    earlier = read(db, base) if base else None
    kept = _common(earlier.tokens, prompt.tokens) if earlier is not None else 0
    db.execute(
        "INSERT OR REPLACE INTO prompts (message_id, model, base, kept, rest) VALUES (?, ?, ?, ?, ?)",
        (message.id, prompt.model, base if kept else 0, kept, packed(prompt.tokens[kept:])),
    )


def read(db: sqlite3.Connection, message_id: int) -> FedPrompt | None:
    """What was fed for this message; None where that is not known, or was damaged."""
    rows = db.execute(_CHAIN, (message_id,)).fetchall()
    parts: list[tuple[int, ...]] = []
    # Of the row that comes next: its number, and how much of it the row before (a later prompt) begins with.
    number, shared = message_id, 0
    needed = sys.maxsize  # so many tokens, from the beginning, are still to be found
    for found, _, base, kept, rest in rows:
        own = unpacked(rest)
        if found != number or shared > kept + len(own):
            return None
        if needed > kept:
            parts.append(own[: needed - kept])
            needed = kept
        number, shared = base, kept
    if number or shared:
        return None
    return FedPrompt(rows[0][1], tuple(chain.from_iterable(reversed(parts))))


def _before(db: sqlite3.Connection, chat: int, message_id: int, model: str) -> int:
    """The latest earlier message of the chat with a prompt of this model; 0 where there is none."""
    found = db.execute(
        "SELECT max(p.message_id) FROM prompts p JOIN messages m ON m.id = p.message_id"
        " WHERE m.conversation_id = ? AND p.message_id < ? AND p.model = ?",
        (chat, message_id, model),
    ).fetchone()
    return int(found[0] or 0)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens the two have in common at their beginning."""
    most = min(len(left), len(right))
    return next((index for index in range(most) if left[index] != right[index]), most)
