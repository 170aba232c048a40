"""Files of states that somebody else deletes, at whatever moment: the engine goes on."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.engine.blob import Blob
from app.engine.state_files import StateFiles

BUDGET = 1 << 20
MOMENTS = 12


class Deleter:
    """Deletes all states in `folder` just before the n-th thing that is done to a file in it.

    The interpreter tells of each (PEP 578), and there is no way to stop it from that: only one is ever hung up.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._left = 0
        sys.addaudithook(self._about_to)

    def strike(self, folder: Path, moment: int) -> None:
        self.folder, self._left = folder, moment

    def _about_to(self, event: str, arguments: tuple[object, ...]) -> None:
        folder = self.folder
        if folder is None or not event.startswith(("open", "os.")):
            return
        if not any(str(folder) in str(one) for one in arguments):
            return
        self._left -= 1
        if not self._left:
            self.folder = None
            for path in folder.glob("*.state"):
                path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def deleter() -> Deleter:
    return Deleter()


@pytest.fixture
def struck(deleter: Deleter) -> Iterator[Deleter]:
    yield deleter
    deleter.folder = None


def blob(owner: int) -> Blob:
    tokens = np.full(4, owner, np.int32)
    return Blob(0, 4, bytes([owner]) * 100, tokens, owner)


def written(folder: Path) -> None:
    files = StateFiles(folder, "print", BUDGET)
    for owner in (1, 2, 3):
        files.order(blob(owner))
    files.close(60)


@pytest.mark.parametrize("moment", range(1, MOMENTS + 1))
def test_files_that_go_at_any_moment_are_as_if_they_had_never_been(
    moment: int, tmp_path: Path, struck: Deleter
) -> None:
    written(tmp_path)
    struck.strike(tmp_path, moment)
    files = StateFiles(tmp_path, "print", BUDGET)
    found = list(files.scan())
    for one in found:
        assert one.file is not None
        assert files.load(one.file) in (bytes([one.owner]) * 100, None)
    files.order(blob(4))
    files.close(60)
    assert struck.folder is None, "there are not so many moments"
    again = StateFiles(tmp_path, "print", BUDGET)
    assert {one.owner for one in again.scan()} <= {4}
    again.close(60)
