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
from tests.gguf_bytes import Entry, number, parts
from tests.scripted_children import begin, run, threads

ROOT = Path(__file__).parent.parent.parent

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.talker(tmp_path_factory.mktemp("talker") / "good.gguf")


def verdict(path: Path) -> Verdict:
    found = run(examine(path, trial_child, LoopClock(), lambda _: None))
    assert threads() == set()
    return found


def test_a_good_file_is_sound_and_its_neighbour_that_aborts_the_engine_is_named(
    talker: Path, tmp_path: Path
) -> None:
    model = parts(talker.read_bytes())
    model.put(Entry(b"llama.block_count", 4, number(4, 0)))
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(model.written())

    async def both() -> list[Verdict]:
        checks = (examine(path, trial_child, LoopClock(), lambda _: None) for path in (talker, bad))
        return await asyncio.gather(*checks)

    good, refused = run(both())
    assert good == SOUND
    assert refused.finding is Finding.CRASHED
    assert "SIGABRT" in refused.what
    assert threads() == set()


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
    bytearray(limits.memory(0) + 1)
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
