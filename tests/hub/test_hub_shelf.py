"""The models of this machine as a person sees them: their names, which are unused, which are there twice, and removal."""

import os
import shutil
from pathlib import Path

import pytest

from app.errors import ModelError
from app.hub import places
from app.hub.library import Library
from app.hub.places import Layout, Place
from app.hub.shelf import Shelf, Shelved, Stopped, check_not_loaded
from app.remembered import LoadChoice, Remembered
from tests import tiny_models
from tests.model_folders import head, ollama

pytestmark = pytest.mark.slow

DAY = 86_400.0
NOW = 1_800_000_000.0


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    return folder


@pytest.fixture
def remembered(tmp_path: Path) -> Remembered:
    return Remembered(tmp_path / "models.json")


@pytest.fixture
def shelf(own: Path, mine: Path, remembered: Remembered) -> Shelf:
    made = Shelf(Library(own), remembered)
    made.look_in([str(mine)])
    return made


def aged(path: Path, days: float) -> Path:
    os.utime(path, (NOW - days * DAY,) * 2)
    return path


def by_name(shelf: Shelf) -> dict[str, Shelved]:
    return {one.name: one for one in shelf.models()}


def test_a_model_is_called_as_it_was_named_and_its_file_stays(shelf: Shelf, own: Path) -> None:
    path = head(own / "o" / "r" / "m-Q4_K_M.gguf")
    one = by_name(shelf)["o/r/m-Q4_K_M"]
    shelf.rename(one, "The quick one")
    assert by_name(shelf)["The quick one"].model.path == path
    shelf.rename(one, one.model.name)
    assert shelf.models()[0].memory.name == ""


def test_folders_that_the_user_names_come_and_go(shelf: Shelf, mine: Path) -> None:
    head(mine / "m.gguf")
    assert set(by_name(shelf)) == {"m"}
    assert shelf.models()[0].model.place.label == "mine"
    shelf.look_in([])
    assert shelf.models() == []


def test_the_name_of_an_ollama_model_is_known_by_its_path_alone(tmp_path: Path, shelf: Shelf, remembered: Remembered) -> None:  # fmt: skip
    folder = tmp_path / "ollama"
    ollama(folder, "registry.ollama.ai/library/tiny/1b", head(tmp_path / "x.gguf"))
    shelf.look_in([str(folder)])
    (one,) = shelf.models()
    assert remembered.title(one.path) == one.name == "tiny:1b"


def test_unused_is_what_the_user_has_not_loaded_for_so_long(tmp_path: Path, own: Path, mine: Path, remembered: Remembered) -> None:  # fmt: skip
    other = tmp_path / "other"
    aged(head(other / "theirs.gguf"), 400)
    aged(head(own / "old.gguf"), 40)
    aged(head(own / "new.gguf"), 3)
    aged(head(own / "old-but-used.gguf"), 400)
    aged(head(own / "used-long-ago.gguf"), 400)
    aged(head(mine / "mine.gguf"), 31)
    remembered.used(own / "old-but-used.gguf", NOW - 2 * DAY)
    remembered.used(own / "used-long-ago.gguf", NOW - 35 * DAY)
    shelf = Shelf(Library(own, [Place("LM Studio", other, Layout.FOLDER)]), remembered)
    shelf.look_in([str(mine)])
    models = shelf.models()
    assert {one.name for one in models if one.unused(NOW, 30)} == {"old", "mine", "used-long-ago"}
    assert {one.name for one in models if one.unused(NOW, 36)} == {"old"}


def test_what_is_ours_goes_with_what_is_remembered(shelf: Shelf, own: Path, remembered: Remembered) -> None:  # fmt: skip
    path = head(own / "m.gguf")
    remembered.load_with(path, LoadChoice(threads=2))
    (one,) = shelf.models()
    assert shelf.remove(one) == one.model.size
    assert not path.exists()
    assert remembered.of(path).load is None


def test_what_lies_in_the_users_folder_goes_only_when_they_agree(shelf: Shelf, mine: Path) -> None:
    path = head(mine / "m.gguf")
    (one,) = shelf.models()
    with pytest.raises(ModelError, match="another program"):
        shelf.remove(one)
    assert path.exists()
    assert shelf.remove(one, agreed=True) == one.model.size
    assert not path.exists()
    assert mine.is_dir()


def test_a_link_goes_and_what_it_leads_to_stays(tmp_path: Path, shelf: Shelf, mine: Path) -> None:
    real = head(tmp_path / "real.gguf")
    (mine / "m.gguf").symlink_to(real)
    (one,) = shelf.models()
    assert shelf.remove(one, agreed=True) < 1000
    assert real.exists()
    assert not (mine / "m.gguf").is_symlink()


@pytest.mark.parametrize("layout", ["ollama", "cache", "lm studio"])
def test_the_stores_of_other_programs_are_never_touched(tmp_path: Path, own: Path, remembered: Remembered, layout: str) -> None:  # fmt: skip
    folder = tmp_path / "theirs"
    if layout == "ollama":
        ollama(folder, "registry.ollama.ai/library/tiny/1b", head(tmp_path / "x.gguf"))
        (place,) = places.named([folder])
    elif layout == "cache":
        head(folder / "models--o--r" / "snapshots" / ("1" * 40) / "m.gguf")
        (place,) = places.named([folder])
    else:
        head(folder / "o" / "r" / "m.gguf")
        place = Place("LM Studio", folder, Layout.FOLDER)
    shelf = Shelf(Library(own, [place]), remembered)
    (one,) = shelf.models()
    with pytest.raises(ModelError, match="another program"):
        shelf.remove(one, agreed=True)
    assert one.model.path.exists()
    assert not one.unused(NOW * 2, 1)


def test_a_model_that_is_loaded_is_not_removed(shelf: Shelf, own: Path, tmp_path: Path) -> None:
    head(own / "m.gguf")
    (tmp_path / "link").symlink_to(own)
    (one,) = shelf.models()
    with pytest.raises(ModelError, match="is loaded"):
        check_not_loaded(one, ("/elsewhere.gguf", str(tmp_path / "link" / "m.gguf")))
    check_not_loaded(one, ())
    check_not_loaded(one, ("/elsewhere.gguf",))


def test_the_same_content_is_read_once_and_the_reading_can_be_stopped(shelf: Shelf, own: Path, mine: Path) -> None:  # fmt: skip
    tiny_models.talker(own / "a.gguf")
    shutil.copy(own / "a.gguf", mine / "b.gguf")
    head(mine / "c.gguf")
    models = shelf.models()
    size = (own / "a.gguf").stat().st_size
    assert shelf.to_read(models) == 2 * size

    def stop(_count: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        shelf.alike(models, stop)
    read: list[int] = []
    (same,) = shelf.alike(models, read.append)
    assert [one.name for one in same] == ["a", "b"]
    assert sum(read) == 2 * size
    # Again: a file whose size and time have not changed is not read.
    state = (mine / "b.gguf").stat()
    (mine / "b.gguf").write_bytes(bytes(size))
    os.utime(mine / "b.gguf", ns=(state.st_atime_ns, state.st_mtime_ns))
    assert shelf.alike(models) == [same]


def test_a_file_that_goes_away_meanwhile_is_left_out(shelf: Shelf, own: Path, mine: Path) -> None:
    head(own / "a.gguf")
    head(mine / "b.gguf")
    models = shelf.models()
    (mine / "b.gguf").unlink()
    assert shelf.alike(models) == []
    assert shelf.to_read(models) == 0
