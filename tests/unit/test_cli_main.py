"""The entry: what it imports, what it does without streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app import __version__
from app.__main__ import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"tutti {__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["doctor", "--loud"], ["selftest", "x"]])
def test_what_is_not_a_command_is_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_entry_loads_neither_qt_nor_llama_nor_the_server() -> None:
    code = (
        "import sys, app.__main__\n"
        "heavy = ('PySide6', 'qasync', 'llama_cpp', 'starlette', 'uvicorn', 'numpy', 'jinja2', 'asyncio.windows_events')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(sys.platform == "win32", reason="closes file descriptors with a shell")
def test_without_stdout_and_stderr_the_words_go_to_a_log_file(private_folders: Path) -> None:
    command = ["/bin/sh", "-c", 'exec "$0" -m app serve --host 0.0.0.0 >&- 2>&-', sys.executable]
    done = subprocess.run(command, check=False, env=os.environ)
    assert done.returncode == 2
    assert "0.0.0.0" in (private_folders / "logs" / "output.log").read_text()
