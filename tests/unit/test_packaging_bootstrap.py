"""The one program behind all commands: what it accepts, and what make makes of it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bootstrap

ROOT = Path(__file__).parent.parent.parent
VERBS = {*bootstrap.COMMANDS, "check"}


@pytest.mark.parametrize(
    ("arguments", "window"),
    [
        ([], True),
        (["--model", "a.gguf"], True),
        (["serve", "--model", "a.gguf"], False),
        (["doctor"], False),
    ],
)
def test_which_arguments_open_a_window(arguments: list[str], window: bool) -> None:
    assert bootstrap.opens_window(arguments) is window


def test_all_tests_are_shared_out_and_some_are_not() -> None:
    everything = bootstrap.python_arguments("test", [])
    assert everything[: everything.index("-n")] == ["-m", "pytest"]
    assert bootstrap.python_arguments("test", ["-k", "name"]) == ["-m", "pytest", "-k", "name"]
    assert "-n" not in bootstrap.python_arguments("soak", [])


@pytest.mark.parametrize("arguments", [[], ["fly"], ["--help"]])
def test_an_unknown_verb_is_answered_with_the_known_ones(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "packaging/bootstrap.py", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert set(re.findall(r"\w+", done.stderr)) >= VERBS


def test_another_python_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bootstrap, "OLDEST", (3, 90))
    with pytest.raises(SystemExit) as caught:
        bootstrap.ensure_python()
    assert caught.value.code == 1
    assert re.fullmatch(
        r"tutti: needs Python 3\.11, 3\.12 or 3\.13; this is 3\.\d+ .*\n", capsys.readouterr().err
    )


def test_a_name_that_does_not_start_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\necho not found >&2; exit 127\n")
    broken.chmod(0o755)
    assert not bootstrap.runs(str(broken))
    assert not bootstrap.runs(str(tmp_path / "absent"))
    assert bootstrap.runs(sys.executable)


def make(*words: str) -> str:
    """What make prints, told apart from a make that may be running these tests."""
    own = ("MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    return subprocess.run(
        ["make", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_knows_every_verb_and_passes_arguments_on() -> None:
    for verb in VERBS:
        words = make("-n", verb, "ARGS=--some thing", "PYTHON=py").split()
        assert words[:3] == ["py", "packaging/bootstrap.py", verb]
        assert words[3:] == ([] if verb in {"check", "setup"} else ["--some", "thing"])


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_alone_lists_the_commands() -> None:
    listed = set(re.findall(r"^  make (\w+)", make(), re.MULTILINE))
    assert listed == {*VERBS, "help", "lock", "clean"}
