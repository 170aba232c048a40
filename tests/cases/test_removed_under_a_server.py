"""A model that `tutti serve` has loaded is not removed by another process, until that one is gone, however it ends."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.__main__ import main
from tests import tiny_models

pytestmark = [pytest.mark.slow, pytest.mark.crash]


@pytest.fixture
def model(private_folders: Path) -> Path:
    path = private_folders / "models" / "talker.gguf"
    path.parent.mkdir(parents=True)
    return tiny_models.talker(path)


@pytest.fixture
def server(model: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """With a data folder of its own, as of another user's choice."""
    command = [sys.executable, "-m", "app", "serve", "--model", str(model), "--port", "0", "--profile", "edge"]  # fmt: skip
    environment = {**os.environ, "TUTTI_DATA_DIR": str(tmp_path / "of the server")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("listening on ")
            yield process
        finally:
            process.kill()


def test_a_model_stays_while_it_is_served(
    model: Path, server: "subprocess.Popen[str]", capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "remove", "talker"]) == 1
    assert f"in use by tutti serve (process {server.pid})" in capsys.readouterr().err
    assert model.exists()
    server.kill()
    server.wait()
    assert main(["models", "remove", "talker"]) == 0
    assert not model.exists()
