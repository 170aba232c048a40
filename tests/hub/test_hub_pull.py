"""`tutti models pull` through cuts, kills and a pause, as a process of its own."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fake_hub import MIB, Content, Does, FakeHub, sha_of

ROOT = Path(__file__).parent.parent.parent
CUTS, KILLS = 30, 5
BREAKS = CUTS + KILLS + 1
MOST_TWICE = 2_000_000


class Puller:
    """Starts `pull` again until it is done; the hub's script kills and interrupts it."""

    def __init__(self, hub: FakeHub) -> None:
        self._hub = hub
        self._running: subprocess.Popen[str] | None = None
        self.codes: list[int] = []
        self.said = ""

    def signal(self, number: int) -> Callable[[], None]:
        def act() -> None:
            assert self._running is not None
            self._running.send_signal(number)

        return act

    def run(self) -> str:
        """What the last one printed."""
        while True:
            with subprocess.Popen(
                [sys.executable, "-m", "app", "models", "pull", "--no-check", "o/r"],
                cwd=ROOT,
                env=os.environ | {"HF_ENDPOINT": self._hub.endpoint},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as self._running:
                printed, self.said = self._running.communicate(timeout=400)
            self.codes.append(self._running.returncode)
            if self._running.returncode not in {-signal.SIGKILL, 130}:
                return printed.strip()


def through_everything(size: int, bytes_per_second: float) -> None:
    content = Content(size)
    step = size // (BREAKS + 1)
    with FakeHub(bytes_per_second=bytes_per_second) as hub:
        hub.add("o/r", m__gguf=content)
        puller = Puller(hub)
        kill = Does(call_after=(step, puller.signal(signal.SIGKILL)), cut_after=step)
        pause = Does(call_after=(step, puller.signal(signal.SIGINT)), stall_after=step)
        spread = [Does(cut_after=step)] * (CUTS // KILLS)
        # The first request looks at the head of the file, to say whether the model fits.
        hub.script = [Does(), *([*spread, kill] * (KILLS - 1)), *spread, pause, kill]
        printed = puller.run()
        assert puller.codes[-1] == 0, (puller.codes, puller.said)
        path = Path(printed)
        twice = hub.read_twice()[1:]
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(MIB):
            whole.update(block)
    assert whole.hexdigest() == sha_of(content), puller.said
    assert sorted(puller.codes) == [-signal.SIGKILL] * KILLS + [0, 130]
    assert len(twice) == BREAKS
    assert max(twice) <= MOST_TWICE
    assert sum(count > 0 for count in twice) <= KILLS + 1, "a cut costs nothing"
    assert [path.name for path in path.parent.iterdir() if ".part" in path.name] == []


@pytest.mark.slow
@pytest.mark.crash
def test_64_mb_with_30_cuts_5_kills_and_a_pause() -> None:
    through_everything(64_000_000, 32_000_000)


@pytest.mark.soak
@pytest.mark.crash
def test_2_gb_with_30_cuts_5_kills_and_a_pause() -> None:
    through_everything(2_000_000_000, 100_000_000)
