"""What every test gets: folders of its own, no network beyond loopback, no silent errors in the log."""

import gc
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from app import paths

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# As in the engine's process: OpenMP threads that spin on busy cores cost a factor of ten and more.
os.environ.setdefault("GOMP_SPINCOUNT", "0")
# Where the tests were started in the background, Ctrl+C is ignored, and every process that they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
hypothesis.settings.register_profile("tutti", deadline=None, derandomize=True)
hypothesis.settings.load_profile("tutti")


def pytest_collection_finish() -> None:
    """What was imported stays: the collections that tests ask for need not go through it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Database, settings, logs and models of this test alone; child processes inherit them."""
    folder = tmp_path / "tutti-data"
    monkeypatch.setenv("TUTTI_DATA_DIR", str(folder))
    monkeypatch.setenv("TUTTI_MODELS_DIR", str(folder / "models"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


@pytest.fixture(autouse=True)
def network_tripwire(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anything but this machine fails the test."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            assert ipaddress.ip_address(address[0]).is_loopback, f"network access to {address}"
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(autouse=True)
def logged_errors(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """An ERROR in the log fails the test, unless its text contains an entry of this list."""
    expected: list[str] = []
    yield expected
    for when in ("setup", "call"):
        for record in caplog.get_records(when):
            text = record.getMessage()
            if record.levelno >= logging.ERROR and not any(part in text for part in expected):
                pytest.fail(f"unexpected log record: {record.levelname} {record.name}: {text}")


@pytest.fixture(scope="session")
def starter() -> Path:
    """The starter model (SmolLM2-135M)."""
    path = paths.starter_model()
    assert path is not None, "the starter model is not installed; run `make test`"
    return path
