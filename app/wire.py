"""Everything that crosses a process border, as frozen dataclasses.

The app spawns two kinds of child (design: the engine takes token ids and gives token ids; the text worker
holds templates and the vocabulary), and for a file that is new a third, which checks it and ends with `Examined`.  A child first says `Ready`; the app then sends `Load`; the child answers
with `Progress` and at last `Loaded`, `VocabularyLoaded` or `LoadFailed`.  Every `Submit` is answered by exactly
one `Finished`, and every `Render`, `Tokenize`, `Constrain` or `Inspect` by exactly one reply with the same
`request_id`.
Closing the pipe means that the parent is gone, or that the child is.
"""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from app.counters import Counters
from app.device import Device
from app.dialogue import Calling, ChatLine, Thinking, ThoughtTags, Tool, Wishes
from app.errors import MemoryPart
from app.grammar.model import Constrain, Constrained, FormRefused, Grammar
from app.prompting import Finding, Question
from app.sampling import LogProbs, Sampling, Values
from app.verdict import Verdict

PROTOCOL = 12
"""Raised whenever a message changes its shape; a child of another number is refused."""


class FinishReason(StrEnum):
    """Why a request ended."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"
    ERROR = "error"
    ENGINE_DIED = "engine_died"


class Priority(IntEnum):
    """Scheduling class; the smaller number goes first."""

    FRONT = 0
    NORMAL = 1
    BACKGROUND = 2


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one request.

    `cached_tokens` are those of the prompt that were not evaluated for this request because another sequence
    (or an earlier turn) already had them in the pool.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class LoadParams:
    """How a model is loaded; 0 or "" lets the engine choose.

    `pool_tokens` is the size of the one KV pool that all chats share, `sequences` the most chats that decode at
    once, `batch` the most tokens of one step, `threads` the threads of a step, `gpu_layers` -1 all that fit,
    `device` the name of the one to compute on, `gap` how many times as long a step may take when it also reads while others write,
    `spill_bytes` the memory for the states of chats that are not in the pool, `disk_bytes` the room for those
    of all models in `states_folder` ("": nothing is written to disk).
    With `yielding` the pool may come out smaller, or uncompressed, where llama.cpp refuses it as it is: for numbers
    that nobody has asked for.  `template` is the user's own, for the text worker alone ("": the model's).
    """

    path: str
    pool_tokens: int = 8192
    sequences: int = 8
    batch: int = 512
    threads: int = 0
    gpu_layers: int = -1
    device: str = ""
    kv_type: str = "f16"
    mmap: bool = True
    kv_offload: bool = True
    spill_bytes: int = 1 << 30
    gap: float = 3.0
    states_folder: str = ""
    disk_bytes: int = 4 << 30
    yielding: bool = False
    template: str = ""


# --- both children -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ready:
    """First word of a child: it runs and listens.  `devices` of an engine, GPUs first."""

    protocol: int
    pid: int
    version: str
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    """Load this model; sent once."""

    params: LoadParams


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the load is, 0 to 1, and what is being done, in words."""

    fraction: float
    doing: str


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """The model was refused; `reason` is for the user, in one or two sentences.  The child then ends.

    `short_of` is what there was no memory for, where that was the reason.
    """

    reason: str
    short_of: MemoryPart | None = None


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End in order: finish nothing, free everything, exit 0.  Also ends a load that is running."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Sent at least once a second while the child's loop turns."""


@dataclass(frozen=True, slots=True)
class LastWords:
    """What the child could still say before it died of an exception."""

    reason: str
    detail: str


# --- engine, towards it and from it ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submit:
    """Continue `tokens`.  At most `max_tokens` new ones (None: until the pool or the model's context ends).

    With `max_tokens` 0 the prompt is only read, but for its last token, so that a later request finds it read.

    `ignore_eos` forbids the end-of-generation tokens, so that the answer has exactly `max_tokens`.
    `end_tokens` end the answer besides the vocabulary's own.
    `marks` are positions in `tokens` (the ends of the system prompt and of each turn) from which another request
    may want to go on; a memory that cannot be cut keeps its state there.
    `owner` is the number of the chat whose state this becomes; 0 is nobody's, and is never written to disk.
    `written` of the last tokens are this answer's own, from an earlier life of the engine: the random numbers of a seed go
    on behind those that chose them.
    `breakers` has a bit for each token, the first one highest: whether it ends a repetition for DRY; `breaker_texts` are what
    also ends one where several tokens write it together.
    With `top_logprobs` each token comes with its log-probability, and with those of so many others.
    With a `grammar` the answer is a text of it; it does not go with `ignore_eos`.
    """

    request_id: int
    tokens: tuple[int, ...]
    sampling: Sampling
    max_tokens: int | None = None
    ignore_eos: bool = False
    end_tokens: tuple[int, ...] = ()
    priority: Priority = Priority.NORMAL
    marks: tuple[int, ...] = ()
    owner: int = 0
    written: int = 0
    breakers: bytes = b""
    breaker_texts: tuple[bytes, ...] = ()
    top_logprobs: int | None = None
    grammar: Grammar | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop everything that is kept of a chat (its `owner` number), in memory and on disk."""

    owner: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Stop this request, in whatever phase; twice, or too late, is fine."""

    request_id: int


