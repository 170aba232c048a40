"""The port between the engine's logic and llama.cpp.

`model.LlamaBackend` is the real one, `fake.FakeBackend` reproduces its rules (including results that are wrong
although the return code is 0) for property tests.  Positions count from 0; a range is [start, end), and
`end` None means "to the end of the sequence".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.sampling import Sampling

TokenArray = npt.NDArray[np.int32]


class MemoryKind(Enum):
    """How a model remembers; it decides how far a prefix may be reused.

    ATTENTION: any prefix of any sequence; a saved state may be used in part.
    WINDOW: a sliding window.  Cells that have left a sequence's window are given to whoever needs one (with
    `swa_full` too, once the pool has been gone through), so that a prefix is only whole where its tip was kept.
    RECURRENT: one state after the last token; the same holds (recurrent, hybrid).
    """

    ATTENTION = "attention"
    WINDOW = "window"
    RECURRENT = "recurrent"


class DecodeResult(IntEnum):
    """What `llama_decode` returned."""

    DONE = 0
    NO_ROOM = 1
    ABORTED = 2
    INVALID = -1
    FAILED = -2


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """What was really created.

    `cells` is the size of the pool in tokens, `context` the most tokens one sequence may hold, `sequences` the
    number of sequence ids, `batch` the most tokens of one decode call, of which `ubatch` are evaluated at a time: an
    interrupted call keeps whole ones.
    """

    kind: MemoryKind
    cells: int
    context: int
    sequences: int
    batch: int
    ubatch: int
    vocabulary: int
    end_tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one decode call: parallel arrays, one entry a token.

    `outputs` marks the rows whose logits are wanted; output i of the call is the i-th marked row.
    """

    tokens: TokenArray
    positions: TokenArray
    sequences: TokenArray
    outputs: npt.NDArray[np.int8]

    @property
    def size(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, slots=True)
class Past:
    """What a sampler looks back on: the `tokens` of a prompt, of which it chose the last `written` itself.

    For DRY, `breakers` has a bit for each token, the first one highest: whether it ends a repetition; `texts` end one, too,
    where several tokens write them together.
    """

    tokens: TokenArray
    written: int = 0
    breakers: bytes = b""
    texts: tuple[bytes, ...] = ()


class Sampler(Protocol):
    """One request's way to choose tokens: its own chain, history and random numbers."""

    @property
    def greedy(self) -> bool:
        """Plain argmax over the logits, which the backend does for all such rows at once."""
        ...

    def sample(self, row: int) -> int:
        """Choose a token from the logits of batch row `row` of the last decode, and remember it."""
        ...

    def propose(self, row: int) -> int:
        """Choose as `sample` does, but remember nothing: the token may yet be refused."""
        ...

    def among(self, row: int, tokens: Sequence[int]) -> int:
        """Choose one of these tokens (at least one) after a proposal was refused; takes no random number of its own."""
        ...

    def remember(self, token: int) -> None:
        """Take in what was chosen in the end, after `propose`."""
        ...

    def close(self) -> None:
        """Free it."""
        ...


class Backend(Protocol):
    """One model with one pool.  Not thread-safe: one thread makes every call."""

    @property
    def info(self) -> BackendInfo: ...

    def decode(self, batch: Batch) -> DecodeResult:
        """Evaluate the rows; after ABORTED some first part of them may have been evaluated: ask `span`."""
        ...

    @property
    def can_interrupt(self) -> bool:
        """Whether an interrupted decode leaves a state that can be trusted (not on a recurrent memory)."""
        ...

    def interrupt(self) -> None:
        """Let a decode that runs, or the next one, end early with ABORTED; may be called from any thread."""
        ...

    def rearm(self) -> None:
        """Take back an interrupt that came too late."""
        ...

    def argmax(self, rows: Sequence[int], *, ban_ends: Sequence[bool]) -> list[int]:
        """The best token of each output `rows[i]` (an index into the outputs, in batch order).

        Where `ban_ends[i]` is true the end tokens cannot be chosen.
        """
        ...

    def ranked(self, row: int, count: int) -> list[int]:
        """The `count` best tokens of output `row` (an index into the outputs), best first."""
        ...

    def best_of(self, row: int, tokens: Sequence[int]) -> int:
        """The best of these tokens (at least one) for output `row`."""
        ...

    def piece(self, token: int) -> bytes:
        """What a token writes; nothing for a control token."""
        ...

    def log_probabilities(self, output: int) -> npt.NDArray[np.float32]:
        """A logarithm for each token of the vocabulary, from the logits of this output; before anything is chosen."""
        ...

    def sampler(
        self,
        sampling: Sampling,
        *,
        seed: int,
        ban_ends: bool,
        past: Past,
    ) -> Sampler:
        """A sampler that goes on as one of this seed would behind this past."""
        ...

    def remove(self, sequence: int, start: int, end: int | None) -> bool: ...

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        """Share the cells of `source` in the range with `target`, which must be empty."""
        ...

    def save(self, sequence: int) -> bytes | None:
        """The state of a whole sequence; None when it cannot be had."""
        ...

    def restore(self, sequence: int, data: bytes) -> bool:
        """Put a saved state into `sequence`, which must be empty; False (and still empty) when it is refused."""
        ...

    def save_tip(self, sequence: int) -> bytes | None:
        """What the sequence's last position needs besides its cells (recurrent state, window); None: not to be had.

        With it a fork that shares cells up to this position is right, wherever the source goes on to.
        """
        ...

    def load_tip(self, sequence: int, data: bytes) -> bool:
        """Give a fork (a copy of the cells up to the same position) its tip; False when it is refused."""
        ...

    def span(self, sequence: int) -> tuple[int, int]:
        """Lowest and highest position, (-1, -1) when empty."""
        ...

    def close(self) -> None: ...
