"""What the engine really evaluated, from its decode log (`TUTTI_DECODE_LOG`), not from its own word.

Every sequence's content is followed through copies, cuts, saves and restores, so that a token that was evaluated
before, after the same tokens, is found out wherever it is evaluated again.  A call that was interrupted counts for
nothing.
"""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A decode call: when it was done (`time.perf_counter` seconds), how many tokens it had, and the sequences that
    asked for an output."""

    at: float
    tokens: int
    outputs: tuple[int, ...]


@dataclass(slots=True)
class Evaluation:
    """`again` are tokens that had been evaluated before with the same beginning.

    The last token of a prompt must be evaluated even where all of it is known: it counts as `again` then.
    """

    calls: list[Call] = field(default_factory=list)
    again: int = 0

    @property
    def tokens(self) -> int:
        return sum(call.tokens for call in self.calls)

    def read(self, written: Iterable[int]) -> int:
        """Prompt tokens evaluated, when each answer had so many tokens: the last of an answer is never evaluated."""
        return self.tokens - sum(max(0, count - 1) for count in written)

    def outputs(self) -> dict[int, list[float]]:
        """When each sequence got its outputs."""
        found: dict[int, list[float]] = {}
        for call in self.calls:
            for sequence in call.outputs:
                found.setdefault(sequence, []).append(call.at)
        return found


def evaluation(path: Path) -> Evaluation:
    """Read a log; one that is not there yet is empty, and a line that is still being written does not count."""
    if not path.exists():
        return Evaluation()
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    replay = _Replay()
    for line in lines:
        replay.take(json.loads(line))
    return replay.found


class _Replay:
    """The pool as the log tells it: for each sequence, the key of the beginning that ends at each position."""

    def __init__(self) -> None:
        self.found = Evaluation()
        self._pool: dict[int, dict[int, int]] = {}
        self._saved: dict[str, dict[int, int]] = {}
        self._keys: dict[tuple[int, int], int] = {}
        # The log's clock may not be ours; both run at the same speed.
        self._offset = time.perf_counter() - time.monotonic()

    def take(self, record: dict[str, Any]) -> None:
        match record:
            case {"decode": call, "result": 0, "at": at}:
                self._decode(call, at + self._offset)
            case {"remove": [sequence, start, end], "done": True}:
                self._remove(sequence, start, end)
            case {"copy": [source, target, start, end]}:
                taken = self._pool.get(source, {})
                copied = {at: key for at, key in taken.items() if start <= at < end}
                self._pool.setdefault(target, {}).update(copied)
            case {"save": sequence, "name": name}:
                self._saved[name] = dict(self._pool.get(sequence, {}))
            case {"restore": sequence, "name": name, "done": True}:
                self._pool[sequence] = dict(self._saved.get(name, {}))

    def _decode(self, call: dict[str, list[int]], at: float) -> None:
        outputs = []
        columns = (call[name] for name in ("tokens", "positions", "sequences", "outputs"))
        for token, position, sequence, output in zip(*columns, strict=True):
            self._evaluate(token, position, self._pool.setdefault(sequence, {}))
            if output:
                outputs.append(sequence)
        self.found.calls.append(Call(at, len(call["tokens"]), tuple(outputs)))

    def _evaluate(self, token: int, position: int, held: dict[int, int]) -> None:
        # Key 0 is the empty beginning; every other stands for one (beginning, token) that was seen.
        beginning = (held.get(position - 1, 0), token)
        self.found.again += beginning in self._keys
        held[position] = self._keys.setdefault(beginning, len(self._keys) + 1)

    def _remove(self, sequence: int, start: int, end: int | None) -> None:
        held = self._pool.get(sequence, {})
        self._pool[sequence] = {
            at: key for at, key in held.items() if at < start or (end is not None and at >= end)
        }
