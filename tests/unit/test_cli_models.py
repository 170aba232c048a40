"""`tutti models`: what it prints, and how it ends."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import inuse
from app.__main__ import main
from app.cli.progress import Bar, line, percent
from app.errors import HubError, HubProblem
from app.hub.standing import Phase, Standing
from app.paths import STARTER_NAME
from app.remembered import Remembered, remembered_path
from app.settings import Settings, save, settings_path
from tests import tiny_models
from tests.fake_hub import MIB, Content, FakeHub
from tests.model_folders import head

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub() as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.endpoint)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield fake


def test_search_prints_one_repository_a_line(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    hub.add("o/tiny").facts = {"total": 134_515_008}
    hub.add("owner/tiny-two").gated = True
    hub.add("o/other")
    assert main(["models", "search", "tiny"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "o/tiny          135M  mit  12 downloads",
        "owner/tiny-two        mit  12 downloads  gated",
    ]


def test_search_for_programs(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(40):
        hub.add(f"o/m{number:02d}")
    assert main(["models", "search", "m", "--limit", "35", "--json", "--language", "en"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["repo"] for one in found] == [f"o/m{number:02d}" for number in range(35)]


def test_nothing_found_is_said_and_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "search", "xyzzy"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "xyzzy" in printed.err


def test_pull_takes_the_preferred_file_and_prints_where_it_is(
    hub: FakeHub, capsys: pytest.CaptureFixture[str], private_folders: Path
) -> None:
    hub.add("o/r", m_Q8_0__gguf=Content(2 * MIB), m_Q4_K_M__gguf=Content(MIB, 1))
    assert main(["models", "pull", "--no-check", "o/r"]) == 0
    printed = capsys.readouterr()
    path = private_folders / "models" / "o" / "r" / "m_Q4_K_M.gguf"
    assert printed.out.strip() == str(path)
    assert path.stat().st_size == MIB
    assert "o/r: m_Q4_K_M.gguf, 1.0 MB" in printed.err
    # Again: nothing moves, the same is printed.
    before = len(hub.bodies())
    assert main(["models", "pull", "--no-check", "o/r"]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    assert len(hub.bodies()) == before


def test_what_was_pulled_is_checked_once(
    hub: FakeHub, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hub.add("o/r", m__gguf=Content(data=tiny_models.talker(tmp_path / "m.gguf").read_bytes()))
    for words in (1, 0):
        assert main(["models", "pull", "o/r"]) == 0
        printed = capsys.readouterr()
        assert printed.out.strip().endswith("m.gguf")
        assert printed.err.count("checking the file") == words


def test_what_was_pulled_and_is_no_use_stays_and_is_named(
    hub: FakeHub, capsys: pytest.CaptureFixture[str], private_folders: Path
) -> None:
    hub.add("o/r", m__gguf=Content(MIB))
    assert main(["models", "pull", "o/r"]) == 3
    printed = capsys.readouterr()
    assert printed.out.strip() == str(private_folders / "models" / "o" / "r" / "m.gguf")
    assert "is not a model in the GGUF format" in printed.err


@pytest.mark.parametrize("arguments", [["o/r", "q8_0"], ["o/r", "m_Q8_0.gguf"], ["o/r:Q8_0"]])
def test_pull_takes_the_file_that_is_named(hub: FakeHub, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:  # fmt: skip
    hub.add("o/r", m_Q8_0__gguf=Content(MIB), m_Q4_K_M__gguf=Content(MIB, 1))
    assert main(["models", "pull", "--no-check", *arguments]) == 0
    assert capsys.readouterr().out.strip().endswith("m_Q8_0.gguf")


def test_pull_takes_an_address_of_the_hub(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    hub.add("o/r", m_Q8_0__gguf=Content(MIB), m_Q4_K_M__gguf=Content(MIB, 1))
    assert main(["models", "pull", "--no-check", f"{hub.endpoint}/o/r/blob/main/m_Q8_0.gguf"]) == 0
    assert capsys.readouterr().out.strip().endswith("m_Q8_0.gguf")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["pull", "o/none"], 2, "no repository o/none"),
        (["pull", "o/r", "Q2_K"], 2, "It has: Q4_K_M"),
        (["pull", "not a repository"], 2, "neither a repository"),
        (["pull", "o/gated"], 1, "accepted its licence"),
    ],
)
def test_how_a_pull_fails(hub: FakeHub, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str) -> None:  # fmt: skip
    hub.add("o/r", m_Q4_K_M__gguf=Content(MIB))
    hub.add("o/gated", m_Q4_K_M__gguf=Content(MIB)).gated = True
    assert main(["models", *arguments]) == code
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert main(["models", "search", "x"]) == 1
    assert "cannot be reached" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["search"], ["pull"], ["search", "x", "--limit", "0"], ["fly"]])  # fmt: skip
def test_wrong_arguments_end_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    with pytest.raises(SystemExit) as caught:
        main(["models", *arguments])
    assert caught.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


# --- progress ------------------------------------------------------------------------------------------------

HALF = Standing(500_000_000, 1_000_000_000, Phase.FETCHING, 12_000_000.0, 42.0)
BUSY = HubError("hub.example is busy.", problem=HubProblem.BUSY)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_says_how_far_how_fast_and_how_long() -> None:
    text = line("m.gguf", HALF, 200)
    assert text == " 50 %  ████████████░░░░░░░░░░░░  500 MB of 1.0 GB  12.0 MB/s  42 s left  m.gguf"
    assert len(line("m" * 300, HALF, 80)) < 80
    assert "verifying" in line("m", Standing(1, 2, Phase.PROVING), 200)
    waiting = Standing(1, 2, Phase.WAITING, error=BUSY, wait=7.0)
    assert line("m", waiting, 200) == " 50 %  hub.example is busy. Trying again in 7 s."


@pytest.mark.parametrize(("done", "total", "expected"), [(0, 0, 100), (0, 5, 0), (999, 1000, 99), (1000, 1000, 100)])  # fmt: skip
def test_a_hundred_is_said_only_at_the_end(done: int, total: int, expected: int) -> None:
    assert percent(Standing(done, total, Phase.FETCHING)) == expected


def test_a_terminal_gets_one_line_that_changes() -> None:
    terminal = Terminal()
    bar = Bar(terminal, "m")
    bar.show(HALF)
    bar.show(Standing(1, 2, Phase.PROVING))
    bar.end()
    bar.end()
    text = terminal.getvalue()
    assert text.count("\r") == 2
    assert text.count("\n") == 1


def test_a_file_gets_a_line_for_each_tenth_and_each_phase() -> None:
    file = io.StringIO()
    bar = Bar(file, "m")
    for done in range(0, 1000, 7):
        bar.show(Standing(done, 1000, Phase.FETCHING))
    bar.show(Standing(1000, 1000, Phase.PROVING))
    bar.show(Standing(500, 1000, Phase.WAITING, error=BUSY, wait=7.0))
    bar.show(Standing(500, 1000, Phase.WAITING, error=BUSY, wait=6.0))
    assert len(file.getvalue().splitlines()) == 12


# --- list, remove --------------------------------------------------------------------------------------------


def test_what_was_pulled_is_listed_and_can_be_removed(
    hub: FakeHub, capsys: pytest.CaptureFixture[str], starter: Path, private_folders: Path
) -> None:
    hub.add("o/r", m_Q4_1__gguf=Content(data=starter.read_bytes()))
    assert main(["models", "pull", "--no-check", "o/r"]) == 0
    capsys.readouterr()
    assert main(["models", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [
        line
        for line in lines
        if line.startswith("o/r/m_Q4_1 ") and "Q4_1" in line and "Tutti" in line
    ]
    assert main(["models", "list", "--json"]) == 0
    facts = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert facts["o/r/m_Q4_1"]["bytes"] == starter.stat().st_size
    assert facts["o/r/m_Q4_1"]["architecture"] == "llama"
    assert main(["models", "list", "--duplicates"]) == 0
    found = capsys.readouterr().out.splitlines()
    assert {line.split("  ")[0] for line in found} >= {"o/r/m_Q4_1", STARTER_NAME}
    assert main(["models", "remove", "o/r"]) == 0
    assert "98" in capsys.readouterr().out
    assert not [path for path in (private_folders / "models").rglob("*") if path.is_file()]


def test_what_another_program_uses_is_removed_only_by_force(
    capsys: pytest.CaptureFixture[str], private_folders: Path
) -> None:
    path = head(private_folders / "models" / "m.gguf")
    with inuse.here("tutti serve").use(path):
        assert main(["models", "remove", "m"]) == 1
        told = capsys.readouterr().err
        assert f"in use by tutti serve (process {os.getpid()})" in told
        assert "--force" in told
        assert path.exists()
        assert main(["models", "remove", "m", "--force"]) == 0
    assert not path.exists()


@pytest.mark.parametrize("name", ["nothing", "SmolLM2-135M-Instruct.Q4_1", STARTER_NAME])
def test_what_is_not_ours_is_not_removed(name: str, starter: Path, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    assert main(["models", "remove", name]) == 2
    assert starter.is_file()
    assert capsys.readouterr().err


def test_the_folders_and_the_hub_of_the_settings_count_for_commands_too(
    hub: FakeHub,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = tmp_path / "mine"
    path = head(mine / "m-Q4_0.gguf")
    monkeypatch.delenv("HF_ENDPOINT")
    save(Settings(model_folders=(str(mine),), hub_endpoint=hub.endpoint), settings_path())
    hub.add("o/tiny")
    assert main(["models", "search", "tiny"]) == 0
    assert capsys.readouterr().out.startswith("o/tiny")
    Remembered(remembered_path()).rename(path, "My own")
    assert main(["models", "list"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("My own ")]
    # A command cannot ask: what Tutti did not put there stays.
    assert main(["models", "remove", "my own"]) == 2
    assert "your folder" in capsys.readouterr().err
    assert path.exists()


def test_what_was_not_loaded_for_long_is_listed_and_removed_by_the_name_that_it_was_given(
    capsys: pytest.CaptureFixture[str], private_folders: Path
) -> None:
    models = private_folders / "models"
    old, new = head(models / "old.gguf"), head(models / "new.gguf")
    os.utime(old, (1e9, 1e9))
    Remembered(remembered_path()).rename(old, "Dusty")
    assert main(["models", "list", "--unused", "30"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["Dusty"]
    assert main(["models", "remove", "dusty"]) == 0
    assert not old.exists()
    assert new.exists()
    assert main(["models", "list", "--unused", "30"]) == 0
    assert "no model was unused" in capsys.readouterr().err


@pytest.mark.parametrize("architecture", ["clip", "eagle3", "nomic-bert"])
def test_what_is_no_chat_model_is_listed_only_when_all_is(architecture: str, capsys: pytest.CaptureFixture[str], private_folders: Path) -> None:  # fmt: skip
    head(private_folders / "models" / "best-chat.gguf", architecture)
    assert main(["models", "list"]) == 0
    assert "best-chat" not in capsys.readouterr().out
    assert main(["models", "list", "--all"]) == 0
    assert "best-chat" in capsys.readouterr().out


def test_a_pull_says_when_the_file_is_no_chat_model(hub: FakeHub, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:  # fmt: skip
    data = head(tmp_path / "x.gguf", "clip", general__type="mmproj").read_bytes()
    hub.add("o/r", best_chat__gguf=Content(data=data))
    assert main(["models", "pull", "o/r"]) == 0
    assert "cannot chat" in capsys.readouterr().err


def test_of_two_models_with_the_same_given_name_none_is_removed(
    capsys: pytest.CaptureFixture[str], private_folders: Path
) -> None:
    both = [head(private_folders / "models" / f"{name}.gguf") for name in ("one", "two")]
    for path in both:
        Remembered(remembered_path()).rename(path, "Mine")
    assert main(["models", "remove", "mine"]) == 2
    assert "Several models are called “mine”: one, two." in capsys.readouterr().err
    assert all(path.exists() for path in both)
    assert main(["models", "remove", "two"]) == 0
    assert [path.exists() for path in both] == [True, False]


def test_no_name_removes_nothing(capsys: pytest.CaptureFixture[str], private_folders: Path) -> None:
    only = head(private_folders / "models" / "only.gguf")
    assert main(["models", "remove", ""]) == 2
    assert "There is no model “”" in capsys.readouterr().err
    assert only.exists()


def test_a_folder_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:  # fmt: skip
    assert main(["models", "list", "--folder", str(tmp_path / "no\u202ene")]) == 0
    assert f"there is no folder {tmp_path}/no ne" in capsys.readouterr().err
