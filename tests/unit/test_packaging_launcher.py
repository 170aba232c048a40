"""The menu entry of a checkout names program and icon so that any folder's name survives."""

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging" / "linux"))

import install_launcher as launcher  # noqa: E402

TEMPLATE = launcher.TEMPLATE.read_text(encoding="utf-8")
NASTY = Path('/tmp/Ünï côdé 漢字/a b/$HOME `x` "q" 100%/back\\slash')


def values(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def unescape(text: str) -> str:
    """A string value read back as the specification says."""
    out, rest = "", text
    while rest:
        if rest[0] == "\\":
            out += {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}[rest[1]]
            rest = rest[2:]
        else:
            out, rest = out + rest[0], rest[1:]
    return out


def exec_read_back(text: str) -> str:
    """The one quoted word of an Exec line, as a launcher passes it on."""
    quoted = unescape(text)
    assert quoted[0] == quoted[-1] == '"'
    out, rest = "", quoted[1:-1]
    while rest:
        if rest[0] == "\\":
            assert rest[1] in '"`$\\'
            out, rest = out + rest[1], rest[2:]
        elif rest[0] == "%":
            assert rest[1] == "%"
            out, rest = out + "%", rest[2:]
        else:
            assert rest[0] not in '"`$'
            out, rest = out + rest[0], rest[1:]
    return out


@given(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), min_size=1))
def test_any_path_comes_back_as_it_was(path: str) -> None:
    assert exec_read_back(launcher.exec_word(path)) == path
    assert unescape(launcher.string_value(path)) == path


def test_the_entry_names_program_and_icon() -> None:
    entry = values(
        launcher.entry(TEMPLATE, Path("/opt/tutti/bin/tutti"), Path("/opt/tutti/tutti.svg"))
    )
    assert entry["Exec"] == '"/opt/tutti/bin/tutti"'
    assert entry["TryExec"] == "/opt/tutti/bin/tutti"
    assert entry["Icon"] == "/opt/tutti/tutti.svg"
    assert {**values(TEMPLATE), **{key: entry[key] for key in ("Exec", "TryExec", "Icon")}} == entry


def test_it_is_written_and_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    target = tmp_path / "applications" / "tutti.desktop"
    assert launcher.main([]) == 0
    assert str(target) in capsys.readouterr().out
    assert target.stat().st_mode & 0o111
    assert values(target.read_text(encoding="utf-8"))["Icon"] == str(
        ROOT / "resources" / "icons" / "tutti.svg"
    )
    assert launcher.main(["--remove"]) == 0
    assert launcher.main(["--remove"]) == 0
    assert not target.exists()


@pytest.mark.skipif(
    shutil.which("desktop-file-validate") is None, reason="desktop-file-utils is not installed"
)
@pytest.mark.parametrize("program", [Path("/opt/tutti/bin/tutti"), NASTY], ids=["plain", "nasty"])
def test_the_desktops_own_check_passes(tmp_path: Path, program: Path) -> None:
    written = tmp_path / "tutti.desktop"
    launcher.write(written, program, program.with_name("tutti.svg"))
    for file in (launcher.TEMPLATE, written):
        done = subprocess.run(
            ["desktop-file-validate", file], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("gio") is None, reason="gio is not installed")
def test_the_desktop_starts_what_the_entry_names(tmp_path: Path) -> None:
    # GLib itself looks for the program before it turns %% into %, so it starts nothing from a folder with a "%".
    folder = tmp_path / str(NASTY).replace("%", "").lstrip("/")
    folder.mkdir(parents=True)
    program, pipe = folder / "tutti", folder / "pipe"
    program.write_text('#!/bin/sh\necho started > "$(dirname "$0")/pipe"\n')
    program.chmod(0o755)
    os.mkfifo(pipe)
    launcher.write(tmp_path / "tutti.desktop", program, folder / "tutti.svg")
    # gio does not wait for what it starts: open without blocking, then wait for the word with a limit.
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as reader:
        subprocess.run(["gio", "launch", tmp_path / "tutti.desktop"], check=True, timeout=60)
        assert select.select([reader], [], [], 60) == ([reader], [], [])
        assert reader.readline() == "started\n"
