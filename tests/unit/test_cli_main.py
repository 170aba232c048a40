"""The entry: what it imports, what it does without streams."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app import __version__
from app.__main__ import main
from app.cli.say import note, say


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


@pytest.mark.parametrize(
    ("encoding", "written"),
    [("utf-8", "模型 “a” \\udcff"), ("ascii", r"\u6a21\u578b \u201ca\u201d \udcff"), ("cp1252", r"\u6a21\u578b “a” \udcff")],
)  # fmt: skip
def test_what_the_output_has_no_letters_for_is_spelled_out(encoding: str, written: str) -> None:
    """The name of a file need not be valid text, and a pipe need not take all that is."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        say("模型 “a” \udcff")
        note("\udcff")
    assert raw.getvalue().decode(encoding) == f"{written}\ntutti: \\udcff\n"


def test_the_entry_loads_no_command_nor_what_one_is_made_of() -> None:
    """Each child process begins with the script that started the app, and so with the entry."""
    code = (
        "import sys, app.__main__\n"
        "heavy = ('PySide6', 'qasync', 'llama_cpp', 'starlette', 'uvicorn', 'numpy', 'jinja2', 'asyncio', 'sqlite3',"
        " 'app.cli', 'app.bench', 'app.main', 'app.chat', 'app.wire')\n"
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
