"""Rows of the database to the domain's facts, and settings of a chat to JSON and back."""

import dataclasses
import json
import sqlite3

from app.chat.models import (
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
from app.settings import Settings, check

CONVERSATION = "id, title, created, updated, draft, unread, settings"
MESSAGE = (
    "id, conversation_id, role, text, status, created, finish, "
    "prompt_tokens, completion_tokens, cached_tokens, seconds, error"
)


def conversation(row: sqlite3.Row) -> Conversation:
    """From the columns of `CONVERSATION`."""
    number, title, created, updated, draft, unread, settings = row
    return Conversation(
        number, title, created, updated, draft, bool(unread), settings_from(settings)
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
    )


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
    general = Settings()
    prompt, most = raw.get("system_prompt"), raw.get("max_answer_tokens")
    return ConversationSettings(
        clean(prompt) if isinstance(prompt, str) else None,
        _sampling(raw.get("sampling")),
        most if check("max_answer_tokens", most, general.max_answer_tokens) else None,
    )


def _sampling(raw: object) -> Sampling | None:
    if not isinstance(raw, dict):
        return None
    usual = Sampling()
    good: dict[str, object] = {}
    for item in dataclasses.fields(Sampling):
        default = getattr(usual, item.name)
        if item.name in raw and check(item.name, raw[item.name], default):
            value = raw[item.name]
            good[item.name] = float(value) if isinstance(default, float) else value
    return dataclasses.replace(usual, **good)  # type: ignore[arg-type]
