"""Engines on one device: one step at a time, fair shares of the time, nobody starved, and nobody held up by the dead."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine import shares
from app.engine.baton import HUNG_SECONDS, LATE_SECONDS
from app.engine.shares import Claim
from app.wire import Priority
from tests.turns import BETWEEN, Player, Stage

FRONT, NORMAL, BACKGROUND = Priority

lengths = st.floats(0.005, 0.05)
few = settings(max_examples=12)
classes = st.sampled_from(list(Priority))
levels = st.one_of(st.none(), classes)


def overlaps(players: list[Player]) -> bool:
    """Whether two of them computed at once."""
    steps = sorted(step for player in players for step in player.steps)
    return any(one[1] > other[0] for one, other in pairwise(steps))


def handovers(players: list[Player]) -> list[float]:
    """The pauses in which nobody computed."""
    steps = sorted(step for player in players for step in player.steps)
    return [other[0] - one[1] for one, other in pairwise(steps)]


@few
@given(
    st.lists(lengths, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), levels, st.floats(0.0, 1.0)), max_size=20),
)
def test_whatever_comes_and_goes_one_computes_at_a_time_and_all_come_to_compute(
    each: list[float], changes: list[tuple[int, Priority | None, float]]
) -> None:
    stage = Stage(*each)
    for number, level, seconds in changes:
        stage.play(stage.players[number % len(each)], level)
        stage.run(seconds)
    assert not overlaps(stage.players)
    busy = [player for player in stage.players if player.level is not None]
    before = [len(player.steps) for player in busy]
    # A step of background work of 0.05 s is worth 1.6 s of a front chat's.
    stage.run(5.0)
    assert not overlaps(stage.players)
    assert all(len(player.steps) > was for player, was in zip(busy, before, strict=True))


@few
@given(st.lists(lengths, min_size=2, max_size=4), classes)
def test_equal_classes_share_the_time_equally_whatever_their_steps_cost(
    each: list[float], level: Priority
) -> None:
    stage = Stage(*each)
    for player in stage.players:
        stage.play(player, level)
    stage.run(1.2)
    times = [player.computed() for player in stage.players]
    assert max(times) - min(times) <= 2 * max(each)


@pytest.mark.parametrize("others", [0, 1, 3])
def test_little_time_is_lost_between_two_steps(others: int) -> None:
    """A little more than the engine itself needs, and a small part of the step that was waited for."""
    stage = Stage(0.02, *[0.02] * others)
    for player in stage.players:
        stage.play(player, NORMAL)
    stage.run(4.0)
    gaps = handovers(stage.players)
    assert sum(gaps) / len(gaps) <= BETWEEN + 0.02 / 50
    steps = sum(len(player.steps) for player in stage.players)
    assert all(player.asks < 12 * steps for player in stage.players)


@few
@given(lengths, lengths)
def test_a_more_urgent_engine_has_more_of_the_time_and_never_all_of_it(
    one: float, two: float
) -> None:
    stage = Stage(one, two)
    front, other = stage.players
    stage.play(front, FRONT)
    stage.play(other, NORMAL)
    stage.run(4.0)
    longest = max(one, two)
    assert front.computed() == pytest.approx(2 * other.computed(), abs=4 * longest)


@few
@given(lengths, lengths)
def test_the_front_chat_goes_before_background_work_which_comes_to_its_end_all_the_same(
    one: float, two: float
) -> None:
    stage = Stage(one, two)
    front, background = stage.players
    stage.play(background, BACKGROUND)
    stage.run(1.0)
    stage.play(front, FRONT)
    came = stage.now
    stage.run(5.0)
    first = next(begin for begin, _ in front.steps)
    assert first - came <= two + 0.01, "one step may be in progress"
    share = background.computed(came) / (front.computed(came) + background.computed(came))
    assert 0 < share < 0.1


@few
@given(lengths, lengths, st.floats(0.1, 3.0))
def test_time_that_was_not_used_is_not_owed(one: float, two: float, idle: float) -> None:
    stage = Stage(one, two)
    always, sometimes = stage.players
    stage.play(sometimes, NORMAL)
    stage.run(1.0)
    stage.play(sometimes, None)
    stage.play(always, NORMAL)
    stage.run(idle)
    stage.play(sometimes, NORMAL)
    back = stage.now
    stage.run(2.0)
    times = [player.computed(back) for player in stage.players]
    assert max(times) - min(times) <= 3 * max(one, two)


@few
@given(lengths)
def test_an_engine_alone_never_waits(length: float) -> None:
    stage = Stage(length, 0.1)
    alone, idle = stage.players
    stage.play(idle, NORMAL)
    stage.run(1.0)
    stage.play(idle, None)
    stage.run(1.0)
    stage.play(alone, BACKGROUND)
    before = alone.asks
    stage.run(3.0)
    assert alone.asks - before - len(alone.steps) <= 1
    assert not alone.baton.wanted


def test_another_that_wants_the_device_is_known() -> None:
    stage = Stage(0.1, 0.1)
    one, two = stage.players
    stage.play(one, NORMAL)
    stage.play(two, NORMAL)
    stage.run(1.0)
    assert one.baton.wanted
    assert two.baton.wanted


def one_that_computes(others: int) -> tuple[Stage, Player]:
    """All have work, and one of them is in a step."""
    stage = Stage(0.1, *[0.1] * others)
    for player in stage.players:
        stage.play(player, NORMAL)
    stage.run(1.0)
    victim = stage.players[0]
    while stage.shared.owner is not victim.side:
        stage.run(0.001)
    return stage, victim


@pytest.mark.parametrize("others", [1, 2])
def test_one_that_is_killed_while_it_computes_costs_the_others_nothing(others: int) -> None:
    stage, victim = one_that_computes(others)
    stage.kill(victim)
    killed = stage.now
    stage.run(2.0)
    rest = stage.players[1:]
    assert min(begin for player in rest for begin, _ in player.steps if begin >= killed) < (
        killed + 2 * LATE_SECONDS
    )
    assert sum(player.computed(killed) for player in rest) > 1.8
    assert not overlaps(stage.players)


@pytest.mark.parametrize("others", [1, 2])
def test_one_that_hangs_in_its_step_is_waited_for_once(others: int) -> None:
    stage, victim = one_that_computes(others)
    stage.stop(victim)
    hung = stage.now
    stage.run(HUNG_SECONDS + 5.0)
    rest = stage.players[1:]
    for player in rest:
        assert player.computed(hung) > 4.5, "without the baton, and not once in a while"
    stage.kill(victim)
    killed = stage.now
    stage.run(5.0)
    for player in rest:
        steps = [step for step in player.steps if step[0] > killed + 0.2]
        player.steps = steps
        assert len(steps) > 5
    assert not overlaps(rest), "by turns again"


@pytest.mark.parametrize("others", [1, 2])
def test_one_that_does_not_come_when_it_is_its_turn_is_passed_over_until_it_does(
    others: int,
) -> None:
    stage = Stage(0.1, *[0.1] * others)
    for player in stage.players:
        stage.play(player, NORMAL)
    stage.run(1.0)
    victim, *rest = stage.players
    while stage.shared.owner in (None, victim.side):
        stage.run(0.001)
    stage.stop(victim)
    stopped = stage.now
    stage.run(5.0)
    assert sum(player.computed(stopped) for player in rest) > 4.5
    stage.go_on(victim)
    back = stage.now
    stage.run(6.0)
    times = [player.computed(back) for player in stage.players]
    assert max(times) - min(times) <= 0.3, "and nothing is owed to it"
    assert not overlaps(stage.players)


passes = st.floats(0.0, 1e6)
claims = st.lists(st.builds(Claim, st.integers(0, 15), passes), max_size=6)


@given(claims)
def test_the_first_is_one_that_computed_least(found: list[Claim]) -> None:
    first = shares.first(found)
    assert (first is None) is not found
    assert first is None or first.passed == min(claim.passed for claim in found)


@given(passes, passes, classes, classes)
def test_a_debt_is_worth_the_same_time_in_every_class(
    passed: float, now: float, before: Priority, after: Priority
) -> None:
    moved = shares.joined(passed, now, before, after)
    assert moved >= now - 1e-6
    if passed >= now:
        paid = shares.charged(now, before, 1.0) - now
        pays = shares.charged(now, after, 1.0) - now
        assert (moved - now) / pays == pytest.approx((passed - now) / paid, abs=1e-6)
    back = shares.reweighted(shares.reweighted(passed, now, before, after), now, after, before)
    assert back == pytest.approx(passed, abs=1e-3)
