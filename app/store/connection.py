"""How the database file is opened, and what one transaction is.

A connection made here belongs to the thread that made it.  `connect` is for the store itself: what is committed
is on the disk, and deleted text is overwritten.  `peek` never changes a file, whatever state it is in.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from app.errors import StoreError

_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA temp_store = MEMORY",
)
_LOCK_SECONDS = 1.0

Journal = Literal["WAL", "DELETE"]


def connect(path: Path, journal: Journal = "WAL") -> sqlite3.Connection:
    """Open for reading and writing; the file must exist."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_LOCK_SECONDS)
    connection.isolation_level = None
    try:
        connection.execute(f"PRAGMA journal_mode = {journal}").fetchall()
        for pragma in _PRAGMAS:
            connection.execute(pragma).fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def peek(path: Path, *, with_wal: bool) -> sqlite3.Connection:
    """Open for reading only: the file as it lies there, or with the commits that its -wal file holds."""
    flags = "mode=ro" if with_wal else "immutable=1"
    return sqlite3.connect(
        f"{path.as_uri()}?{flags}", uri=True, timeout=_LOCK_SECONDS, isolation_level=None
    )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back when the disk is full
            connection.execute("ROLLBACK")
        raise


def sidecar(path: Path, ending: str) -> Path:
    """The file that SQLite keeps beside `path`: ending "-wal", "-shm" or "-journal"."""
    return path.with_name(path.name + ending)


def drop_sidecars(path: Path) -> None:
    """Remove what would be applied to the next file of this name."""
    for ending in ("-wal", "-shm", "-journal"):
        sidecar(path, ending).unlink(missing_ok=True)


def make_private(path: Path) -> None:
    """An empty file that only this user can read; SQLite gives its sidecars the same rights."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def sync(path: Path) -> None:
    """Flush a file, and where the system can, its folder, so that a rename survives a power cut."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def in_words(error: sqlite3.Error) -> StoreError:
    """What a failed call means for the user."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    what, remedy = _WORDS.get(
        code, (f"The chat database failed ({error}).", "Start the app again.")
    )
    return StoreError(what, remedy)


_WORDS = {
    sqlite3.SQLITE_FULL: (
        "The disk is full: the chat could not be saved.",
        "Free some space and try again.",
    ),
    sqlite3.SQLITE_BUSY: (
        "Another program is using the chat database.",
        "Close it and try again.",
    ),
    sqlite3.SQLITE_READONLY: (
        "The chat database cannot be written.",
        "Check the rights of the data folder.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "The chat database cannot be opened.",
        "Check the rights of the data folder.",
    ),
    sqlite3.SQLITE_IOERR: (
        "The disk reported an error: the chat could not be saved.",
        "Check the disk and try again.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "The chat database is damaged.",
        "Start the app again: it keeps the damaged file and saves what can be read.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "The chat database is damaged.",
        "Start the app again: it keeps the damaged file and saves what can be read.",
    ),
}