@dataclass(frozen=True, slots=True)
class SetPriority:
    """Change the scheduling class of a request, also in the middle of its answer."""

    request_id: int
    priority: Priority


@dataclass(frozen=True, slots=True)
class Loaded:
    """The engine is ready.  `pool_tokens` and `sequences` are what llama.cpp really gave.

    `context_tokens` is the most one chat may hold: the smaller of the pool and the length the model was trained
    for.  `notes` says what had to be done otherwise than asked (flash attention refused, a smaller pool).
    `fingerprint` is that of the file that was read.
    """

    description: str
    device: str
    pool_tokens: int
    context_tokens: int
    sequences: int
    vocabulary: int
    memory: str
    fingerprint: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenOut:
    """One new token of one request."""

    request_id: int
    token: int
    logprobs: LogProbs | None = None


@dataclass(frozen=True, slots=True)
class ReadingNow:
    """`done` of `total` prompt tokens are in the pool; `cached` of them were there before."""

    request_id: int
    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class WaitingNow:
    """The request waits; `place` is 1 for the next."""

    request_id: int
    place: int


@dataclass(frozen=True, slots=True)
class Begun:
    """These requests wait no more.  Sent before their first step: should that be the engine's last, who was in it is known."""

    request_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The one terminal event of a request."""

    request_id: int
    reason: FinishReason
    usage: Usage
    error: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """All that one step brought forth, in one message, so that the app wakes up once a step."""

    counters: Counters
    tokens: tuple[TokenOut, ...] = ()
    reading: tuple[ReadingNow, ...] = ()
    waiting: tuple[WaitingNow, ...] = ()
    finished: tuple[Finished, ...] = ()


# --- text worker, towards it and from it -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Render:
    """Render the template over these lines, with the opening of an answer at the end, and tokenise."""

    request_id: int
    lines: tuple[ChatLine, ...]
    wishes: Wishes = Wishes()
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Tokenize:
    """Count the tokens of a piece of content (a draft): data, never control."""

    request_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Inspect:
    """Ask about the prompt format, or change it; answered by `Inspected`, or `TextFailed` where that cannot be."""

    request_id: int
    question: Question


@dataclass(frozen=True, slots=True)
class VocabularyLoaded:
    """The text worker is ready.

    Token i is `pieces[ends[i-1]:ends[i]]` (`ends` packed as little-endian uint32); control tokens have an empty
    piece, for they are never shown.  `format_name` says which prompt format is used and `notes` why, if it is
    not the model's own.  `stop` are strings that end every answer, for formats whose turns no token ends.
    `recommended` are the values of sampling that the file advises.  `fingerprint` is that of the file that was read.
    """

    pieces: bytes
    ends: bytes
    end_tokens: tuple[int, ...]
    format_name: str
    fingerprint: str
    notes: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    thinking: Thinking = Thinking()
    recommended: Values = ()
    calling: Calling = Calling()


@dataclass(frozen=True, slots=True)
class Rendered:
    """The ids to feed, each line's content's span [start, end) in them, and the tags of reasoning that they open.

    `folded`: the template knows no tools, and what was said of them is text in the messages.
    """

    request_id: int
    tokens: tuple[int, ...]
    spans: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = field(default=())
    opened: ThoughtTags | None = None
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Tokenized:
    """The number of tokens."""

    request_id: int
    count: int


@dataclass(frozen=True, slots=True)
class Inspected:
    """What the question asked for."""

    request_id: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class TextFailed:
    """This request could not be answered; `reason` is for the user."""

    request_id: int
    reason: str


# --- the check of a file, from it ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Examined:
    """The file was opened, and this was found; the last word of the process that did it."""

    verdict: Verdict


EngineCommand = Load | Submit | Abort | SetPriority | Forget | Shutdown
EngineEvent = Ready | Progress | Loaded | LoadFailed | Begun | Step | Heartbeat | LastWords
TextCommand = Load | Render | Tokenize | Constrain | Inspect | Shutdown
TextReply = Rendered | Tokenized | Constrained | FormRefused | Inspected | TextFailed
TextEvent = Ready | Progress | VocabularyLoaded | LoadFailed | TextReply | Heartbeat | LastWords
Message = EngineCommand | EngineEvent | TextCommand | TextEvent | Examined
