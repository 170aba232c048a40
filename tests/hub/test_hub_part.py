"""Who begins a part file while somebody else ends with it."""

import os
from pathlib import Path
from typing import IO, Any, ClassVar

import pytest

from app.errors import HubError, HubProblem
from app.hub.part import PartFile, part_path, publish, remove
from app.hub.plan import Block
from app.hub.remote import RemoteFile

FILE = RemoteFile("m.gguf", 5, "a" * 64)


class Disturbed(type(Path())):  # type: ignore[misc]  # the class of this system's paths
    """A path whose journal is removed right after it is opened for the first time, as by a holder that cancels."""

    opened: ClassVar[list[str]] = []

    def open(self, *args: Any, **options: Any) -> IO[Any]:
        file: IO[Any] = super().open(*args, **options)
        if not self.opened:
            self.unlink()
        self.opened.append(self.name)
        return file


def test_a_journal_that_was_removed_before_it_was_locked_is_made_anew(tmp_path: Path) -> None:
    Disturbed.opened.clear()
    target = tmp_path / "m.gguf"
    with PartFile(Disturbed(target), FILE):
        part = part_path(target, FILE)
        journal = part.with_name(f"{part.name}.journal")
        assert Disturbed.opened == [journal.name] * 2
        assert journal.stat().st_size > 0
        with pytest.raises(HubError) as caught, PartFile(target, FILE):
            pass
        assert caught.value.problem is HubProblem.TAKEN


def test_nothing_is_removed_of_a_part_whose_journal_is_another_one_by_now(tmp_path: Path) -> None:
    target = tmp_path / "m.gguf"
    with PartFile(target, FILE):
        pass
    Disturbed.opened.clear()
    remove(Disturbed(target), FILE)
    assert part_path(target, FILE).exists()
    with PartFile(target, FILE):
        pass
    remove(target, FILE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file is not replaced")
def test_who_has_the_older_file_open_keeps_it_when_a_new_one_is_published(tmp_path: Path) -> None:
    target = tmp_path / "m.gguf"
    target.write_bytes(b"older")
    with target.open("rb") as used:
        with PartFile(target, FILE) as begun:
            begun.write(Block(0, b"newer"))
        publish(target, FILE)
        assert used.read() == b"older"
    assert target.read_bytes() == b"newer"
    assert list(tmp_path.iterdir()) == [target]
