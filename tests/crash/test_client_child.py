"""One child as a real process: greeted, loaded, watched, and gone whatever it does."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.client import process
from app.client.child import Child, Limits
from app.client.death import Death
from app.client.process import Patience
from app.errors import EngineDied, ModelError
from app.sampling import Sampling
from app.wire import PROTOCOL, Message, Progress, Step, Submit
from tests import scripted_children
from tests.scripted_children import (
    LOADED,
    PARAMS,
    Births,
    FakeClock,
    Script,
    begin,
    run,
    threads,
    turns,
    until,
)

pytestmark = [pytest.mark.crash, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SHORT = Patience(shutdown=0.3, terminate=0.3, kill=10.0)

WELL = Script()


class Heard:
    """What a child's owner is told."""

    def __init__(self, script: Script = WELL, **options: Any) -> None:
        self.messages: list[Message] = []
        self.deaths: list[Death] = []
        self.progress: list[Progress] = []
        self.dead = asyncio.Event()
        self.births = Births(scripted_children.engine, script, **options)
        self.child: Child = self.births(self.messages.append, self._died)

    async def load(self) -> Any:
        return await self.child.load(PARAMS, self.progress.append)

    @property
    def tokens(self) -> int:
        return sum(len(step.tokens) for step in self.messages if isinstance(step, Step))

    def _died(self, death: Death) -> None:
        self.deaths.append(death)
        self.dead.set()


def test_it_loads_answers_and_ends_in_order() -> None:
    async def scenario() -> None:
        heard = Heard()
        assert await heard.load() == LOADED
        assert [step.fraction for step in heard.progress] == [0.5]
        assert heard.child.ready is not None
        assert heard.child.ready.pid == heard.child.pid
        heard.child.send(Submit(1, (1, 2), Sampling()))
        await until(lambda: heard.tokens == 6)
        await heard.child.stop()
        assert heard.deaths == [Death("engine", exitcode=0, asked=True)]
        await heard.child.stop()
        assert len(heard.deaths) == 1
        assert threads() == set()

    run(scenario())
    assert psutil.Process().children() == [] or all(
        "resource_tracker" in " ".join(child.cmdline()) for child in psutil.Process().children()
    )


def test_a_refusal_carries_the_childs_reason() -> None:
    async def scenario() -> None:
        heard = Heard(Script(fault="refuse"))
        with pytest.raises(ModelError, match=r"This is no model\."):
            await heard.load()
        await heard.child.stop()
        assert len(heard.deaths) == 1

    run(scenario())


def test_a_death_in_the_load_fails_the_load() -> None:
    async def scenario() -> None:
        heard = Heard(Script(fault="die in load"))
        with pytest.raises(EngineDied, match="exit code 7"):
            await heard.load()
        assert [death.exitcode for death in heard.deaths] == [7]

    run(scenario())


def test_last_words_are_part_of_the_sentence() -> None:
    async def scenario() -> None:
        heard = Heard(Script(fault="last words"))
        with pytest.raises(EngineDied, match="Its last words: KeyError: 'x'"):
            await heard.load()

    run(scenario())


def test_another_protocol_is_refused() -> None:
    async def scenario() -> None:
        heard = Heard(Script(fault="protocol"))
        with pytest.raises(
            EngineDied, match=f"speaks protocol {PROTOCOL + 1} instead of {PROTOCOL}"
        ):
            await heard.load()
        assert len(heard.deaths) == 1

    run(scenario())


def test_a_child_that_never_says_ready_is_ended() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        heard = Heard(Script(fault="hang at start"), clock=clock, limits=Limits(ready=60.0))
        load = begin(heard.load())
        await asyncio.sleep(0)
        clock.advance(59.0)
        assert not load.done()
        clock.advance(2.0)
        with pytest.raises(EngineDied, match="did not start within 60 s"):
            await load
        assert len(heard.deaths) == 1

    run(scenario())


def test_a_killed_child_names_the_signal() -> None:
    async def scenario() -> None:
        heard = Heard()
        await heard.load()
        pid = heard.child.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await heard.dead.wait()
        assert heard.deaths == [Death("engine", exitcode=-signal.SIGKILL)]
        assert "signal SIGKILL" in str(heard.deaths[0])
        assert not psutil.pid_exists(pid)
        await heard.child.stop()
        assert len(heard.deaths) == 1
        assert threads() == set()

    run(scenario())


