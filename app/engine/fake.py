"""A backend without a model, for property tests: llama.cpp's rules, and a deterministic next token.

The next token is a hash of all (position, token) pairs that the sequence can see, so that a wrong prefix, a
dirty sequence or a neighbour's cell shows up as a wrong answer although the decode returned 0, as it does with
the real library.  A recurrent memory keeps one running hash instead: a partial copy hands over the latest
state, and a tail cannot be removed.  A WINDOW memory sees its last tokens only,
forgets the others at once, and saves no more.
"""

import itertools
import pickle
import zlib
from collections.abc import Sequence

import numpy as np

from app.engine.backend import BackendInfo, Batch, DecodeResult, MemoryKind, Past
from app.engine.likelihood import LogArray, log_softmax
from app.sampling import Sampling

END = 0
WINDOW = 12
"""Tokens that a saved state of a WINDOW memory keeps, and that penalties look back on."""


_WORDS = ("true", "false", "null", '":', '",', '{"', "ab", "  ")
_HALVES = (b"\xc3", b"\xa9", b"\xf0", b"\x9f\x98")
PIECES = (
    b"",
    *(sign.encode() for sign in '{}[]:,"\\ \n-+.=0123456789abcdefghijklmnopqrstuvwxyz'),
    *(word.encode() for word in _WORDS),
    *_HALVES,
    b"x",
)
"""What each token writes: enough for JSON, with tokens across its borders and parts of characters; END nothing."""

Cell = tuple[int, int]
"""The position and the token of a cell."""


class FakeSampler:
    """Shifts the best token by a hash of the seed and the number of tokens chosen so far, and with penalties of the last
    tokens too, of prompt and answer, with DRY also of its breakers."""

    def __init__(
        self,
        backend: "FakeBackend",
        sampling: Sampling,
        seed: int,
        *,
        ban_ends: bool,
        past: Past,
    ) -> None:
        breakers = (past.breakers, *past.texts) if sampling.dries else ()
        self._breakers = zlib.crc32(repr(breakers).encode())
        self._remembers = sampling.penalises or sampling.dries
        self.greedy = sampling.plain
        self._backend = backend
        self._seed = seed
        self._ban_ends = ban_ends
        tokens = past.tokens.tolist()
        self._prompt = tokens[: len(tokens) - past.written]
        self._history = tokens[len(tokens) - past.written :]

    def sample(self, row: int) -> int:
        self.remember(self.propose(row))
        return int(self._history[-1])

    def propose(self, row: int) -> int:
        index = self._backend.output_rows.index(row)
        penalised = (self._prompt + self._history)[-WINDOW:] if self._remembers else []
        shift = _hash(self._seed, len(self._history), *penalised, self._breakers) % 5
        best = self._backend.argmax([index], ban_ends=[self._ban_ends])[0]
        return (best + shift) % self._backend.info.vocabulary or 1

    def among(self, row: int, tokens: Sequence[int]) -> int:
        index = self._backend.output_rows.index(row)
        best = self._backend.best_of(index, tokens)
        shift = _hash(self._seed, len(self._history)) % 5
        return sorted(tokens)[(tokens.index(best) + shift) % len(tokens)]

    def remember(self, token: int) -> None:
        self._history.append(token)

    def close(self) -> None:
        self._backend.open_samplers -= 1


