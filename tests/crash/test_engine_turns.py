"""Two engines on one device: both answer, and neither holds up the other when it is killed, stopped or asked to end."""

import contextlib
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil
import pytest

from app import paths
from app.engine.board import Board
from app.filelock import lock
from app.sampling import Sampling
from app.wire import Abort, Finished, FinishReason, Shutdown, Step, Submit
from tests.engine_pipe import WATCHDOG, Spawned, load, wait_for

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]

LONG, SHORT = 300, 20
MOST_ASKS = SHORT + 400
"""How often an engine asks for the device to write a short answer, when it waits for one that does not come
(`baton.LATE_SECONDS`) and not for one that hangs, for which it asks some thousand times."""


def submit(pipe: Any, request_id: int, tokens: int) -> None:
    greedy = Sampling(temperature=0)
    pipe.send(Submit(request_id, (1, 2, 3), greedy, tokens, ignore_eos=True))


def two_of_which_one_writes(spawn: Callable[[], Spawned], tiny: Path) -> tuple[Spawned, Spawned]:
    """Two engines that are loaded; the first has begun a long answer."""
    first, second = spawn(), spawn()
    for pipe, _ in (first, second):
        load(pipe, tiny)
    submit(first[0], 1, LONG)
    wait_for(first[0], Step)
    return first, second


def end(pipe: Any) -> Finished:
    """The end of the request that comes first."""
    while True:
        for finished in wait_for(pipe, Step).finished:
            return finished


def all_that_is_left(pipe: Any) -> Iterator[Any]:
    """What was said before the end of the pipe."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            yield pipe.recv()


@pytest.fixture
def board() -> Iterator[Callable[[], Board]]:
    """What the engines of this test show each other; to be called once one is loaded."""
    with contextlib.ExitStack() as stack:

        def look() -> Board:
            (path,) = (paths.data_dir() / "turns").glob("*/board")
            file = stack.enter_context(path.open("rb+"))
            memory = mmap.mmap(file.fileno(), 0)
            stack.callback(memory.close)
            view = memoryview(memory)
            stack.callback(view.release)
            found = Board(view)
            stack.callback(found.close)
            return found

        yield look


def free(turn: Path) -> bool:
    """Whether nobody has the device.  The board alone does not say: it is written after that is taken, or before it is
    given."""
    with turn.open("rb+") as file:
        return lock(file)


def stop(child: BaseProcess, board: Board, number: int, *, computing: bool) -> None:
    """Stop it while it makes a step, or while it makes none."""
    (turn,) = (paths.data_dir() / "turns").glob("*/turn.lock")
    assert child.pid is not None
    watched = psutil.Process(child.pid)
    deadline = time.monotonic() + WATCHDOG
    while time.monotonic() < deadline:
        if (board.holder == number) is not computing:
            continue
        os.kill(child.pid, signal.SIGSTOP)
        while watched.status() != psutil.STATUS_STOPPED:
            pass
        if (board.holder == number) is computing and free(turn) is not computing:
            return
        os.kill(child.pid, signal.SIGCONT)
    raise AssertionError("it was never seen at it")


def test_both_answer_and_neither_has_the_device_to_itself(
    spawn: Callable[[], Spawned], tiny: Path, board: Callable[[], Board]
) -> None:
    (one, _), (two, _) = two_of_which_one_writes(spawn, tiny)
    submit(two, 1, SHORT)
    assert end(two).reason is FinishReason.LENGTH
    seen = board()
    assert seen.beat(0) > 0, "the first asks for the device"
    assert seen.beat(1) >= SHORT, "and so does the other, for each step"
    ended = end(one)
    assert ended.reason is FinishReason.LENGTH
    assert ended.usage.completion_tokens == LONG


def test_one_that_is_killed_in_its_step_leaves_the_device_to_the_other(
    spawn: Callable[[], Spawned], tiny: Path, board: Callable[[], Board]
) -> None:
    (_, child), (two, _) = two_of_which_one_writes(spawn, tiny)
    stop(child, board(), 0, computing=True)
    submit(two, 1, SHORT)
    child.kill()
    child.join(WATCHDOG)
    assert end(two).reason is FinishReason.LENGTH
    assert board().beat(1) < MOST_ASKS, "it was not waited for"


def test_one_that_is_stopped_between_its_steps_is_not_waited_for(
    spawn: Callable[[], Spawned], tiny: Path, board: Callable[[], Board]
) -> None:
    (one, child), (two, _) = two_of_which_one_writes(spawn, tiny)
    stop(child, board(), 0, computing=False)
    try:
        submit(two, 1, SHORT)
        assert end(two).reason is FinishReason.LENGTH
        assert board().beat(1) < MOST_ASKS, "or it had the baton all the same"
    finally:
        assert child.pid is not None
        os.kill(child.pid, signal.SIGCONT)
    assert end(one).reason is FinishReason.LENGTH


@pytest.mark.parametrize("command", [Abort(1), Shutdown()])
def test_who_waits_for_the_device_hears_its_commands(
    spawn: Callable[[], Spawned], tiny: Path, command: Abort | Shutdown
) -> None:
    """As long as another, here the test, has the baton."""
    pipe, child = spawn()
    load(pipe, tiny)
    (path,) = (paths.data_dir() / "turns").glob("*/turn.lock")
    with path.open("rb+") as file:
        assert lock(file)
        submit(pipe, 1, SHORT)
        pipe.send(command)
        # Whoever hears nothing while it waits takes the one that has the baton for hung in the end, and writes.
        if isinstance(command, Abort):
            ended = end(pipe)
            assert ended.reason is FinishReason.CANCELLED
            assert ended.usage.completion_tokens == 0
        else:
            child.join(WATCHDOG)
            assert child.exitcode == 0
            assert not any(
                isinstance(said, Step) and said.tokens for said in all_that_is_left(pipe)
            )


def test_a_folder_that_cannot_be_used_costs_nothing_but_the_turns(
    spawn: Callable[[], Spawned], tiny: Path
) -> None:
    (paths.data_dir() / "turns").write_text("not a folder")
    pipe, _ = spawn()
    load(pipe, tiny)
    submit(pipe, 1, SHORT)
    assert end(pipe).reason is FinishReason.LENGTH
    assert "takes no turns" in (paths.logs_dir() / "engine-test.log").read_text()
