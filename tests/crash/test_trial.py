"""Files that crash, hang or swell llama.cpp, opened in a real throw-away process; the soak has 2,000 more."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.client.child import Child, trial_child
from app.client.clock import LoopClock
from app.client.process import OnDeath, OnMessage
from app.client.trial import examine
from app.verdict import SOUND, Finding, Verdict
from tests import tiny_models
from tests.gguf_bytes import Entry, Gguf, number, parts, text
from tests.scripted_children import begin, run, threads

ROOT = Path(__file__).parent.parent.parent

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.talker(tmp_path_factory.mktemp("talker") / "good.gguf")


def test_a_good_file_is_sound_and_neighbours_that_crash_the_engine_are_named(
    talker: Path, tmp_path: Path
) -> None:
    """One aborts while it loads, the other where several tokens are read at once."""
    none, diffusion = (parts(talker.read_bytes()) for _ in range(2))
    none.put(Entry(b"llama.block_count", 4, number(4, 0)))
    _as_architecture(diffusion, b"llada")
    paths = [talker]
    for place, model in enumerate((none, diffusion)):
        paths.append(tmp_path / f"{place}.gguf")
        paths[-1].write_bytes(model.written())

    async def all_at_once() -> list[Verdict]:
        checks = (examine(path, trial_child, LoopClock(), lambda _: None) for path in paths)
        return await asyncio.gather(*checks)

    good, *bad = run(all_at_once())
    assert good == SOUND
    assert [one.finding for one in bad] == [Finding.CRASHED] * 2
    assert all("crashes the engine (signal SIG" in one.what for one in bad)
    assert threads() == set()


def _as_architecture(model: Gguf, name: bytes) -> None:
    for place, entry in enumerate(model.entries):
        if entry.key.startswith(b"llama."):
            model.entries[place] = entry._replace(key=name + entry.key[5:])
    model.put(Entry(b"general.architecture", 8, text(name)))


def test_a_process_whose_user_has_gone_ends_at_once(talker: Path) -> None:
    async def scenario() -> None:
        started: list[Child] = []

        def spawn(on_message: OnMessage, on_death: OnDeath) -> Child:
            started.append(trial_child(on_message, on_death))
            return started[0]

        at_work = asyncio.Event()
        task = begin(examine(talker, spawn, LoopClock(), lambda _: at_work.set()))
        await at_work.wait()
        process = psutil.Process(started[0].pid)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert started[0].death is not None
        assert started[0].death.exitcode == 0
        assert not process.is_running()

    run(scenario())


SWELLS = """
try:
    bytearray(limits.memory(0) + (1 << 20))
except MemoryError:
    raise SystemExit(7)
"""
SPINS = """
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
assert 0 < soft < hard
resource.setrlimit(resource.RLIMIT_CPU, (0, hard))
while True:
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
@pytest.mark.parametrize(("work", "code"), [(SWELLS, 7), (SPINS, -signal.SIGXCPU)])
def test_a_process_that_is_bound_ends_by_its_own_limits(work: str, code: int) -> None:
    bound = f"from app.trial import limits\nlimits.bind(0)\n{work}"
    done = subprocess.run([sys.executable, "-c", bound], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == code
