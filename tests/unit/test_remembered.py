"""What is remembered of each model: kept, checked when it is read, and used when the model is loaded."""

import json
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from app.errors import StoreError
from app.paths import STARTER_FILE, STARTER_NAME
from app.remembered import LoadChoice, Memory, Remembered, choice_of
from app.settings import Settings


def test_it_is_there_again_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    first = Remembered(path)
    choice = LoadChoice(profile="edge", pool_tokens=2048, kv_type="q8_0", threads=3)
    first.rename("/m/a.gguf", "  My \n model ")
    first.used("/m/a.gguf", 1_700_000_000.5)
    first.used("/m/a.gguf", 1_600_000_000.0)
    first.load_with("/m/a.gguf", choice)
    first.label("/m/sha256-ab", "tiny:1b")
    again = Remembered(path)
    assert again.of("/m/a.gguf") == Memory("My model", "", 1_700_000_000.5, choice)
    assert again.of(Path("/m/b.gguf")) == Memory()
    assert [again.title(one) for one in ("/m/a.gguf", "/m/sha256-ab", "/m/b.gguf")] == ["My model", "tiny:1b", "b"]  # fmt: skip
    again.forget("/m/a.gguf")
    again.rename("/m/sha256-ab", "x")
    again.rename("/m/sha256-ab", "")
    assert set(json.loads(path.read_text())) == {"/m/sha256-ab"}


def test_the_starter_is_called_the_same_wherever_it_lies(tmp_path: Path) -> None:
    known = Remembered(tmp_path / "models.json")
    assert known.title(f"/anywhere/{STARTER_FILE}") == STARTER_NAME
    known.rename(f"/anywhere/{STARTER_FILE}", "Mine")
    assert known.title(f"/anywhere/{STARTER_FILE}") == "Mine"


def test_two_programs_do_not_undo_each_other(tmp_path: Path) -> None:
    window, command = (Remembered(tmp_path / "models.json") for _ in range(2))
    window.rename("/a", "A")
    command.used("/b", 5.0)
    window.used("/a", 7.0)
    assert Remembered(tmp_path / "models.json").of("/b").used == 5.0
    assert window.of("/b").used == 5.0


def test_a_models_own_settings_count_for_it_alone() -> None:
    general = Settings(pool_tokens=8192, kv_type="f16", pace="fast", theme="dark", threads=2)
    own = LoadChoice(profile="development", kv_type="q8_0")
    wanted = own.over(general)
    assert choice_of(wanted) == own
    assert (wanted.pool_tokens, wanted.kv_type, wanted.threads) == (None, "q8_0", 0)
    assert (wanted.pace, wanted.theme) == ("fast", "dark")


def test_settings_for_a_file(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path / "models.json")
    general = Settings(pool_tokens=8192)
    remembered.load_with("/m/a.gguf", LoadChoice(pool_tokens=512))
    assert remembered.settings_for("/m/a.gguf", general).pool_tokens == 512
    assert remembered.settings_for("/m/b.gguf", general) is general
    remembered.load_with("/m/a.gguf", None)
    assert remembered.settings_for("/m/a.gguf", general) is general


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "null", '{"/a": 3}', "[" * 5000, '{"/a": {"name": 7, "used": "x", "load": []}}', '{"/a": {"used": -1}}', '{"/a": {"used": 9e11}}'],
)  # fmt: skip
def test_a_file_that_makes_no_sense_is_as_if_it_were_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / "models.json"
    path.write_text(text)
    remembered = Remembered(path)
    assert remembered.of("/a") == Memory()
    remembered.rename("/a", "A")
    assert Remembered(path).of("/a").name == "A"


def test_of_what_was_set_only_what_can_be_is_used(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    load = asdict(LoadChoice(pool_tokens=512)) | {"profile": "huge", "batch": 10**9, "mmap": "yes", "threads": 4, "more": 1}  # fmt: skip
    path.write_text(json.dumps({"/a": {"name": "n" * 500, "load": load}}))
    memory = Remembered(path).of("/a")
    assert memory.load == LoadChoice(pool_tokens=512, threads=4)
    assert len(memory.name) == 80


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path / "no folder" / "models.json")
    with pytest.raises(StoreError):
        remembered.rename("/a", "A")
    assert remembered.of("/a") == Memory()
    remembered.label("/a", "x")  # nobody asked for it: told to the log alone


def test_no_name_turns_what_stands_beside_it(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path / "models.json")
    remembered.rename("/m.gguf", " my\n\u202egpj ")
    assert remembered.title("/m.gguf") == "my \ufffdgpj"
    assert remembered.title("/a\u202eb\nc.gguf") == "a\ufffdb c"
    file = tmp_path / "models.json"
    file.write_text(file.read_text(encoding="utf-8").replace("\ufffd", "\u202e"), encoding="utf-8")
    assert Remembered(file).of("/m.gguf").name == "my \ufffdgpj"


def test_who_reads_does_not_wait_for_who_writes(tmp_path: Path) -> None:
    """The window's thread reads while others write, and a slow disk is nothing that it may wait for."""
    remembered, model = Remembered(tmp_path / "models.json"), tmp_path / "m.gguf"
    remembered.rename(model, "Mine")
    told: list[str] = []
    reader = threading.Thread(target=lambda: told.append(remembered.title(model)), daemon=True)
    with remembered._writing:
        reader.start()
        reader.join(20)
        assert told == ["Mine"]
