"""Case 98: the access token goes to its hub, and is found nowhere else: in no helper, no file, no log."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.__main__ import main
from tests import tiny_models
from tests.fake_hub import MIB, Content, FakeHub

pytestmark = [pytest.mark.crash, pytest.mark.slow]

TOKEN = "hf_TESTTOKEN123"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub() as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.endpoint)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield fake


def test_it_is_written_nowhere(
    hub: FakeHub, private_folders: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a download over a second host, a file that is tried out in a helper, and a refusal that repeats the token."""
    good = Content(data=tiny_models.talker(tmp_path / "m.gguf").read_bytes())
    hub.add("o/r", m__gguf=good)
    assert main(["models", "pull", "o/r"]) == 0
    assert hub.log[0].authorization == f"Bearer {TOKEN}"
    assert {asked.authorization for asked in hub.bodies()} == {None}, "the second host saw it"
    hub.refuse = (500, {"X-Error-Message": f"you sent {TOKEN}"})
    os.environ["HF_TOKEN"] = TOKEN  # the first command has taken it out
    assert main(["models", "search", "m"]) == 1
    printed = capsys.readouterr()
    main(["doctor", "--json"])
    assert TOKEN not in printed.out + printed.err + capsys.readouterr().out
    files = [path for path in private_folders.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_no_helper_knows_it(hub: FakeHub, tmp_path: Path) -> None:
    model = tiny_models.talker(tmp_path / "m.gguf")
    command = [sys.executable, "-m", "app", "serve", "--model", str(model), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert any(re.match("listening on", line) for line in program.stdout)
        helpers = psutil.Process(program.pid).children(recursive=True)
        seen = [f"{helper.cmdline()} {helper.environ()}" for helper in helpers]
        program.terminate()
    assert len([one for one in seen if "spawn_main" in one]) >= 2, "the engine and the text worker"
    assert all("TUTTI_DATA_DIR" in one for one in seen)
    assert not [one for one in seen if TOKEN in one]
    assert not hub.log


def test_a_token_does_not_leave_this_machine_unencrypted(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add("o/r", m__gguf=Content(MIB))
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    assert main(["models", "search", "m"]) == 1
    printed = capsys.readouterr()
    assert "without encryption" in printed.err
    assert TOKEN not in printed.out + printed.err
