"""What a conversation is made of, as frozen facts.

Ids are integers given by the store.  Times are seconds since the epoch.  Text never holds lone surrogates or
NUL: `clean` makes it so once, at the entrance (window, API, import, model output).
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from app.wire import FinishReason, Priority, Sampling, Usage

__all__ = [
    "ChatMessage",
    "Conversation",
    "ConversationSettings",
    "FinishReason",
    "Message",
    "Priority",
    "Role",
    "Sampling",
    "Status",
    "TabState",
    "Usage",
    "clean",
]

_BAD = re.compile("[\ud800-\udfff\x00]")


def clean(text: str) -> str:
    """Replace lone surrogates and NUL by U+FFFD, and CRLF or CR by LF."""
    return _BAD.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Status(StrEnum):
    """The state of a stored message.

    `STREAMING` rows found at start belong to a run that died: they become `INTERRUPTED`.
    """

    DONE = "done"
    STREAMING = "streaming"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One line of a conversation as it goes to the model."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """What a chat may have of its own; None means the user's general setting."""

    system_prompt: str | None = None
    sampling: Sampling | None = None
    max_answer_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat.  `title` "" means none yet (shown as "New chat")."""

    id: int
    title: str
    created: float
    updated: float
    draft: str = ""
    unread: bool = False
    settings: ConversationSettings = field(default_factory=ConversationSettings)


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message.  `finish` and `usage` are those of an answer; `error` says why it failed, or was cut."""

    id: int
    conversation_id: int
    role: Role
    text: str
    status: Status
    created: float
    finish: FinishReason | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str = ""


class TabState(StrEnum):
    """What a tab says about its turn, in the design's words."""

    IDLE = "idle"
    WAITING = "waiting"
    READING = "reading"
    WRITING = "writing"
    DONE_UNREAD = "done"
    STOPPED = "stopped"
    FAILED = "failed"
