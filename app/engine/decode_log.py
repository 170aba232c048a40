"""A record of every call that changes the pool, for tests that replay it (behind a switch, never in normal use).

One JSON object a line: `{"decode": {"tokens", "positions", "sequences", "outputs"}, "at": seconds}`,
`{"remove": [sequence, start, end]}`, `{"copy": [source, target, start, end]}`, `{"save": sequence, "name"}` or
`{"restore": sequence, "name"}` (a name stands for the saved bytes; likewise `save_tip` and `load_tip`), in the
order of the calls.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from typing import TextIO

from app.engine.backend import Backend, BackendInfo, Batch, DecodeResult, Sampler
from app.wire import Sampling


class LoggedBackend:
    """A backend that writes down what it is told and passes it on."""

    def __init__(self, inner: Backend, file: TextIO) -> None:
        self._inner = inner
        self._file = file

    @property
    def info(self) -> BackendInfo:
        return self._inner.info

    def decode(self, batch: Batch) -> DecodeResult:
        result = self._inner.decode(batch)
        self._write(
            decode={
                "tokens": batch.tokens.tolist(),
                "positions": batch.positions.tolist(),
                "sequences": batch.sequences.tolist(),
                "outputs": batch.outputs.tolist(),
            },
            result=int(result),
            at=time.monotonic(),
        )
        return result

    @property
    def can_interrupt(self) -> bool:
        return self._inner.can_interrupt

    def interrupt(self) -> None:
        self._inner.interrupt()

    def rearm(self) -> None:
        self._inner.rearm()

    def argmax(self, rows: Sequence[int], *, ban_ends: Sequence[bool]) -> list[int]:
        return self._inner.argmax(rows, ban_ends=ban_ends)

    def sampler(self, sampling: Sampling, *, seed: int, ban_ends: bool) -> Sampler:
        return self._inner.sampler(sampling, seed=seed, ban_ends=ban_ends)

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
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()


def _name(data: bytes | None) -> str:
    return hashlib.blake2b(data or b"", digest_size=8).hexdigest()
