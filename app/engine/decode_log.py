"""A record of every call on the context, for tests that replay it (behind a switch, never in normal use).

One JSON object a line, in the order of the calls:
`{"decode": {"tokens", "positions", "sequences", "outputs"}, "result", "at": seconds}`, and for an interrupted one
the `spans` that its sequences have afterwards;
`{"remove": [sequence, start, end]}`, `{"copy": [source, target, start, end]}`;
`{"save": sequence, "name"}` and `{"restore": sequence, "name"}` (a name stands for the saved bytes), likewise
`save_tip` and `load_tip`; `{"argmax": outputs, "ban_ends", "tokens"}`;
`{"sampler": number, "sampling", "seed", "ban_ends", "written", "breakers"}` (in hexadecimal) and
`{"sample": number, "row", "token"}`, or for an answer that has to keep a grammar `{"remember": number, "token"}`.
Each has the id of the `thread` that made the call.
"""

import hashlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TextIO

import numpy as np
import numpy.typing as npt

from app.engine.backend import (
    Backend,
    BackendInfo,
    Batch,
    DecodeResult,
    Past,
    Sampler,
)
from app.sampling import Sampling


class LoggedSampler:
    """A sampler that writes down what it chooses, from which row."""

    def __init__(self, inner: Sampler, number: int, write: Callable[..., None]) -> None:
        self._inner = inner
        self._number = number
        self._write = write

    @property
    def greedy(self) -> bool:
        return self._inner.greedy

    def sample(self, row: int) -> int:
        token = self._inner.sample(row)
        self._write(sample=self._number, row=row, token=token)
        return token

    def propose(self, row: int) -> int:
        return self._inner.propose(row)

    def among(self, row: int, tokens: Sequence[int]) -> int:
        return self._inner.among(row, tokens)

    def remember(self, token: int) -> None:
        self._inner.remember(token)
        self._write(remember=self._number, token=token)

    def close(self) -> None:
        self._inner.close()


class LoggedBackend:
    """A backend that writes down what it is told and passes it on."""

    def __init__(self, inner: Backend, file: TextIO) -> None:
        self._inner = inner
        self._file = file
        self._numbers = itertools.count()

    @property
    def info(self) -> BackendInfo:
        return self._inner.info

    def decode(self, batch: Batch) -> DecodeResult:
        result = self._inner.decode(batch)
        call = {
            "tokens": batch.tokens.tolist(),
            "positions": batch.positions.tolist(),
            "sequences": batch.sequences.tolist(),
            "outputs": batch.outputs.tolist(),
        }
        facts: dict[str, object] = {}
        if result is DecodeResult.ABORTED:
            facts["spans"] = {str(one): self.span(one) for one in set(call["sequences"])}
        self._write(decode=call, result=int(result), at=time.monotonic(), **facts)
        return result

    @property
    def can_interrupt(self) -> bool:
        return self._inner.can_interrupt

    def interrupt(self) -> None:
        self._inner.interrupt()

    def rearm(self) -> None:
        self._inner.rearm()

    def argmax(self, rows: Sequence[int], *, ban_ends: Sequence[bool]) -> list[int]:
        tokens = self._inner.argmax(rows, ban_ends=ban_ends)
        if tokens:
            self._write(argmax=list(rows), ban_ends=list(ban_ends), tokens=tokens)
        return tokens

    def ranked(self, row: int, count: int) -> list[int]:
        return self._inner.ranked(row, count)

    def best_of(self, row: int, tokens: Sequence[int]) -> int:
        return self._inner.best_of(row, tokens)

    def piece(self, token: int) -> bytes:
        return self._inner.piece(token)

    def log_probabilities(self, output: int) -> npt.NDArray[np.float32]:
        return self._inner.log_probabilities(output)

    def sampler(
        self,
        sampling: Sampling,
        *,
        seed: int,
        ban_ends: bool,
        past: Past,
    ) -> Sampler:
        inner = self._inner.sampler(sampling, seed=seed, ban_ends=ban_ends, past=past)
        number = next(self._numbers)
        facts = {"sampling": asdict(sampling), "seed": seed, "ban_ends": ban_ends}
        told = {"tokens": past.tokens.tolist(), "written": past.written}
        breaks = {"breakers": past.breakers.hex(), "texts": [text.hex() for text in past.texts]}
        self._write(sampler=number, **facts, **told, **breaks)
        return LoggedSampler(inner, number, self._write)

    def remove(self, sequence: int, start: int, end: int | None) -> bool:
        done = self._inner.remove(sequence, start, end)
        self._write(remove=[sequence, start, end], done=done)
        return done

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        self._inner.copy(source, target, start, end)
        self._write(copy=[source, target, start, end])

    def save(self, sequence: int) -> bytes | None:
        data = self._inner.save(sequence)
        self._write(save=sequence, name=_name(data))
        return data

    def restore(self, sequence: int, data: bytes) -> bool:
        done = self._inner.restore(sequence, data)
        self._write(restore=sequence, name=_name(data), done=done)
        return done

    def save_tip(self, sequence: int) -> bytes | None:
        data = self._inner.save_tip(sequence)
        self._write(save_tip=sequence, name=_name(data))
        return data

    def load_tip(self, sequence: int, data: bytes) -> bool:
        done = self._inner.load_tip(sequence, data)
        self._write(load_tip=sequence, name=_name(data), done=done)
        return done

    def span(self, sequence: int) -> tuple[int, int]:
        return self._inner.span(sequence)

    def close(self) -> None:
        self._inner.close()
        self._file.close()

    def _write(self, **record: object) -> None:
        record["thread"] = threading.get_ident()
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()


def _name(data: bytes | None) -> str:
    return hashlib.blake2b(data or b"", digest_size=8).hexdigest()
