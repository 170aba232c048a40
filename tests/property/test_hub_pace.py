"""Speed, time left, limits, waits and stalls, by a clock that is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import HubError, HubProblem
from app.hub.pace import Bucket, Speed, seconds_left
from app.hub.retry import PASSING, Retry, StallWatch

arrivals = st.lists(st.tuples(st.floats(0, 3), st.integers(0, 10**8)), min_size=1, max_size=60)


@given(arrivals)
def test_the_speed_is_never_more_than_what_came_and_never_negative(events: list[tuple[float, int]]) -> None:  # fmt: skip
    speed, now, total = Speed(), 0.0, 0
    for gap, count in events:
        now += gap
        total += count
        speed.add(now, count)
        assert 0 <= speed.per_second(now) <= total
    assert speed.per_second(now + 9) == 0


@given(st.integers(100, 10**8))
def test_an_even_stream_has_its_speed(rate: int) -> None:
    speed = Speed()
    for tick in range(200):
        speed.add(tick * 0.1, rate // 10)
    assert speed.per_second(19.9) == pytest.approx(rate // 10 * 10, rel=0.05)
    assert seconds_left(rate // 10 * 100, speed.per_second(19.9)) == pytest.approx(10, rel=0.05)


def test_without_a_speed_there_is_no_time_left() -> None:
    assert seconds_left(100, 0.0) is None


@given(arrivals, st.floats(1000, 10**7))
def test_whoever_waits_as_told_stays_below_the_limit(
    events: list[tuple[float, int]], rate: float
) -> None:
    bucket, now, total, began = Bucket(rate), 0.0, 0, None
    for gap, count in events:
        now += gap
        began = now if began is None else began
        total += count
        wait = bucket.take(now, count)
        assert wait >= 0
        now += wait
        # A second's worth may come at once, at the beginning.
        assert total <= rate * (now - began + 1) * 1.000001 + 1
    assert Bucket().take(0.0, 10**12) == 0


def failure(problem: HubProblem, wait: float | None = None) -> HubError:
    return HubError("no", problem=problem, wait=wait)


@given(
    st.lists(st.sampled_from(sorted(PASSING)), max_size=80), st.floats(0, 1), st.floats(0, 10**5)
)
def test_waits_grow_and_never_cut_short_what_the_hub_asked_for(
    problems: list[HubProblem], spread: float, asked: float
) -> None:
    retry = Retry(patient=True)
    before = 0.0
    for problem in problems:
        wait = retry.wait(failure(problem), spread)
        assert wait is not None
        assert before <= wait <= 30
        before = wait
        busy = Retry(patient=True).wait(failure(HubProblem.BUSY, asked), spread)
        assert busy is not None
        assert busy >= asked
    retry.arrived()
    first = retry.wait(failure(HubProblem.OFFLINE), spread)
    assert first is not None
    assert first <= 0.1


def test_one_that_is_not_patient_gives_up_after_thirty() -> None:
    retry = Retry(patient=False)
    waits = [retry.wait(failure(HubProblem.OFFLINE), 1.0) for _ in range(31)]
    assert waits[-1] is None
    assert None not in waits[:-1]


@pytest.mark.parametrize("problem", sorted(set(HubProblem) - PASSING))
def test_what_does_not_pass_by_itself_is_not_tried_again(problem: HubProblem) -> None:
    assert Retry(patient=True).wait(failure(problem), 0.5) is None


@given(st.lists(st.floats(0.01, 10.9), max_size=100))
def test_hardly_a_byte_in_a_minute_is_a_stall(gaps: list[float]) -> None:
    watch, now, waited = StallWatch(60, most_gap=11), 0.0, 0.0
    watch.look(now, 0)
    for gap in gaps:
        now, waited = now + gap, waited + gap
        assert watch.look(now, 1) == (waited >= 60 - 1e-6) or abs(waited - 60) < 1e-6


@given(st.lists(st.floats(11.1, 10**6), min_size=1, max_size=50))
def test_a_sleep_of_the_machine_is_none(gaps: list[float]) -> None:
    watch, now = StallWatch(60, most_gap=11), 0.0
    watch.look(now, 0)
    for gap in gaps:
        now += gap
        assert not watch.look(now, 1)


@given(st.lists(st.integers(64 * 1024, 10**7), max_size=100))
def test_a_slow_line_is_none(counts: list[int]) -> None:
    watch = StallWatch(60, most_gap=11)
    assert not any(watch.look(index * 10.0, count) for index, count in enumerate(counts))
