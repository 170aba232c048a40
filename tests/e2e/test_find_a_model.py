"""From an empty models folder to an answer, in the real program on a real screen, over a hub on loopback."""

import json
from pathlib import Path

import pytest

from app.sampling import Sampling
from app.settings import Settings, save
from tests.e2e.conftest import run_driver
from tests.fake_hub import MIB
from tests.processes import processes_of

pytestmark = [pytest.mark.model, pytest.mark.slow]


def test_search_download_pause_resume_and_chat(display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("TUTTI_MODELS_DIR", str(data / "models"))
    save(Settings(sampling=Sampling(temperature=0), max_answer_tokens=30), data / "settings.json")
    done = run_driver("find_a_model", display, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    path = data / "models" / "tutti" / "tiny-135M-GGUF" / "tiny-135M-Q4_1.gguf"
    assert told["asked_before"] == 0
    assert told["model"] == str(path)
    assert told["firsts"][0] == 0
    assert told["firsts"][1] >= 39 * MIB
    assert told["chat"].startswith("You\nSay hello.\n\nTutti\n")
    assert not [one for one in path.parent.iterdir() if ".part" in one.name]
    left = processes_of(data)
    assert not left, f"processes left behind: {left}"
