"""Pauses before an engine is started again, and when it is not."""

from app.client.recovery import DELAYS, Recovery


def test_pauses_grow_and_the_last_one_stays() -> None:
    recovery = Recovery()
    pauses = [recovery.died(10, progress=True) for _ in range(6)]
    assert pauses == [*DELAYS, DELAYS[-1], DELAYS[-1]]


def test_a_healthy_minute_forgives_all() -> None:
    recovery = Recovery()
    for _ in range(10):
        assert recovery.died(61) == DELAYS[0]
        assert recovery.died(1) == DELAYS[1]
        assert recovery.died(1) == DELAYS[2]
        assert recovery.died(60) == DELAYS[0]


def test_three_quick_deaths_without_progress_are_enough() -> None:
    recovery = Recovery()
    assert recovery.died(10, progress=True) is not None
    assert recovery.died(10) is not None
    assert recovery.died(0) is not None
    assert recovery.died(10) is None


def test_progress_forgives_vain_deaths_but_not_the_pause() -> None:
    recovery = Recovery((1.0, 2.0, 3.0))
    assert recovery.died(1) == 1.0
    assert recovery.died(1) == 2.0
    assert recovery.died(1, progress=True) == 3.0
    assert recovery.died(1) == 3.0
    assert recovery.died(1) == 3.0
    assert recovery.died(1) is None


def test_a_death_that_is_put_down_to_a_request_on_trial_does_not_count() -> None:
    recovery = Recovery()
    assert recovery.died(1) is not None
    assert recovery.died(1) is not None
    for _ in range(5):
        assert recovery.died(1, explained=True) is not None
    assert recovery.died(1) is None
