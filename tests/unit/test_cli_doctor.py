import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli.doctor import DatabaseState, Report, as_text, database
from app.cli.libraries import QT_LIBRARIES, missing_libraries
from app.device import Device


def test_the_report_is_json_and_names_what_there_is(
    capsys: pytest.CaptureFixture[str], starter: Path, private_folders: Path
) -> None:
    (private_folders / "models").mkdir(parents=True)
    (private_folders / "models" / "other.gguf").write_bytes(b"GGUF")
    code = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert set(report["versions"]) >= {
        "tutti",
        "python",
        "system",
        "llama-cpp-python",
        "pyside6-essentials",
    }
    assert report["machine"]["memory_bytes"] > 0
    assert report["machine"]["threads"] > 0
    assert [device["gpu"] for device in report["devices"] if device["name"] == "CPU"] == [False]
    assert [folder["name"] for folder in report["folders"]] == ["data", "models", "logs"]
    assert not [folder for folder in report["folders"] if folder["problem"]]
    assert {Path(model["path"]).name: model["bytes"] for model in report["models"]}[
        "other.gguf"
    ] == 4
    assert [model["path"] for model in report["models"] if model["starter"]] == [str(starter)]
    assert report["database"]["state"] == "none yet"
    assert code == (1 if report["problems"] else 0)


def test_the_text_says_the_same(capsys: pytest.CaptureFixture[str], starter: Path) -> None:
    main(["doctor"])
    words = capsys.readouterr().out
    assert str(starter) in words
    assert "device               CPU: " in words
    assert "Nothing is missing." in words or "apt-get install" in words


def test_a_gpu_is_shown_with_its_memory() -> None:
    gpu = Device("CUDA0", "A card", gpu=True, memory=24 * 10**9, memory_free=20 * 10**9)
    report = Report({}, {}, [gpu], [], [], DatabaseState("", 0, 0, "none yet"))
    assert "CUDA0: A card (20.0 GB of 24.0 GB free)" in as_text(report)


def test_a_folder_that_cannot_be_made_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TUTTI_MODELS_DIR", str(tmp_path / "file" / "models"))
    assert main(["doctor", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert "models folder cannot be made" in " ".join(report["problems"])


def write_database(path: Path, journal: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
        connection.execute("CREATE TABLE secret (text)")
        connection.execute("INSERT INTO secret VALUES ('chat text')")
        connection.execute("PRAGMA user_version=7")
        connection.commit()


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_is_checked_without_being_changed(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "chats.db"
    write_database(path, journal)
    before = path.read_bytes()
    state = database(path)
    assert (state.state, state.schema, state.bytes) == ("ok", 7, len(before))
    assert path.read_bytes() == before


def test_a_database_in_use_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    write_database(path, "wal")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO secret VALUES ('more')")
        assert database(path).state == "ok"


@pytest.mark.parametrize("content", [b"not a database at all", b""])
def test_a_broken_database_is_told_without_its_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "chats.db"
    path.write_bytes(content * 1000)
    state = database(path)
    assert state.state == ("ok" if not content else "cannot be read (file is not a database)")


def test_missing_libraries_are_named_with_their_packages() -> None:
    def load(name: str) -> None:
        if name in ("libxcb-cursor.so.0", "libEGL.so.1"):
            raise OSError(name)

    assert missing_libraries(load) == {
        "libxcb-cursor.so.0": "libxcb-cursor0",
        "libEGL.so.1": "libegl1",
    }
    assert len(set(QT_LIBRARIES.values())) == len(QT_LIBRARIES)
