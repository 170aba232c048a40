"""Tokens per second over the last two seconds."""

import pytest

from app.client.speed import Speedometer
from tests.scripted_children import FakeClock


def test_the_speed_is_that_of_the_last_two_seconds() -> None:
    clock = FakeClock()
    speed = Speedometer(clock)
    assert speed.per_second == 0
    total = 0
    for tokens, steps in ((1, 40), (4, 40)):
        for _ in range(steps):
            total += tokens
            speed.add(total)
            clock.advance(0.1)
    assert speed.per_second == pytest.approx(40.0)


def test_it_falls_to_nothing_when_no_step_comes() -> None:
    clock = FakeClock()
    speed = Speedometer(clock)
    speed.add(10)
    speed.add(20)
    assert speed.per_second == 0
    clock.advance(1.0)
    speed.add(30)
    assert speed.per_second == pytest.approx(20.0)
    clock.advance(2.5)
    assert speed.per_second == 0
    speed.add(40)
    assert speed.per_second == 0