def test_a_child_that_falls_silent_is_killed() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        heard = Heard(Script(fault="hang"), clock=clock)
        await heard.load()
        clock.advance(59.0)
        assert heard.child.pid is not None
        clock.advance(4.0)
        await heard.dead.wait()
        assert "did not answer for" in heard.deaths[0].why
        assert heard.deaths[0].exitcode == -signal.SIGKILL

    run(scenario())


def test_a_child_that_beats_is_left_alone_however_long_it_is_quiet() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        heard = Heard(Script(fault="deaf"), clock=clock, patience=SHORT)
        await heard.load()
        for _ in range(5):
            # Longer than it may be silent, but there is a beat within the grace.
            clock.advance(61.0)
            await until(lambda: heard.child._heard_at == clock.now())
        assert heard.deaths == []
        await heard.child.stop()

    run(scenario())


def test_a_child_that_does_not_read_cannot_block_the_loop() -> None:
    async def scenario() -> None:
        heard = Heard(Script(fault="hang"), patience=SHORT)
        await heard.load()
        for number in range(50):
            heard.child.send(Submit(number, tuple(range(100_000)), Sampling()))
        await heard.child.stop()
        assert heard.deaths[0].asked
        assert threads() == set()

    run(scenario())


@pytest.mark.parametrize(
    ("fault", "ending"), [("deaf", signal.SIGTERM), ("stubborn", signal.SIGKILL)]
)
def test_a_child_that_ignores_shutdown_is_ended_by_force(
    fault: str, ending: signal.Signals
) -> None:
    async def scenario() -> None:
        heard = Heard(Script(fault=fault), patience=SHORT)
        await heard.load()
        await heard.child.stop()
        assert [death.exitcode for death in heard.deaths] == [-ending]
        assert heard.deaths[0].asked

    run(scenario())


def test_a_child_that_is_killed_before_it_runs_is_killed_once_it_does() -> None:
    async def scenario() -> None:
        heard = Heard()
        with process._PROCESSES:
            load = begin(heard.load())
            await asyncio.sleep(0)
            heard.child.kill("is not wanted")
        with pytest.raises(EngineDied, match="is not wanted"):
            await load
        assert [death.exitcode for death in heard.deaths] == [-signal.SIGKILL]

    run(scenario())


def test_a_child_that_cannot_be_started_says_why() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def scenario() -> None:
        heard = Heard()
        with process._PROCESSES:
            load = begin(heard.load())
            await asyncio.sleep(0)
            # No descriptor is left for the process's own pipes.
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            with pytest.raises(EngineDied, match=r"could not be started \(Too many open files\)"):
                await load
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert [death.started for death in heard.deaths] == [False]
        await heard.child.stop()
        assert threads() == set()

    run(scenario())


def test_a_child_that_survives_a_kill_is_given_up_and_told_once() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        heard = Heard(clock=clock)
        await heard.load()
        heard.child.kill("did not answer for 60 s")
        # As if it were still there: its end cannot have been told yet.
        clock.advance(6.0)
        assert heard.deaths == [Death("engine", why="did not answer for 60 s")]
        await until(lambda: threads() == set())
        await turns()
        assert len(heard.deaths) == 1

    run(scenario())


def test_stop_before_ready_leaves_nothing() -> None:
    async def scenario() -> None:
        heard = Heard(Script(fault="hang at start"), patience=SHORT)
        load = begin(heard.load())
        await asyncio.sleep(0)
        await heard.child.stop()
        with pytest.raises(EngineDied):
            await load
        assert len(heard.deaths) == 1
        assert heard.child.pid is None
        assert threads() == set()

    run(scenario())


PARENT = """
import asyncio
from tests.scripted_children import PARAMS, Births, engine, turns

async def main():
    child = Births(engine)(lambda message: None, lambda death: None)
    await child.load(PARAMS, lambda progress: None)
    print(child.pid, flush=True)
    await asyncio.Event().wait()

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_the_child_ends_by_itself_when_the_app_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as app:
        assert app.stdout is not None
        child = psutil.Process(int(app.stdout.readline()))
        assert child.is_running()
        app.kill()
    run(until(lambda: _ended(child)))


def _ended(process: psutil.Process) -> bool:
    """Gone, or waiting to be reaped by whoever inherited it."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
