"""What a chat tells its listeners: plain facts, delivered on the event loop in the order they happened."""

from dataclasses import dataclass

from app.chat.models import Conversation, Message, Summary, TabState


@dataclass(frozen=True, slots=True)
class TurnState:
    """The state of a chat's turn as its tab shows it.

    `place` (1 = next, 0 = there is no engine yet, `why` says so) and `counting` (the tokens of a long text) belong to
    WAITING, `done`/`total`/`cached` prompt tokens to READING; `tokens_per_second`, `written` and `thinking` (it is not the
    answer yet) to WRITING (`written` also to WAITING, where an answer was interrupted), `error` to FAILED.  `repeating`
    may be so in every busy state: what is written goes round in circles, and the user has not said that it may.
    """

    state: TabState = TabState.IDLE
    place: int = 0
    why: str = ""
    counting: bool = False
    done: int = 0
    total: int = 0
    cached: int = 0
    written: int = 0
    tokens_per_second: float = 0.0
    error: str = ""
    thinking: bool = False
    repeating: bool = False

    @property
    def busy(self) -> bool:
        return self.state in (TabState.WAITING, TabState.READING, TabState.WRITING)


@dataclass(frozen=True, slots=True)
class TurnChanged:
    """The turn of this chat has another state (figures at most ten times a second while it is reading or writing)."""

    conversation_id: int
    turn: TurnState


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A message was committed; an answer begins with status STREAMING and no text."""

    message: Message


@dataclass(frozen=True, slots=True)
class TextAppended:
    """More text of a streaming answer."""

    conversation_id: int
    message_id: int
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtAppended:
    """More of what the model thinks before a streaming answer."""

    conversation_id: int
    message_id: int
    text: str


@dataclass(frozen=True, slots=True)
class MessageFinished:
    """An answer is complete and committed."""

    message: Message


@dataclass(frozen=True, slots=True)
class MessagesRemoved:
    """This message and all after it are gone."""

    conversation_id: int
    message_id: int


@dataclass(frozen=True, slots=True)
class SummaryChanged:
    """Another summary, or none, stands for the oldest messages of this chat from now on."""

    conversation_id: int
    summary: Summary | None


@dataclass(frozen=True, slots=True)
class ConversationChanged:
    """Title, unread mark, settings or time of this chat changed, or it is new."""

    conversation: Conversation


@dataclass(frozen=True, slots=True)
class ConversationDeleted:
    """This chat is gone."""

    conversation_id: int


ChatEvent = (
    TurnChanged
    | MessageAdded
    | ThoughtAppended
    | TextAppended
    | MessageFinished
    | MessagesRemoved
    | SummaryChanged
    | ConversationChanged
    | ConversationDeleted
)
