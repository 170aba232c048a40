"""Rows of the database to the domain's facts, and settings of a chat to JSON and back."""

import dataclasses
import json
import sqlite3
import sys
from array import array
from collections.abc import Sequence

from app.chat.models import (
    EFFORTS,
    Conversation,
    ConversationSettings,
    FinishReason,
    Message,
    Role,
    Sampling,
    Status,
    Usage,
    clean,
)
from app.sampling import fill
from app.settings import check

CONVERSATION = "id, title, created, updated, draft, unread, settings, model"
MESSAGE = (
    "id, conversation_id, role, text, status, created, finish, "
    "prompt_tokens, completion_tokens, cached_tokens, seconds, error, "
    "reasoning, thought_seconds, ids, reasoning_ids, sent_from"
)


def conversation(row: sqlite3.Row) -> Conversation:
    """From the columns of `CONVERSATION`."""
    number, title, created, updated, draft, unread, settings, model = row
    return Conversation(
        number, title, created, updated, draft, bool(unread), settings_from(settings), model
    )


def message(row: sqlite3.Row) -> Message:
    """From the columns of `MESSAGE`."""
    (
        number,
        chat,
        role,
        text,
        status,
        created,
        finish,
        prompt,
        completion,
        cached,
        seconds,
        error,
        reasoning,
        thought_seconds,
        ids,
        reasoning_ids,
        sent_from,
    ) = row
    return Message(
        number,
        chat,
        Role(role),
        text,
        Status(status),
        created,
        FinishReason(finish) if finish is not None else None,
        Usage(prompt, completion, cached),
        seconds,
        error,
        reasoning,
        thought_seconds,
        unpacked(ids),
        unpacked(reasoning_ids),
        sent_from,
    )


def packed(ids: Sequence[int]) -> bytes:
    """Token ids as they are stored: little-endian int32."""
    table = array("i", ids)
    if sys.byteorder == "big":
        table.byteswap()
    return table.tobytes()


def unpacked(raw: bytes) -> tuple[int, ...]:
    """Token ids from what is stored; none where that was damaged."""
    table = array("i")
    if len(raw) % table.itemsize:
        return ()
    table.frombytes(raw)
    if sys.byteorder == "big":
        table.byteswap()
    return tuple(table)


def settings_text(settings: ConversationSettings) -> str:
    """As JSON; what is None is left out."""
    raw = {name: value for name, value in dataclasses.asdict(settings).items() if value is not None}
    if settings.system_prompt is not None:
        raw["system_prompt"] = clean(settings.system_prompt)
    return json.dumps(raw)


def settings_from(text: str) -> ConversationSettings:
    """From JSON; a value that is wrong counts as not given, one by one."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return ConversationSettings()
    if not isinstance(raw, dict):
        return ConversationSettings()
    prompt, most = raw.get("system_prompt"), raw.get("max_answer_tokens")
    thinking, effort = raw.get("thinking"), raw.get("effort")
    return ConversationSettings(
        clean(prompt) if isinstance(prompt, str) else None,
        _sampling(raw.get("sampling")),
        most if check("max_answer_tokens", most, int) else None,
        thinking if isinstance(thinking, bool) else None,
        next((known for known in EFFORTS if known == effort), ""),
    )


def _sampling(raw: object) -> Sampling | None:
    return fill(Sampling(), raw)[0] if isinstance(raw, dict) else None
