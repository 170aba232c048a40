"""Files that are not as they should be: nothing is lost silently, and the app starts."""

import asyncio
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.chat.models import Role, Status
from app.errors import StoreError
from app.store import damage
from app.store.connection import connect
from app.store.conversations import open_store

CHATS = 12
WORDS = "these words fill a page or two, so that a damaged page costs some chats and not all. " * 20


@dataclass(frozen=True, slots=True)
class Seen:
    """What a start showed."""

    problems: tuple[str, ...]
    chats: dict[int, list[str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


def write(path: Path, tag: str = "", chats: int = CHATS) -> None:
    async def main() -> None:
        store = await open_store(path)
        for number in range(chats):
            chat = await store.create_conversation()
            await store.rename(chat.id, f"Chat {number}")
            for turn in range(4):
                await store.add_message(chat.id, Role.USER, f"{tag}{turn} {WORDS}", Status.DONE)
        await store.close()

    asyncio.run(main())


def start(path: Path) -> Seen:
    async def main() -> Seen:
        store = await open_store(path)
        chats = {
            chat.id: [message.text for message in await store.messages(chat.id)]
            for chat in await store.conversations()
        }
        await store.create_conversation()
        await store.close()
        return Seen(store.problems, chats)

    seen = asyncio.run(main())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert not list(path.parent.glob(".salvage*"))
    return seen


def left_by_a_kill(path: Path, tag: str, statements: Sequence[str] = ()) -> None:
    """Write, and leave the file and its journal as a killed process does."""
    write(path, tag)
    connection = connect(path)
    for statement in statements:
        connection.execute(statement)
    aside = path.with_name("aside")
    aside.mkdir()
    for file in path.parent.glob("chats.db*"):
        shutil.copy(file, aside)
    connection.close()
    for file in path.parent.glob("chats.db*"):
        file.unlink()
    for file in aside.iterdir():
        shutil.move(file, path.parent)
    aside.rmdir()


def kept_files(path: Path) -> list[Path]:
    return [file for file in path.parent.iterdir() if "damaged-2" in file.name]


def whole(chats: dict[int, list[str]], tag: str = "") -> int:
    return sum(texts == [f"{tag}{turn} {WORDS}" for turn in range(4)] for texts in chats.values())


def test_a_zeroed_header_costs_nothing(path: Path) -> None:
    write(path)
    with path.open("r+b") as file:
        file.write(bytes(100))
    bad = path.read_bytes()
    seen = start(path)
    assert whole(seen.chats) == CHATS
    (kept,) = kept_files(path)
    assert kept.read_bytes() == bad
    (problem,) = seen.problems
    assert kept.name in problem
    assert "12 chats with 48 messages could be read" in problem
    assert start(path).problems == ()


def test_a_summary_is_saved_with_its_messages(path: Path) -> None:
    write(path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO summaries VALUES (2, 'short')")
    with path.open("r+b") as file:
        file.write(bytes(100))
    assert whole(start(path).chats) == CHATS
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT * FROM summaries").fetchall() == [(2, "short")]


def test_of_half_a_file_the_readable_half_is_shown(path: Path) -> None:
    write(path)
    bad = path.read_bytes()[: path.stat().st_size // 2 + 100]
    path.write_bytes(bad)
    seen = start(path)
    assert 3 <= whole(seen.chats) < CHATS
    assert [kept.read_bytes() for kept in kept_files(path)] == [bad]
    assert len(seen.problems) == 1


def test_a_bad_page_costs_its_own_rows(path: Path) -> None:
    write(path)
    pages = path.stat().st_size // 4096
    with path.open("r+b") as file:
        file.seek(pages // 2 * 4096)
        file.write(b"\xaa" * 4096)
    seen = start(path)
    assert CHATS - 3 <= whole(seen.chats) < CHATS
    assert len(seen.problems) == 1


@pytest.mark.parametrize(
    "content", [b"", b"not a database at all", bytes(8192), b"SQLite format 3\0"]
)
def test_a_file_with_nothing_in_it(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    seen = start(path)
    assert seen.chats == {}
    assert [kept.read_bytes() for kept in kept_files(path)] == [content]
    assert "starts empty" in seen.problems[0]


def test_a_database_of_another_program_is_not_written_to(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE conversations (id INTEGER PRIMARY KEY, body TEXT)")
    bad = path.read_bytes()
    assert "is not a chat database" in start(path).problems[0]
    assert [kept.read_bytes() for kept in kept_files(path)] == [bad]


def test_a_folder_in_its_place(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "file").write_text("precious")
    seen = start(path)
    (kept,) = kept_files(path)
    assert (kept / "file").read_text() == "precious"
    assert "was not a file" in seen.problems[0]


def test_the_journal_of_another_database_is_not_applied(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "chats.db"
    left_by_a_kill(
        other,
        "other ",
        [
            "UPDATE meta SET changes = changes + 1",
            "UPDATE messages SET text = 'forged' WHERE id = 1",
        ],
    )
    write(path)
    foreign = other.with_name("chats.db-wal").read_bytes()
    assert foreign
    path.with_name("chats.db-wal").write_bytes(foreign)
    seen = start(path)
    assert whole(seen.chats) == CHATS
    assert "journal" in seen.problems[0]
    assert [file.read_bytes() for file in path.parent.glob("*journal-2*")] == [foreign]


def test_the_whole_content_of_another_database_in_the_journal(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "chats.db"
    left_by_a_kill(other, "other ", ["VACUUM"])  # every page is in the journal
    write(path)
    shutil.copy(other.with_name("chats.db-wal"), path.parent)
    assert whole(start(path).chats) == CHATS


def test_a_journal_left_by_a_kill_is_applied(path: Path) -> None:
    left_by_a_kill(path, "", ["UPDATE messages SET text = 'last' WHERE id = 1"])
    seen = start(path)
    assert seen.problems == ()
    assert seen.chats[1][0] == "last"


def test_a_zeroed_header_with_a_journal_loses_neither(path: Path) -> None:
    left_by_a_kill(path, "", ["UPDATE messages SET text = 'last' WHERE id = 1"])
    with path.open("r+b") as file:
        file.write(bytes(100))
    seen = start(path)
    assert seen.chats[1][0] == "last"
    assert whole(seen.chats) == CHATS - 1
    assert len(kept_files(path)) == 2


def test_a_torn_journal_ends_at_its_last_whole_commit(path: Path) -> None:
    left_by_a_kill(path, "", ["UPDATE messages SET text = 'last' WHERE id = 1"])
    wal = path.with_name("chats.db-wal")
    wal.write_bytes(wal.read_bytes()[:-10])
    seen = start(path)
    assert whole(seen.chats) == CHATS


def test_ids_go_on_after_a_rescue(path: Path) -> None:
    write(path)
    with path.open("r+b") as file:
        file.write(bytes(100))
    start(path)
    assert max(start(path).chats) == CHATS + 1


def test_a_message_without_its_chat_is_still_shown(path: Path) -> None:
    write(path, chats=2)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM conversations WHERE id = 1")
    with path.open("r+b") as file:
        file.write(bytes(100))
    assert whole(start(path).chats) == 2


def test_the_notice_names_a_backup_that_nothing_overwrites(path: Path) -> None:
    write(path)
    start(path)
    daily = path.with_name("chats.backup.db").read_bytes()
    for _ in range(2):
        path.write_bytes(b"")
        (problem,) = start(path).problems
        (backup,) = path.parent.glob("chats.backup-2*.db")
        assert backup.name in problem
        assert backup.read_bytes() == daily


@pytest.mark.parametrize("also_damaged", [False, True])
def test_a_newer_file_is_refused_and_stays_as_it_is(path: Path, also_damaged: bool) -> None:
    write(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9999")
        if also_damaged:
            connection.execute("DROP TABLE meta")
    files = {file: hashlib.sha256(file.read_bytes()).digest() for file in path.parent.iterdir()}
    with pytest.raises(StoreError, match="newer Tutti"):
        start(path)
    assert files == {
        file: hashlib.sha256(file.read_bytes()).digest() for file in path.parent.iterdir()
    }


def test_a_newer_file_whose_version_is_in_the_journal(path: Path) -> None:
    left_by_a_kill(path, "", ["PRAGMA user_version = 9999"])
    before = path.read_bytes()
    with pytest.raises(StoreError, match="newer Tutti"):
        start(path)
    assert path.read_bytes() == before


def test_a_locked_file_is_not_damaged(path: Path) -> None:
    write(path, chats=1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE conversations SET title = 'locked'")
        with pytest.raises(StoreError, match=r"Another program|cannot be opened"):
            start(path)
        other.execute("ROLLBACK")
    assert kept_files(path) == []
    assert start(path).problems == ()


def test_a_data_folder_given_through_a_link(path: Path, tmp_path: Path) -> None:
    write(path)
    (tmp_path / "link").symlink_to(path.parent, target_is_directory=True)
    assert whole(start(tmp_path / "link" / "chats.db").chats) == CHATS


def test_names_in_one_second_differ(path: Path) -> None:
    path.parent.mkdir()
    names = set()
    for _ in range(3):
        name = damage._free_name(path, "damaged")
        os.close(os.open(name, os.O_CREAT))
        names.add(name)
    assert len(names) == 3
