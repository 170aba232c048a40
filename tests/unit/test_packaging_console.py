"""Progress as the person at the terminal sees it, and programs whose output goes to a log."""

import io
import sys
from pathlib import Path

import pytest

from provision.console import NinjaProgress, StatusLine, pip_progress, run_logged
from provision.errors import CommandFailed


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_ninja_line_becomes_share_and_time_left() -> None:
    clock = Clock()
    progress = NinjaProgress(clock)
    assert progress.read("[1/193] Building CXX object ggml.cpp.o") == "1/193 (0 %)"
    clock.now += 66
    assert progress.read("  [23/193] /usr/bin/c++ -O3") == "23/193 (11 %), about 8 min left"
    clock.now += 434
    assert progress.read("[187/193] x") == "187/193 (96 %), less than a minute left"
    assert progress.read("[193/193] Linking") == "193/193 (100 %)"


@pytest.mark.parametrize(
    "line", ["", "-- Configuring done", "note: [-Wunused]", "[x/3] y", "array[1/2]"]
)
def test_other_lines_say_nothing(line: str) -> None:
    assert NinjaProgress().read(line) is None


def test_pip_says_what_it_fetches() -> None:
    line = "  Downloading pyside6_essentials-6.11.3-cp310-abi3-manylinux_2_34_x86_64.whl (94.3 MB)"
    assert pip_progress(line) == (
        "downloading pyside6_essentials-6.11.3-cp310-abi3-manylinux_2_34_x86_64.whl (94.3 MB)"
    )
    assert pip_progress("Installing collected packages: numpy, jinja2") == "unpacking"
    assert pip_progress("Collecting numpy==2.4.6 (from -r app.txt)") is None


def test_a_terminal_gets_one_line_rewritten() -> None:
    stream = Terminal()
    line = StatusLine(stream)
    line.start("compiling 1/10")
    line.show("short")
    line.done("built")
    assert stream.getvalue() == "\rcompiling 1/10\rshort         \rbuilt\n"


def test_a_log_gets_a_line_now_and_then() -> None:
    stream, clock = io.StringIO(), Clock()
    line = StatusLine(stream, clock)
    line.start("setting up")
    line.show("at once: left out")
    clock.now += 16
    line.show("after a while")
    line.show("again at once: left out")
    line.done("done")
    assert stream.getvalue() == "setting up\nafter a while\ndone\n"


def test_output_goes_to_the_log_and_to_the_caller(tmp_path: Path) -> None:
    log, lines = tmp_path / "deep" / "setup.log", []
    code = "import sys; print('one'); print('two', file=sys.stderr)"
    run_logged([sys.executable, "-c", code], log=log, on_line=lines.append)
    assert sorted(lines) == ["one", "two"]
    assert "one\n" in log.read_text()
    assert "$ " in log.read_text()


def test_a_failure_names_status_reason_and_log(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    code = "print('[Errno 28] No space left on device'); raise SystemExit(3)"
    with pytest.raises(CommandFailed) as caught:
        run_logged([sys.executable, "-c", code], log=log, on_line=lambda _line: None)
    assert caught.value.status == 3
    assert (
        str(caught.value.explained("installing"))
        == f"installing failed: the disk is full (log: {log})"
    )


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ("NewConnectionError: <x>: [Errno -3] Temporary failure in name resolution", "cannot be reached"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "not the one that the lock names"),
        ("ERROR: No matching distribution found for numpy==9", "no file of a locked package"),
        ("CMake Error: CMAKE_CXX_COMPILER not set", "no working C++ compiler"),
        ("c++: fatal error: Killed signal terminated program cc1plus", "ran out of memory"),
        ("something else\nlast words\n\n", "last words"),
        ("", "it printed nothing"),
    ],
)  # fmt: skip
def test_known_failures_have_words(tail: str, reason: str) -> None:
    error = CommandFailed("pip", 1, tail, Path("build/setup.log")).explained("installing")
    assert reason in str(error)
    assert "\n" not in str(error)
