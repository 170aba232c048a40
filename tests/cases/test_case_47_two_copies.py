"""Case 47: a second start while the first copy is busy; the rest of the case is in gui/test_single_instance.py."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app import settings
from app.settings import Settings
from tests.cases.test_case_46_killed import ROOT, Shown, start
from tests.cases.whole import GREEDY, PATIENCE
from tests.processes import processes_of

pytestmark = [pytest.mark.crash, pytest.mark.slow]

SECOND = (
    "import sys; from app.main import run_window; code = run_window(None); "
    "print([name for name in sys.modules if name.startswith(('app.store', 'llama_cpp'))]); sys.exit(code)"
)


def test_a_busy_copy_comes_forward_and_streams_on(private_folders: Path, talker: Path) -> None:
    settings.save(
        Settings(sampling=GREEDY, pool_tokens=65_536, threads=1), settings.settings_path()
    )
    shown, second, lengths = Shown(), None, [0, 0]
    with start("stream", str(talker)) as first:
        assert first.stdout is not None
        for line in first.stdout:
            words = json.loads(line)
            shown.hear(*words)
            written = sum(map(len, shown.ticks[-1][1].values())) if shown.ticks else 0
            if second is None and len(shown.ticks) > 3 and written > 100:
                lengths[0] = written
                second = subprocess.Popen(
                    [sys.executable, "-c", SECOND], cwd=ROOT, stdout=subprocess.PIPE, text=True
                )
            if words[0] == "forward":
                lengths[1] = written
            if lengths[1] and written > lengths[1]:
                break
        assert second is not None
        out, _ = second.communicate(timeout=PATIENCE)
        # It has not even loaded what opens the database.
        assert (second.returncode, out.strip()) == (0, "[]")
        assert lengths[0] < lengths[1], "it streamed while the second one started"
        assert first.poll() is None
        first.terminate()
        first.stdout.read()
    assert not processes_of(private_folders)
