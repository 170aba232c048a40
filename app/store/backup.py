"""Copies of the database that lie beside it.

`chats.backup.db` is refreshed at most once a day, and only when something changed; `chats.v3.backup.db` is the
file as it was before an update of its shape; `chats.backup-TIME.db` is a rolling backup that was put out of
reach because the database was found damaged.  A copy is complete before it gets its name.  What the user deletes
is deleted in the copies too, but for those of a file that was damaged.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from app.store.connection import connect, drop_sidecars, make_private, peek, sync, transaction

_log = logging.getLogger(__name__)
_DAY = 86_400.0


def rolling(path: Path) -> Path:
    """Where the daily backup of `path` lies."""
    return path.with_name(f"{path.stem}.backup{path.suffix}")


def before_update(path: Path, version: int) -> Path:
    """Where the backup lies that was made before a file of this version was changed."""
    return path.with_name(f"{path.stem}.v{version}.backup{path.suffix}")


def all_of(path: Path) -> list[Path]:
    """Every backup of `path`, the newest first."""
    found = path.parent.glob(f"{path.stem}.*backup*{path.suffix}")
    return sorted(found, key=lambda backup: backup.stat().st_mtime, reverse=True)


def copy(connection: sqlite3.Connection, target: Path) -> None:
    """Write all that `connection` sees to `target`, in one file."""
    temporary = target.with_name(f"{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    make_private(temporary)
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as out:
            connection.backup(out)
            out.execute("PRAGMA journal_mode = DELETE").fetchall()
        sync(temporary)
        drop_sidecars(target)
        temporary.replace(target)
        sync(target)
    except (sqlite3.Error, OSError):
        temporary.unlink(missing_ok=True)
        raise


def is_due(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the daily backup is missing, or a day old and different from the database."""
    changes = facts(connection)[1]
    try:
        age = time.time() - rolling(path).stat().st_mtime
    except FileNotFoundError:
        return changes > 0
    if age < _DAY:
        return False
    try:
        with closing(peek(rolling(path), with_wal=False)) as backup:
            return facts(backup) != facts(connection)
    except sqlite3.Error:
        return True


def facts(connection: sqlite3.Connection) -> tuple[bytes, int]:
    """The name of this database and the number of its commits."""
    lineage, changes = connection.execute("SELECT lineage, changes FROM meta").fetchone()
    return bytes(lineage), int(changes)


def forget(path: Path, lineage: bytes, delete: Callable[[sqlite3.Connection], None]) -> None:
    """Delete in the copies too; a copy in which that fails is removed, for it would keep deleted text."""
    for backup in (
        rolling(path),
        *path.parent.glob(before_update(path, 0).name.replace("v0", "v*")),
    ):
        if not backup.is_file():
            continue
        try:
            _forget_in(backup, lineage, delete)
        except sqlite3.Error as error:
            _log.warning("removing the backup %s: %s", backup.name, error)
            with suppress(OSError):
                backup.unlink()


def _forget_in(backup: Path, lineage: bytes, delete: Callable[[sqlite3.Connection], None]) -> None:
    with closing(peek(backup, with_wal=False)) as copied:
        if facts(copied)[0] != lineage:
            return
    stat = backup.stat()
    with closing(connect(backup, "DELETE")) as connection, transaction(connection):
        delete(connection)
    os.utime(backup, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # its age stays that of its content
