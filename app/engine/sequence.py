"""One request's facts; everything else is derived from them."""

from dataclasses import dataclass, field

import numpy as np

from app.engine import checkpoints
from app.engine.backend import Sampler, TokenArray
from app.engine.constraint import Constraint
from app.engine.slot import Slot
from app.engine.token_buffer import TokenBuffer
from app.wire import Priority, Submit, Usage

PATIENCE = 512
"""How long a waiting or reading request is passed over until it moves up one class: steps in which only others wrote
count once, steps in which others' prompts were read `PROMPT_STEP` times."""

PROMPT_STEP = 8


@dataclass(eq=False, slots=True)
class Sequence:
    """A request on its way: waiting (no slot), reading (more than one token to evaluate) or running.

    `tokens` are prompt and answer; `slot` holds the evaluated part of them.  `constraint` is the grammar that the answer
    has to keep, if any.  `priority` and `owner` begin as those of `submit`, and may be changed; the owner is negative where
    that chat was deleted meanwhile.  `arrival` orders requests of one class and is kept when the request is parked.
    `elapsed` counts all prefill tokens, its own too, that were read while this one was reading, `passed` the steps that
    passed it over, as `PATIENCE` counts them, and `overtaken` the requests of a better class that began while there was
    no room for it; `turn_began` is the time since when it decodes and `last_turn` when that last began, where chats take
    turns; `boost` is the class of the most urgent request that waits for this one's prefix, and `awaits` the request whose
    reading this one waits for, up to that many tokens; `marks` are the positions at which a chunk ends: the state there is to be kept,
    or another request goes on from there; `squeezed` says that the last step found no room for it, although it was alone.
    """

    submit: Submit
    arrival: int
    submitted_at: float
    sampler: Sampler
    constraint: Constraint | None = None
    tokens: TokenBuffer = field(init=False)
    prompt_length: int = field(init=False)
    priority: Priority = field(init=False)
    owner: int = field(init=False)
    slot: Slot | None = None
    cached: int = 0
    admitted: bool = False
    elapsed: int = 0
    passed: int = 0
    overtaken: int = 0
    turn_began: float | None = None
    last_turn: float = -1.0
    boost: Priority = Priority.BACKGROUND
    awaits: "tuple[Sequence, int] | None" = None
    place: int = 0
    marks: tuple[int, ...] = ()
    squeezed: bool = False

    def __post_init__(self) -> None:
        self.tokens = TokenBuffer(np.array(self.submit.tokens, np.int32))
        self.prompt_length = self.tokens.length
        self.priority = self.submit.priority
        self.owner = self.submit.owner

    @property
    def id(self) -> int:
        return self.submit.request_id

    @property
    def written(self) -> int:
        return self.tokens.length - self.prompt_length

    @property
    def evaluated(self) -> int:
        return self.slot.tokens.length if self.slot is not None else 0

    @property
    def remaining(self) -> int:
        """Tokens that must be evaluated before the next one can be chosen; 1 while running."""
        return self.tokens.length - self.evaluated

    @property
    def chunk_limit(self) -> int:
        """The most tokens that its next chunk may hold: up to the next mark."""
        at = self.evaluated
        end = len(self.tokens) if self.wants_token else len(self.tokens) - 1
        return min(mark - at for mark in (*self.marks, end) if mark > at)

    def mark_for_forks(self) -> None:
        """Set the marks: those of the request, and one token before the prompt's end, to write it again."""
        end = self.prompt_length - 1
        marks = sorted({mark for mark in (*self.submit.marks, end) if 0 < mark <= end})
        self.marks = tuple(checkpoints.thinned(marks, checkpoints.MOST))

    @property
    def running(self) -> bool:
        """Whether its next step is a decode row: all is evaluated but the token that was written last."""
        # Asked several times a step for every sequence, hence without the properties above.
        slot, length = self.slot, self.tokens.length
        return slot is not None and length - slot.tokens.length == 1 and length > self.prompt_length

    @property
    def reading(self) -> bool:
        return self.slot is not None and not self.running

    @property
    def claim(self) -> Priority:
        """Its own class, or that of who waits for it: how urgent somebody wants it, however long it has waited."""
        return min(self.priority, self.boost)

    @property
    def level(self) -> int:
        """The class that counts for reading and for room: its claim, better by one for every `PATIENCE`."""
        return max(0, self.claim - self.passed // PATIENCE)

    @property
    def background(self) -> bool:
        """Whether it only uses the time that nobody else wants."""
        return self.level >= Priority.BACKGROUND

    @property
    def urgency(self) -> tuple[int, int]:
        """Sort key: class, then arrival."""
        return (self.level, self.arrival)

    @property
    def wants_token(self) -> bool:
        """False for a request that only reads (`max_tokens` 0), so that a later one finds its prompt read."""
        return self.submit.max_tokens != 0

    @property
    def usage(self) -> Usage:
        return Usage(self.prompt_length, self.written, self.cached)

    def next_tokens(self, count: int) -> TokenArray:
        """The next `count` tokens to evaluate."""
        start = self.evaluated
        return self.tokens.view[start : start + count]
