"""The user's own templates on disk: whole, private, and told where they cannot be read."""

import os
import stat
import sys
from pathlib import Path

import pytest

from app.errors import StoreError
from app.overrides import Overrides

TEXT = "{% for m in messages %}\r\n{{ m.content }} \u202e é 你\n{% endfor %}\r"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "templates"


def test_a_template_comes_back_byte_for_byte_and_is_the_users_alone(folder: Path) -> None:
    overrides = Overrides(folder)
    assert overrides.load("f00d") == ""
    overrides.save("f00d", TEXT)
    assert overrides.load("f00d") == TEXT
    assert overrides.load("beef") == ""
    (file,) = folder.iterdir()
    assert file.read_bytes() == TEXT.encode()
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_none_takes_it_away_and_twice_is_fine(folder: Path) -> None:
    overrides = Overrides(folder)
    overrides.save("f00d", TEXT)
    overrides.save("f00d", "")
    overrides.save("f00d", "")
    assert overrides.load("f00d") == ""
    assert list(folder.iterdir()) == []


def test_one_that_cannot_be_written_leaves_the_old_one_whole(folder: Path) -> None:
    overrides = Overrides(folder)
    overrides.save("f00d", TEXT)
    (folder / f"f00d.jinja.{os.getpid()}.tmp").mkdir()
    with pytest.raises(StoreError, match="could not be saved"):
        overrides.save("f00d", "another")
    assert overrides.load("f00d") == TEXT


def test_what_no_file_can_hold_is_told(folder: Path) -> None:
    overrides = Overrides(folder)
    overrides.save("f00d", TEXT)
    with pytest.raises(StoreError, match="could not be saved: it is not valid text"):
        overrides.save("f00d", "a \ud800 b")
    assert overrides.load("f00d") == TEXT
    assert len(list(folder.iterdir())) == 1


def test_whether_there_is_any_is_told_without_a_name(folder: Path) -> None:
    overrides = Overrides(folder)
    assert not overrides.any()
    overrides.save("f00d", TEXT)
    assert overrides.any()
    overrides.save("f00d", "")
    (folder / "readme.txt").write_text("no template")
    assert not overrides.any()


def test_a_folder_that_is_a_file_is_told(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file")
    with pytest.raises(StoreError, match="cannot be read"):
        Overrides(folder).any()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StoreError, match="could not be saved"):
        Overrides(tmp_path / "data" / "templates").save("f00d", TEXT)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"\xff\xfe", "not valid text"), (b"x" * 4_000_001, "far too large"), (None, "directory")],
)
def test_a_file_that_somebody_spoiled_is_named(
    folder: Path, content: bytes | None, why: str
) -> None:
    folder.mkdir(parents=True)
    path = folder / "f00d.jinja"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(StoreError, match=r"f00d\.jinja.*" + why):
        Overrides(folder).load("f00d")
