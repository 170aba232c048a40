"""One window for a data folder, with real processes; and how the app ends."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from app import paths
from app.ui.single_instance import SingleInstance
from tests.gui.desk import until

RUN = (
    "import sys; from app.main import run_window; code = run_window(sys.argv[1] or None); "
    "print('app.store.conversations' in sys.modules, 'llama_cpp' in sys.modules); sys.exit(code)"
)
ROOT = Path(__file__).parent.parent.parent
PATIENCE = 30.0


class Start:
    """One start of the app."""

    def __init__(self, folder: Path, model: str = "", **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", RUN, model],
            env={**os.environ, "TUTTI_DATA_DIR": str(folder), **environment},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def running(self) -> bool:
        return self.process.poll() is None

    def ended(self) -> tuple[int, str, str]:
        """Exit code, what was printed, what was complained."""
        out, complaints = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out.strip(), complaints.strip()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        self.process.send_signal(number)
        return self.ended()


@pytest.fixture
def starts():
    """Whatever a test starts is gone after it."""
    started: list[Start] = []
    yield started
    for start in started:
        if start.running():
            start.process.kill()
        start.process.communicate()


@pytest.fixture
def folder(private_folders):
    return paths.data_dir()


def wait_for_window(folder: Path, start: Start) -> None:
    """Wait until the first copy answers others."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if start.process.poll() is not None:
            pytest.fail(f"it ended: {start.ended()}")
        if (folder / "chats.db").exists() and SingleInstance(folder)._forward(""):
            return
        time.sleep(0.05)
    pytest.fail("no window came")


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_of_two_starts_one_window_stays(qapp, folder, starts, rounds):
    for _ in range(rounds):
        pair = [Start(folder), Start(folder)]
        starts += pair
        deadline = time.monotonic() + PATIENCE
        while all(start.running() for start in pair) and time.monotonic() < deadline:
            time.sleep(0.02)
        (gone,) = [start for start in pair if not start.running()]
        (stays,) = [start for start in pair if start.running()]
        code, out, complaints = gone.ended()
        assert (code, out, complaints) == (0, "False False", "")
        wait_for_window(folder, stays)
        assert stays.stop()[:2] == (0, "True False")


@pytest.mark.crash
@pytest.mark.slow
def test_a_killed_copy_holds_nothing_and_a_link_is_the_same_folder(qapp, folder, starts, tmp_path):
    first = Start(folder)
    starts.append(first)
    wait_for_window(folder, first)
    first.process.kill()
    first.ended()

    second = Start(folder)
    starts.append(second)
    wait_for_window(folder, second)

    link = tmp_path / "link"
    link.symlink_to(folder, target_is_directory=True)
    third = Start(link)
    starts.append(third)
    assert third.ended()[:2] == (0, "False False")
    assert second.running()
    # Impatience does no harm.
    second.process.send_signal(signal.SIGTERM)
    code, out, complaints = second.stop(signal.SIGINT)
    assert (code, out, complaints) == (0, "True False", "")


@pytest.mark.slow
def test_without_a_screen_one_line_names_the_server(folder, starts):
    start = Start(folder, QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")
    starts.append(start)
    code, _, complaints = start.ended()
    assert code == 1
    assert "tutti serve" in complaints
    assert len(complaints.splitlines()) == 1
    assert not (folder / "chats.db").exists()


AS_NOBODY = (
    "import os, sys; from pathlib import Path; from app.ui.single_instance import SingleInstance; "
    "os.setgroups([]); os.setgid(65534); os.setuid(65534); "
    "refusal = SingleInstance(Path(sys.argv[1])).claim(); "
    "print(refusal.words); sys.exit(9 if refusal is None else refusal.exit_code)"
)


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else"
)
@pytest.mark.parametrize(
    ("mode", "code", "words"),
    [(0o700, 1, "The data folder cannot be written"), (0o777, 0, "open already")],
    ids=["private", "shared"],
)
def test_another_user_on_the_same_folder_is_told(qapp, mode, code, words):
    # Not below pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(mode)
        first = SingleInstance(folder)
        assert first.claim() is None
        command = [sys.executable, "-c", AS_NOBODY, str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (code, "")
        assert words in done.stdout
        first.release()


ASK = (
    "import sys; from pathlib import Path; from app.ui.single_instance import SingleInstance; "
    "refusal = SingleInstance(Path(sys.argv[1])).claim('/models/x.gguf'); "
    "sys.exit(9 if refusal is None else refusal.exit_code)"
)


def test_a_later_start_hands_over_its_model(drive, tmp_path):
    first, heard = SingleInstance(tmp_path), []
    assert first.claim() is None
    asking = subprocess.Popen([sys.executable, "-c", ASK, str(tmp_path)], cwd=ROOT)

    async def scenario():
        first.listen(heard.append)
        await until(lambda: asking.poll() is not None)
        assert asking.returncode == 0
        assert heard == ["/models/x.gguf"]
        first.release()

    drive(scenario())
