"""Taking part among the engines of a device: the files, whoever was there before, and what cannot be used."""

import contextlib
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.engine.baton import Baton, join
from app.engine.board import MOST, SIZE
from app.wire import Priority

NORMAL = Priority.NORMAL


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@contextlib.contextmanager
def joined(folder: Path, clock: Clock, device: str = "CPU") -> Iterator[Baton]:
    baton = join(folder, device, clock)
    assert baton is not None
    try:
        yield baton
    finally:
        baton.close()


def step(baton: Baton, clock: Clock, seconds: float = 0.1) -> None:
    assert baton.take(NORMAL)
    clock.now += seconds
    baton.give()


def test_one_at_a_time_has_it_and_each_in_its_turn(tmp_path: Path, clock: Clock) -> None:
    with joined(tmp_path, clock) as one, joined(tmp_path, clock) as two:
        assert one.take(NORMAL)
        assert not two.take(NORMAL), "it is being used"
        assert one.wanted
        clock.now += 0.01
        one.give()
        assert not one.take(NORMAL), "the other has waited"
        step(two, clock, 0.01)
        step(one, clock, 0.01)
        two.rest()
        assert not one.wanted
        step(one, clock)
        step(one, clock)


def test_engines_on_other_devices_do_not_wait_for_each_other(tmp_path: Path, clock: Clock) -> None:
    with joined(tmp_path, clock, "CUDA0") as one, joined(tmp_path, clock, "../CPU") as two:
        assert one.take(NORMAL)
        assert two.take(NORMAL)
        one.give()
        two.give()
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == set(
        tmp_path.iterdir()
    ), "whatever a device is called, its files lie here"


def test_who_leaves_in_the_middle_of_a_step_leaves_it_to_the_others(
    tmp_path: Path, clock: Clock
) -> None:
    with joined(tmp_path, clock) as one:
        with joined(tmp_path, clock) as two:
            assert two.take(NORMAL)
            assert not one.take(NORMAL)
        step(one, clock)
        one.rest()
        with joined(tmp_path, clock) as again:
            assert not again.wanted, "nothing is left of it"
            step(again, clock)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0, 1e300, 3.5])
def test_what_was_left_on_the_board_means_nothing(
    tmp_path: Path, clock: Clock, number: float
) -> None:
    with joined(tmp_path, clock):
        pass
    (board,) = tmp_path.rglob("board")
    board.write_bytes(struct.pack("d", number) * (SIZE // 8))
    with joined(tmp_path, clock) as one, joined(tmp_path, clock) as two:
        assert not one.wanted
        step(one, clock, 0.01)
        assert two.take(NORMAL)
        clock.now += 0.01
        two.give()
        step(one, clock, 0.01)


def test_more_engines_than_there_is_room_for_take_no_turns(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(MOST):
            stack.enter_context(joined(tmp_path, clock))
        assert join(tmp_path, "CPU", clock) is None
    assert "takes no turns" in caplog.text
    with joined(tmp_path, clock) as one:
        step(one, clock)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_nobody_else_may_look(tmp_path: Path, clock: Clock) -> None:
    with joined(tmp_path / "turns", clock) as one:
        step(one, clock)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
        (folder,) = (tmp_path / "turns").iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
