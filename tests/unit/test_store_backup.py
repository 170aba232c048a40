"""Updates of the database's shape, and the copies that lie beside it."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from app.errors import StoreError
from app.store import backup
from app.store.database import Database
from app.store.migrations import STEPS, Step
from app.store.rows import CONVERSATION

DAY = 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


def opened(path: Path, steps: Sequence[Step] = STEPS, chats: int = 0) -> tuple[str, ...]:
    """Open, add chats, close; the problems."""

    async def main() -> tuple[str, ...]:
        database = Database(path)
        await database.open(steps)
        for _ in range(chats):
            await database.write(
                lambda db: db.execute("INSERT INTO conversations (created, updated) VALUES (1, 1)")
            )
        await database.close()
        return database.problems

    return asyncio.run(main())


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM conversations").fetchone()[0])


def add_column(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE conversations ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0")


def break_half_way(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE conversations ADD COLUMN colour TEXT")
    connection.execute("SELECT no_such_function()")


def test_an_update_keeps_the_chats_and_a_backup(path: Path) -> None:
    opened(path, chats=3)
    assert opened(path, [*STEPS, add_column]) == ()
    assert count(path) == 3
    kept = path.with_name(f"chats.v{len(STEPS)}.backup.db")
    assert count(kept) == 3
    with closing(sqlite3.connect(kept)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
        assert "pinned" not in CONVERSATION
    before = kept.stat().st_mtime_ns
    assert opened(path, [*STEPS, add_column]) == ()
    assert kept.stat().st_mtime_ns == before


def test_a_step_that_fails_changes_nothing(path: Path) -> None:
    opened(path, chats=3)
    for _ in range(2):
        with pytest.raises(StoreError, match="no_such_function"):
            opened(path, [*STEPS, add_column, break_half_way])
    with closing(sqlite3.connect(path)) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(conversations)")}
        assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS) + 1,)
    assert "pinned" in columns
    assert "colour" not in columns
    assert opened(path, [*STEPS, add_column], chats=1) == ()
    assert count(path) == 4


def test_without_a_backup_nothing_is_updated(path: Path) -> None:
    opened(path, chats=3)
    path.with_name(f"chats.v{len(STEPS)}.backup.db.tmp").mkdir()  # the copy cannot be written
    before = path.read_bytes()
    with pytest.raises(StoreError, match="could not be opened"):
        opened(path, [*STEPS, add_column])
    assert path.read_bytes() == before


def test_the_daily_backup(path: Path) -> None:
    daily = backup.rolling(path)
    opened(path)
    opened(path)
    assert not daily.exists()  # nothing to keep yet
    opened(path, chats=1)
    opened(path, chats=1)
    assert count(daily) == 1
    opened(path, chats=1)
    assert count(daily) == 1  # not a day old
    age(daily, DAY + 60)
    opened(path)
    assert count(daily) == 3
    age(daily, DAY + 60)
    stamp = daily.stat().st_mtime_ns
    opened(path)
    assert daily.stat().st_mtime_ns == stamp  # nothing changed since
    assert sorted(file.name for file in path.parent.glob("chats*")) == [
        "chats.backup.db",
        "chats.db",
    ]


def age(file: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(file, (then, then))


def test_a_backup_that_cannot_be_written_is_told(path: Path) -> None:
    opened(path, chats=1)
    backup.rolling(path).with_name("chats.backup.db.tmp").mkdir()
    (problem,) = opened(path, chats=1)
    assert "backup" in problem
    assert count(path) == 2


def test_a_damaged_backup_is_made_anew(path: Path) -> None:
    opened(path, chats=2)
    opened(path)
    backup.rolling(path).write_bytes(b"damaged")
    age(backup.rolling(path), DAY + 60)
    assert opened(path) == ()
    assert count(backup.rolling(path)) == 2


def test_only_copies_of_this_database_forget(path: Path, tmp_path: Path) -> None:
    opened(path, chats=2)
    opened(path)
    other = tmp_path / "other" / "chats.db"
    opened(other, chats=2)
    backup.before_update(path, 1).write_bytes(other.read_bytes())
    backup.before_update(path, 2).write_bytes(b"damaged")

    async def main() -> None:
        database = Database(path)
        await database.open()
        await database.erase(delete_first)
        await database.close()

    asyncio.run(main())
    assert count(path) == 1
    assert count(backup.rolling(path)) == 1
    assert count(backup.before_update(path, 1)) == 2
    assert not backup.before_update(path, 2).exists()


def delete_first(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM conversations WHERE id = 1")
