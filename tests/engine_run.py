"""Drive an engine on the fake backend and keep everything that it tells."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from app.engine.backend import Batch, DecodeResult, MemoryKind
from app.engine.core import Engine
from app.engine.fake import FakeBackend
from app.sampling import Sampling
from app.wire import Finished, Step, Submit

GREEDY = Sampling(temperature=0)


class StrictBackend(FakeBackend):
    """Refuses what the real library would take and answer wrong: a copy over something, a fork from the middle of a
    memory that cannot be cut without its state there, a batch that is too large.

    `refusals` are the numbers of the decode calls that find no room, as in a window whose cells lie badly.
    """

    def __init__(
        self, *, refusals: Collection[int] = (), most_outputs: int = 99, **facts: Any
    ) -> None:
        super().__init__(**facts)
        self._refusals = refusals
        self._most_outputs = most_outputs
        self._calls = 0
        self._stateless: set[int] = set()

    def decode(self, batch: Batch) -> DecodeResult:
        self._calls += 1
        assert 0 < batch.size <= self.info.batch
        assert int(np.count_nonzero(batch.outputs)) <= self._most_outputs
        assert not self._stateless & set(batch.sequences.tolist()), "a fork without its state"
        if self._refuses(batch):
            return DecodeResult.NO_ROOM
        result = super().decode(batch)
        assert result is not DecodeResult.INVALID
        return result

    def _refuses(self, batch: Batch) -> bool:
        """Whether this call finds no room."""
        return self._calls in self._refusals

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        assert self.span(target) == (-1, -1) or start == self.span(target)[1] + 1
        whole = start == 0 and end == self.span(source)[1] + 1
        super().copy(source, target, start, end)
        if self.info.kind is not MemoryKind.ATTENTION and not whole:
            self._stateless.add(target)

    def load_tip(self, sequence: int, data: bytes) -> bool:
        self._stateless.discard(sequence)
        return super().load_tip(sequence, data)

    def remove(self, sequence: int, start: int, end: int | None) -> bool:
        if start == 0 and end is None:
            self._stateless.discard(sequence)
        return super().remove(sequence, start, end)


class Clock:
    """Each look costs `tick` seconds, so that steps have a length that is always the same."""

    def __init__(self, tick: float = 0.001) -> None:
        self.now = 0.0
        self.tick = tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


@dataclass
class Run:
    """An engine and all that its steps told; the mirrors are checked after every step."""

    engine: Engine
    steps: list[Step] = field(default_factory=list)
    tokens: dict[int, list[int]] = field(default_factory=dict)
    ends: dict[int, Finished] = field(default_factory=dict)

    def step(self) -> Step:
        sequences = self.engine._sequences.values()
        had_work = bool(sequences)
        recalled = any(one.constraint is not None and one.constraint.behind for one in sequences)
        step = self.engine.step()
        did = step.counters.rows + step.counters.chunk + len(step.finished) + recalled
        assert did or not had_work, "a step that does nothing although there is work"
        self.steps.append(step)
        for out in step.tokens:
            assert out.request_id not in self.ends
            self.tokens.setdefault(out.request_id, []).append(out.token)
        for end in step.finished:
            assert end.request_id not in self.ends, "a second terminal event"
            self.ends[end.request_id] = end
        self.engine.check()
        return step

    @property
    def finished(self) -> dict[int, str]:
        return {name: end.reason for name, end in self.ends.items()}


def make_run(
    backend: FakeBackend, most_running: int = 4, spill_bytes: int = 0, tick: float = 0.001
) -> Run:
    engine = Engine(
        backend,
        most_running=most_running,
        clock=Clock(tick),
        new_seed=lambda: 3,
        spill_bytes=spill_bytes,
    )
    return Run(engine)


def finish(run: Run, bound: int = 4000) -> None:
    for _ in range(bound):
        if not run.engine.has_work:
            return
        run.step()
    raise AssertionError(f"work is left after {bound} steps")


def with_id(submit: Submit, request_id: int) -> Submit:
    return replace(submit, request_id=request_id)


def request(request_id: int, tokens: tuple[int, ...], limit: int | None = 8) -> Submit:
    """A greedy request of exactly `limit` tokens."""
    return Submit(request_id, tokens, GREEDY, max_tokens=limit, ignore_eos=True)