class FakeBackend:
    """`cells` tokens of memory for `sequences` ids.

    A cell has a name of its own, under which each of its owners holds it: two at the same position stay two.
    """

    def __init__(
        self,
        *,
        cells: int = 128,
        sequences: int = 8,
        batch: int = 32,
        context: int | None = None,
        kind: MemoryKind = MemoryKind.ATTENTION,
    ) -> None:
        self.info = BackendInfo(
            kind=kind,
            cells=cells,
            context=min(context or cells, cells),
            sequences=sequences,
            batch=batch,
            ubatch=batch,
            vocabulary=64,
            end_tokens=(END,),
        )
        self.can_interrupt = kind is not MemoryKind.RECURRENT
        self.interrupted = False
        self._owners: dict[int, int] = {}
        self._held: dict[int, dict[int, Cell]] = {}
        self._named = itertools.count()
        self._states: dict[int, int] = {}
        self._windows: dict[int, dict[int, int]] = {}
        self._next: list[int] = []
        self.output_rows: list[int] = []
        self.open_samplers = 0
        self.decodes = 0

    def interrupt(self) -> None:
        self.interrupted = True

    def rearm(self) -> None:
        self.interrupted = False

    def decode(self, batch: Batch) -> DecodeResult:
        """An interrupt comes in the middle: what was evaluated before it stays."""
        if not self._valid(batch):
            return DecodeResult.INVALID
        if self.used + batch.size > self.info.cells:
            return DecodeResult.NO_ROOM
        self.decodes += 1
        self._next, self.output_rows = [], []
        rows = zip(batch.tokens, batch.positions, batch.sequences, batch.outputs, strict=True)
        stop_at = batch.size // 2 if self.interrupted else batch.size
        for index, (token, position, sequence, output) in enumerate(rows):
            if index == stop_at:
                return DecodeResult.ABORTED
            self._evaluate(int(sequence), int(position), int(token))
            if output:
                self.output_rows.append(index)
                self._next.append(self._best(int(sequence)))
        return DecodeResult.DONE

    def argmax(self, rows: Sequence[int], *, ban_ends: Sequence[bool]) -> list[int]:
        best = [self._next[row] for row in rows]
        return [token or 1 if ban else token for token, ban in zip(best, ban_ends, strict=True)]

    def ranked(self, row: int, count: int) -> list[int]:
        """As if each token were the next best after the one before it."""
        size = self.info.vocabulary
        return [(self._next[row] + step) % size for step in range(min(count, size))]

    def best_of(self, row: int, tokens: Sequence[int]) -> int:
        return min(tokens, key=lambda token: (token - self._next[row]) % self.info.vocabulary)

    def piece(self, token: int) -> bytes:
        return PIECES[token]

    def log_probabilities(self, output: int) -> LogArray:
        """The best token is e times as likely as any other."""
        logits = np.zeros(self.info.vocabulary, np.float32)
        logits[self._next[output]] = 1
        return log_softmax(logits)

    def sampler(
        self,
        sampling: Sampling,
        *,
        seed: int,
        ban_ends: bool,
        past: Past,
    ) -> FakeSampler:
        self.open_samplers += 1
        return FakeSampler(self, sampling, seed, ban_ends=ban_ends, past=past)

    def remove(self, sequence: int, start: int, end: int | None) -> bool:
        highest = self.span(sequence)[1]
        # To the end of all cells: those that have left a window are still its own.
        stop = self.info.cells if end is None else end
        if self.info.kind is MemoryKind.RECURRENT and start > 0 and start <= highest:
            return False
        held = self._held.get(sequence, {})
        for name in [name for name, (position, _) in held.items() if start <= position < stop]:
            del held[name]
            self._owners[name] -= 1
            if not self._owners[name]:
                del self._owners[name]
        if start == 0:
            self._states.pop(sequence, None)
        window = self._windows.get(sequence, {})
        self._windows[sequence] = {p: t for p, t in window.items() if not start <= p < stop}
        return True

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        # As the real one: a target that is not empty keeps what it has.
        held = self._held.setdefault(target, {})
        for name, cell in self._held.get(source, {}).items():
            if start <= cell[0] < end and name not in held:
                held[name] = cell
                self._owners[name] += 1
        window = self._windows.get(source, {})
        copied = {p: t for p, t in window.items() if start <= p < end}
        self._windows[target] = {**self._windows.get(target, {}), **copied}
        if source in self._states:
            self._states[target] = self._states[source]

    def save(self, sequence: int) -> bytes | None:
        cells = list(self._held.get(sequence, {}).values())
        return pickle.dumps((cells, self._tip(sequence), b"x" * 16 * len(cells)))

    def restore(self, sequence: int, data: bytes) -> bool:
        cells, tip, _ = pickle.loads(data)
        if len(cells) > self.info.cells - self.used or self.span(sequence) != (-1, -1):
            return False
        for cell in cells:
            self._take(sequence, cell)
        self._take_tip(sequence, tip)
        return True

    def save_tip(self, sequence: int) -> bytes | None:
        return pickle.dumps(self._tip(sequence))

    def load_tip(self, sequence: int, data: bytes) -> bool:
        self._take_tip(sequence, pickle.loads(data))
        return True

    def _tip(self, sequence: int) -> tuple[int | None, dict[int, int]]:
        latest = sorted(self._windows.get(sequence, {}).items())[-WINDOW:]
        return self._states.get(sequence), dict(latest)

    def _take_tip(self, sequence: int, tip: tuple[int | None, dict[int, int]]) -> None:
        state, self._windows[sequence] = tip[0], dict(tip[1])
        if state is not None:
            self._states[sequence] = state

    def span(self, sequence: int) -> tuple[int, int]:
        if self.info.kind is MemoryKind.WINDOW:
            positions = self._windows.get(sequence, {}).keys()
            return (min(positions), max(positions)) if positions else (-1, -1)
        cells = self._held.get(sequence, {}).values()
        return (min(cells)[0], max(cells)[0]) if cells else (-1, -1)

    def held(self, sequence: int) -> list[Cell]:
        """The cells that the sequence owns, in order."""
        return sorted(self._held.get(sequence, {}).values())

    def close(self) -> None:
        self._owners.clear()
        self._held.clear()

    @property
    def used(self) -> int:
        """Cells with an owner."""
        return len(self._owners)

    def _valid(self, batch: Batch) -> bool:
        ends: dict[int, int] = {}
        for position, sequence in zip(batch.positions, batch.sequences, strict=True):
            name = int(sequence)
            end = ends[name] if name in ends else self.span(name)[1]
            expected = end + 1
            if int(position) != expected or not 0 <= name < self.info.sequences:
                return False
            ends[name] = expected
        in_range = bool(np.all((batch.tokens >= 0) & (batch.tokens < self.info.vocabulary)))
        return in_range and 0 < batch.size <= self.info.batch

    def _take(self, sequence: int, cell: Cell) -> None:
        """A new cell."""
        name = next(self._named)
        self._owners[name] = 1
        self._held.setdefault(sequence, {})[name] = cell

    def _evaluate(self, sequence: int, position: int, token: int) -> None:
        self._take(sequence, (position, token))
        self._states[sequence] = _hash(self._states.get(sequence, 7), token)
        window = self._windows.setdefault(sequence, {})
        window[position] = token
        self._windows[sequence] = {p: t for p, t in window.items() if p > position - WINDOW}

    def _best(self, sequence: int) -> int:
        if self.info.kind is MemoryKind.RECURRENT:
            return self._states[sequence] % self.info.vocabulary
        return _hash(*self.held(sequence)) % self.info.vocabulary


def _hash(*values: int | tuple[int, int]) -> int:
    """That of whole numbers is the same in every process."""
    return hash(values) & 0xFFFF_FFFF
