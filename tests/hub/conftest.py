"""A fake hub for each test, and a folder for models."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.hub.access import Access
from app.hub.catalog import Catalog
from app.hub.download import Download
from app.hub.offers import choose
from app.hub.remote import RemoteModel
from app.hub.transfer import Patience
from tests.fake_hub import FakeHub

QUICK = Patience(stall=0.4, read=0.2)
"""For servers that are silent on purpose."""

FOR_EVER = Patience(stall=3600, read=3600, patient=True)
"""Where only the test ends a wait."""


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub() as fake:
        yield fake


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The folder that the app downloads into."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def find(hub: FakeHub) -> Callable[..., RemoteModel]:
    """The model of a repository that the fake hub offers."""

    def found(repo: str = "o/r", wanted: str = "") -> RemoteModel:
        catalog = Catalog(Access(hub.endpoint))
        try:
            return choose(catalog.repository(repo).offers, wanted)
        finally:
            catalog.close()

    return found


def until(condition: Callable[[], object]) -> None:
    """Wait for it, at most 20 seconds."""
    tick = threading.Event()
    for _ in range(4000):
        if condition():
            return
        tick.wait(0.005)
    pytest.fail("it did not happen")


class OnThread:
    """A download that runs while the test looks; `result` is what `run` gave or raised."""

    def __init__(self, download: Download) -> None:
        self.download = download
        self.result: Path | BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self.download.run()
        except BaseException as error:  # noqa: BLE001 - the test looks at whatever it was
            self.result = error

    def join(self) -> "Path | BaseException | None":
        self._thread.join(20)
        assert not self._thread.is_alive(), "the download did not end"
        return self.result
