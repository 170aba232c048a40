"""The engine's process from outside: handshake, load, answers, refusals, and every way to end."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from app import paths
from app.engine import process
from app.errors import MemoryPart
from app.sampling import Sampling
from app.wire import (
    PROTOCOL,
    Abort,
    FinishReason,
    Heartbeat,
    Load,
    Loaded,
    LoadFailed,
    LoadParams,
    Ready,
    Shutdown,
    Step,
    Submit,
)
from tests import tiny_models
from tests.engine_pipe import WATCHDOG, Spawned, load, wait_for

pytestmark = pytest.mark.crash


def test_layers_for_a_gpu_that_is_not_there_are_told(
    spawn: Callable[[], Spawned], tiny: Path
) -> None:
    pipe, _ = spawn()
    ready = wait_for(pipe, Ready)
    if any(device.gpu for device in ready.devices):
        pytest.skip("there is a GPU here")
    pipe.send(Load(LoadParams(str(tiny), pool_tokens=512, sequences=2, batch=64, gpu_layers=5)))
    loaded = wait_for(pipe, Loaded)
    assert loaded.device == "CPU"
    assert "There is no GPU" in loaded.notes[0]


def test_a_device_that_is_not_there_is_refused(spawn: Callable[[], Spawned], tiny: Path) -> None:
    pipe, _ = spawn()
    wait_for(pipe, Ready)
    pipe.send(Load(LoadParams(str(tiny), device="CUDA7")))
    assert "no device “CUDA7”" in wait_for(pipe, LoadFailed).reason


def main_with_all_modules(connection: "Connection[Any, Any]", name: str) -> None:
    """An engine whose own program takes no more memory when it loads."""
    from app.engine import context, core  # noqa: F401

    process.main(connection, name)


def leave(child: BaseProcess, more: int) -> None:
    """Let this child have so many bytes more than it has."""
    import resource

    pages = int(Path(f"/proc/{child.pid}/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.prlimit(child.pid, resource.RLIMIT_AS, (limit, limit))


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits the memory of another process"
)
@pytest.mark.parametrize("mmap", [True, False])
def test_weights_that_find_no_memory_are_told_as_such(
    spawn: Callable[..., Spawned], starter: Path, *, mmap: bool
) -> None:
    pipe, child = spawn(main_with_all_modules)
    wait_for(pipe, Ready)
    leave(child, 40 << 20)
    pipe.send(Load(LoadParams(str(starter), pool_tokens=512, sequences=2, batch=64, mmap=mmap)))
    failed = wait_for(pipe, LoadFailed)
    assert failed.short_of is MemoryPart.WEIGHTS
    assert failed.reason.startswith("There is not enough memory for “")


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits the memory of another process"
)
def test_a_pool_that_finds_no_memory_is_told_as_such_and_a_smaller_one_fits(
    spawn: Callable[..., Spawned], tiny: Path
) -> None:
    # Each token takes 512 bytes: a gigabyte, and 4 MB.
    for pool in (2 << 20, 8192):
        pipe, child = spawn(main_with_all_modules)
        wait_for(pipe, Ready)
        leave(child, 400 << 20)
        pipe.send(Load(LoadParams(str(tiny), pool_tokens=pool, sequences=2, batch=64)))
        if pool == 8192:
            assert wait_for(pipe, Loaded).pool_tokens == pool
        else:
            failed = wait_for(pipe, LoadFailed)
            assert failed.short_of is MemoryPart.POOL
            assert f"a pool of {pool:,} tokens" in failed.reason


def test_handshake_load_answer_and_orderly_end(spawn: Callable[[], Spawned], tiny: Path) -> None:
    pipe, child = spawn()
    ready = wait_for(pipe, Ready)
    assert ready.protocol == PROTOCOL
    assert any(device.name == "CPU" and not device.gpu for device in ready.devices)
    pipe.send(Load(LoadParams(str(tiny), pool_tokens=1024, sequences=4, batch=64)))
    loaded = wait_for(pipe, Loaded)
    assert (loaded.pool_tokens, loaded.vocabulary) == (1024, tiny_models.VOCABULARY)
    for number in range(3):
        pipe.send(Submit(number, (1, 2, 3 + number), Sampling(temperature=0), 9, ignore_eos=True))
    ends, counted = {}, 0
    while len(ends) < 3:
        step = wait_for(pipe, Step)
        counted += len(step.tokens)
        ends.update({end.request_id: end.reason for end in step.finished})
    assert set(ends.values()) == {FinishReason.LENGTH}
    assert counted == 27
    pipe.send(Shutdown())
    child.join(WATCHDOG)
    assert child.exitcode == 0


def test_a_file_that_is_no_model_is_refused_and_the_child_ends(
    spawn: Callable[[], Spawned], tmp_path: Path
) -> None:
    pipe, child = spawn()
    wait_for(pipe, Ready)
    path = tmp_path / "notes.gguf"
    path.write_text("shopping list")
    pipe.send(Load(LoadParams(str(path))))
    failed = wait_for(pipe, LoadFailed)
    assert "not a model in the GGUF format" in failed.reason
    assert failed.short_of is None
    child.join(WATCHDOG)
    assert child.exitcode == 0


@pytest.mark.parametrize("when", ["before load", "idle", "running"])
def test_the_end_of_the_pipe_ends_the_child(
    spawn: Callable[[], Spawned], tiny: Path, when: str
) -> None:
    pipe, child = spawn()
    if when != "before load":
        load(pipe, tiny)
    if when == "running":
        pipe.send(Submit(1, (1, 2), Sampling(temperature=0), None, ignore_eos=True))
        wait_for(pipe, Step)
    pipe.close()
    child.join(WATCHDOG)
    assert child.exitcode == 0


def test_heartbeats_while_idle_and_abort_of_the_unknown(
    spawn: Callable[[], Spawned], tiny: Path
) -> None:
    pipe, _ = spawn()
    load(pipe, tiny)
    pipe.send(Abort(99))
    assert wait_for(pipe, Heartbeat)


@pytest.mark.model
def test_a_load_can_be_given_up(spawn: Callable[[], Spawned], starter: Path) -> None:
    pipe, child = spawn()
    wait_for(pipe, Ready)
    pipe.send(Load(LoadParams(str(starter), mmap=False)))
    pipe.send(Shutdown())
    child.join(WATCHDOG)
    assert child.exitcode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals and priorities of POSIX")
@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_a_crash_leaves_its_trace_in_a_file(
    spawn: Callable[[], Spawned], tiny: Path, number: signal.Signals
) -> None:
    """As llama.cpp's aborts do: faulthandler writes where Python stood, and the process ends at once."""
    pipe, child = spawn()
    load(pipe, tiny)
    assert child.pid is not None
    nicer = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5)
    assert os.getpriority(os.PRIO_PROCESS, child.pid) == nicer
    os.kill(child.pid, number)
    child.join(WATCHDOG)
    assert child.exitcode == -number
    trace = (paths.logs_dir() / "engine-test.native.log").read_text()
    assert "Fatal Python error" in trace
    assert "process.py" in trace


STATE = (
    "import multiprocessing, os, sys, faulthandler; from app.engine import process; "
    "ours, theirs = multiprocessing.Pipe(); ours.close(); process.main(theirs, 'state'); "
    "print(sys.getswitchinterval(), os.environ['GGML_NO_BACKTRACE'], faulthandler.is_enabled())"
)


def test_how_the_process_is_set_up() -> None:
    done = subprocess.run([sys.executable, "-c", STATE], capture_output=True, text=True, check=True)
    interval, no_backtrace, enabled = done.stdout.split()
    assert float(interval) < 0.005
    assert (no_backtrace, enabled) == ("1", "True")
