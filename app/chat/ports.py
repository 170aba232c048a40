"""What the domain needs of the outside: a generator, and a place for chats.

`client` and `store` satisfy these structurally; `main` hands them over.  A generator is narrow enough that any
OpenAI-compatible server could be a second one.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.chat.models import (
    ChatMessage,
    Conversation,
    ConversationSettings,
    FinishReason,
    Message,
    Sampling,
    Status,
    Summary,
    Toolbox,
    Usage,
)
from app.chat.urgency import Urgency
from app.chat.withheld import Withheld
from app.grammar.model import Form
from app.prompting import FedPrompt

# --- generator -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """One answer to be written.  `stop` strings end it and are not part of it; None tokens: no limit.

    `thinking` and `effort` say whether the model shall reason first, and how much (None and "": as it does by
    itself).  `since` is the moment that the template takes for the present (None: the present day): a chat has one
    for good, so that its prompt does not change with the clock.  `may_leave_out` says that the oldest messages are
    left out where not all fit; else such a request is refused.
    With a `form` the answer (not what is thought before it) is a text of it, unless it is cut short; it does not go
    with `ignore_eos`.
    `sampling_open` names the fields of `sampling` that nobody has chosen: there the model's own recommended values
    count.  With `top_logprobs` the text comes with the likelihoods of its tokens, and of so many others at each place.
    `urgency` may be changed by whoever asked while the request runs, and who ends it early finds in `withheld` what was
    written and not told yet.  `owner` is the number of the chat whose state
    this becomes, so that it can be kept over a restart and forgotten with the chat; 0 is nobody's.
    `toolbox` are the tools that the model may call; it is whoever asked that runs them.
    `aside`: the answer is no turn of its chat, so its prompt is not the chat's last one.
    `model` is the file of the model that is to answer, "" whichever there is.
    """

    messages: tuple[ChatMessage, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    urgency: Urgency = field(default_factory=Urgency, compare=False)
    withheld: Withheld = field(default_factory=Withheld, compare=False)
    owner: int = 0
    thinking: bool | None = None
    effort: str = ""
    since: float | None = None
    may_leave_out: bool = False
    form: Form | None = None
    sampling_open: frozenset[str] = frozenset()
    top_logprobs: int | None = None
    toolbox: Toolbox = Toolbox()
    aside: bool = False
    model: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not begun yet, or interrupted.  `place` is 1 for the next; 0 while there is no engine, `why` then says so."""

    place: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Counting:
    """The tokens of a long text are counted, which takes a moment: only then is it known whether it fits."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`done` of `total` prompt tokens are in; `cached` of them did not have to be read."""

    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class Thought:
    """More of what the model thinks before it answers, in whole characters; `tokens` as in `Text`."""

    text: str
    tokens: int = 1


