"""What a conversation is made of, as frozen facts.

Ids are integers given by the store.  Times are seconds since the epoch.  Text never holds lone surrogates or
NUL: `clean` makes it so once, at the entrance (window, API, import, model output).
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, get_args

from app.dialogue import Tool, Toolbox, ToolCall
from app.sampling import Sampling
from app.wire import FinishReason, Priority, Usage

__all__ = [
    "EFFORTS",
    "ChatMessage",
    "Conversation",
    "ConversationSettings",
    "Effort",
    "FinishReason",
    "Message",
    "Priority",
    "Role",
    "Sampling",
    "Status",
    "Summary",
    "TabState",
    "Tool",
    "ToolCall",
    "Toolbox",
    "Usage",
    "clean",
]

Effort = Literal["", "low", "medium", "high"]
"""How much a model may be told to reason; "" leaves it to the model."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)

_BAD = re.compile("[\ud800-\udfff\x00]")


def clean(text: str) -> str:
    """Replace lone surrogates and NUL by U+FFFD, and CRLF or CR by LF."""
    return _BAD.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


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
    """One line of a conversation as it goes to the model; see `Message` for what an answer has besides.

    `calls` are the tools that an assistant called; a line of a tool is the result of the call `call_id`, of `name`.
    One that `stays` is no message of the chat itself, and is left out only after all that can be.
    """

    role: Role
    content: str
    ids: tuple[int, ...] = ()
    reasoning: str = ""
    reasoning_ids: tuple[int, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    stays: bool = False


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """What a chat may have of its own; None means the user's general setting.

    `thinking` says whether the model shall reason before it answers, `effort` how much ("low", "medium", "high");
    None and "" leave it to the model.
    """

    system_prompt: str | None = None
    sampling: Sampling | None = None
    max_answer_tokens: int | None = None
    thinking: bool | None = None
    effort: Effort = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat.  `title` "" means none yet (shown as "New chat"), `model` is the file that it goes on with ("": any)."""

    id: int
    title: str
    created: float
    updated: float
    draft: str = ""
    unread: bool = False
    settings: ConversationSettings = field(default_factory=ConversationSettings)
    model: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message.  `finish` and `usage` are those of an answer; `error` says why it failed, or was cut.

    `reasoning` is what the model thought before it answered, for `thought_seconds`.  `ids` and `reasoning_ids` are
    the tokens that were written for exactly `text` and `reasoning`, where that is known: the chat goes on with them.
    `sent_from` is the first message that the model was shown for this answer where older ones did not fit, else 0.
    """

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
    reasoning: str = ""
    thought_seconds: float = 0.0
    ids: tuple[int, ...] = ()
    reasoning_ids: tuple[int, ...] = ()
    sent_from: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """What the model is shown in place of a chat's messages up to `message_id`, that one included."""

    conversation_id: int
    message_id: int
    text: str


class TabState(StrEnum):
    """What a tab says about its turn, in the design's words."""

    IDLE = "idle"
    WAITING = "waiting"
    READING = "reading"
    WRITING = "writing"
    DONE_UNREAD = "done"
    STOPPED = "stopped"
    FAILED = "failed"
