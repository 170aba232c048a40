"""What a step costs the engine itself, counted in calls: neither idle chats nor long histories enter it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from app.engine.core import Engine
from app.engine.fake import FakeBackend
from app.engine.scheduler import Pace
from tests.engine_run import Clock, request

STEPS = 10
ACTIVE = 4


class Counting(FakeBackend):
    """What the backend itself does is not counted."""

    inside = False

    def decode(self, batch: Any) -> Any:
        self.inside = True
        try:
            return super().decode(batch)
        finally:
            self.inside = False

    def argmax(self, *args: Any, **options: Any) -> Any:
        self.inside = True
        try:
            return super().argmax(*args, **options)
        finally:
            self.inside = False


@contextmanager
def counted(backend: Counting) -> Iterator[list[int]]:
    """Counts all calls, of Python and of C functions, that are made outside the backend."""
    calls = [0]

    def look(_frame: FrameType, event: str, _value: Any) -> None:
        calls[0] += event in ("call", "c_call") and not backend.inside

    sys.setprofile(look)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def calls_of_ten_steps(idle: int, history: int) -> int:
    backend = Counting(cells=6000, sequences=40, batch=512)
    engine = Engine(
        backend,
        most_running=8,
        clock=Clock(),
        new_seed=lambda: 1,
        pace=Pace(alone_seconds=100.0),
        spill_bytes=1 << 30,
    )
    for number in range(idle):
        engine.submit(request(number, (number % 60 + 1, number // 60 + 1, 5, 6), limit=1))
        while engine.has_work:
            engine.step()
    for number in range(ACTIVE):
        prompt = (number + 1, *(1 + place % 60 for place in range(history)))
        engine.submit(request(10_000 + number, prompt, limit=400))
    step = engine.step()
    while step.counters.rows < ACTIVE or step.counters.chunk:
        step = engine.step()
    with counted(backend) as calls:
        for _ in range(STEPS):
            assert engine.step().counters.rows == ACTIVE
    return calls[0]


@pytest.mark.parametrize("idle", [100, 1000])
def test_idle_chats_cost_a_step_nothing(idle: int) -> None:
    assert calls_of_ten_steps(idle, 16) <= 1.02 * calls_of_ten_steps(10, 16)


def test_a_long_history_costs_a_step_nothing() -> None:
    assert calls_of_ten_steps(10, 1000) <= 1.02 * calls_of_ten_steps(10, 16)