@dataclass(frozen=True, slots=True)
class Chance:
    """The bytes of a token (none for a control token) and the natural logarithm of its probability."""

    piece: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How likely a token was by the model alone, before any sampling, and the `best` at its place, likeliest first."""

    own: Chance
    best: tuple[Chance, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """More of the answer, in whole characters.  `tokens` new tokens were written for it (0 is possible).

    `likelihoods` of the tokens whose last byte is in it, where the request asked for them.
    """

    text: str
    tokens: int = 1
    likelihoods: tuple[Likelihood, ...] = ()


@dataclass(frozen=True, slots=True)
class CallBegun:
    """The model calls the tool `name`; `index` counts the calls of an answer from 0."""

    index: int
    id: str
    name: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class CallArguments:
    """More of the arguments of a call; joined they are the JSON of an object, unless the call is broken."""

    index: int
    text: str
    tokens: int = 1


@dataclass(frozen=True, slots=True)
class CallBroken:
    """What was told of this call counts no more: its arguments never became JSON.  `text` was written instead.

    `cut`: the answer was ended in the middle of it, and not by the model; the `Ended` that follows says by what.
    """

    index: int
    text: str
    tokens: int = 1
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """The one terminal event.  `error` is for the user when the reason is ERROR or ENGINE_DIED, or LENGTH because the
    chat is full.

    `code` names the kind of error for programs ("context_length_exceeded"), or is "", and `field` what of the request
    is at fault, in the words of whoever made it.
    """

    reason: FinishReason
    usage: Usage
    error: str = ""
    code: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """So many of the messages, the oldest but for the system prompt, did not fit and are not sent."""

    messages: int


CallEvent = CallBegun | CallArguments | CallBroken
"""Only where the request has tools."""

Event = Waiting | Counting | LeftOut | Reading | Thought | Text | CallEvent | Ended


@dataclass(frozen=True, slots=True)
class Measured:
    """How long a prompt is, in tokens: all of it, and where the content of each message starts."""

    tokens: int
    starts: tuple[int, ...]


class Generator(Protocol):
    """Writes answers."""

    @property
    def model(self) -> str:
        """The file of the model that answers who wants no other; "" where there is none, or it could not be loaded."""
        ...

    def context_of(self, model: str) -> int:
        """The most tokens of one chat with this model, its answer included; 0 where it is not ready.

        "" is the model that answers who wants no other.
        """
        ...

    def generate(self, request: Request) -> AsyncIterator[Event]:
        """Yield events, `Ended` last and exactly once.

        Closing the iterator early (or cancelling the task that runs it) stops the request and frees its cells; text that
        is held back then is in `request.withheld`, to be taken before.
        Never raises an AppError: a refusal (a prompt that does not fit, no model) is an `Ended` with its words,
        before any text.  A request for a model that is not loaded has it loaded, and where there is no room beside those that
        are, waits until answers are over.  Text events may come at most once per engine step.
        """
        ...

    async def warm(self, request: Request) -> None:
        """Have read what a request will begin with that goes on from this one's messages with the user's next.

        Background work that costs no other request anything, and done once for the same messages; of the request only
        they and the owner count.  Returns when it is done, or at once where no model is ready or the messages cannot
        be read; never raises an AppError and never loads a model.  Cancelling stops it.
        """
        ...

    async def measure(self, request: Request) -> Measured | None:
        """How long the prompt of all its messages would be; None where no model is ready or they cannot be read."""
        ...

    async def forget(self, owner: int) -> None:
        """Drop all that was kept of this chat to make it quick, in memory and on disk; never raises an AppError."""
        ...

    def fed(self, text: str) -> tuple[int, ...]:
        """The tokens that were written for exactly this text, of an answer or of its reasoning; () where unknown."""
        ...

    def fed_prompt(self, owner: int) -> FedPrompt | None:
        """The prompt of this chat's last request, also of one that runs; None where that is not known."""
        ...

    async def count_tokens(self, text: str) -> int:
        """The number of tokens of `text` as message content; raises AppError where no model is ready."""
        ...


# --- store ---------------------------------------------------------------------------------------------------


class ConversationStore(Protocol):
    """Chats on disk.  Every call returns when the change is committed; raises StoreError."""

    async def create_conversation(self) -> Conversation: ...

    async def conversation(self, conversation_id: int) -> Conversation | None: ...

    async def conversations(self) -> Sequence[Conversation]:
        """All that are not deleted, newest change first."""
        ...

    async def rename(self, conversation_id: int, title: str) -> None: ...

    async def set_draft(self, conversation_id: int, draft: str) -> None: ...

    async def set_unread(self, conversation_id: int, unread: bool) -> None: ...

    async def set_settings(self, conversation_id: int, settings: ConversationSettings) -> None: ...

    async def set_model(self, conversation_id: int, path: str) -> None:
        """Which model the chat goes on with."""
        ...

    async def delete_conversation(self, conversation_id: int) -> None:
        """Delete it, and its messages, for good."""
        ...

    async def messages(self, conversation_id: int) -> Sequence[Message]:
        """In order."""
        ...

    async def add_message(
        self, conversation_id: int, role: str, text: str, status: Status
    ) -> Message: ...

    async def checkpoint(self, message_id: int, text: str, reasoning: str = "") -> None:
        """Keep the text of a streaming answer so far."""
        ...

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
        ...

    async def prompt(self, message_id: int) -> FedPrompt | None:
        """What was fed for this answer; None where that is not known."""
        ...

    async def summaries(self, conversation_id: int) -> Sequence[Summary]:
        """Those of this chat, oldest first; one goes with the last message that it covers."""
        ...

    async def add_summary(self, message_id: int, text: str) -> Summary | None:
        """Keep this as the summary up to that message; None where the message is gone."""
        ...

    async def delete_messages_from(self, conversation_id: int, message_id: int) -> None:
        """Delete this message and all after it."""
        ...

    async def open_tabs(self) -> tuple[tuple[int, ...], int]:
        """Ids of the chats in tabs, in order, and the index of the front one."""
        ...

    async def set_open_tabs(self, conversation_ids: Sequence[int], front: int) -> None: ...

    async def value(self, key: str) -> bytes | None:
        """A small value kept for the window (geometry)."""
        ...

    async def set_value(self, key: str, value: bytes) -> None: ...

    async def close(self) -> None: ...
