"""What to do with a database file that is not as it should be.

A bad file is never opened for writing and never deleted: it gets a name with a time in it, beside the new file.
What can be read of it is in the new file before that takes its place, so a kill at any moment leaves one of the
two.  A file of a newer version is refused and stays as it is, to the byte.
"""

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from app.errors import StoreError
from app.store import backup, salvage
from app.store.connection import (
    connect,
    drop_sidecars,
    make_private,
    peek,
    sidecar,
    sync,
    transaction,
)
from app.store.migrations import APPLICATION_ID, Step, migrate, version

MAGIC = b"SQLite format 3\x00"
_ALWAYS_CHECKED = 256_000_000
"""Files up to this size (bytes) are checked at every start, larger ones only after an unclean end."""

_SIGNS = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""What SQLite says of a damaged file; another failure (locked, no rights) is no reason to move it away."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a file says of itself; `fault` is what is wrong with it, or ""."""

    version: int = 0
    lineage: bytes = b""
    fault: str = ""


def create(path: Path, steps: Sequence[Step], rows: salvage.Rows | None = None) -> None:
    """A new database under this name, in place of what is there; complete before it gets its name."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    drop_sidecars(fresh)
    make_private(fresh)
    with closing(connect(fresh)) as connection:
        with transaction(connection):
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        migrate(connection, steps)
        if rows is not None:
            salvage.fill(connection, rows)
    sync(fresh)
    drop_sidecars(path)
    fresh.replace(path)
    sync(path)


def mend(path: Path, steps: Sequence[Step]) -> tuple[str, ...]:
    """Make sure that a whole database of a known version lies at `path`; what was wrong, in words."""
    if not path.is_file():
        kept = _set_aside(path)
        create(path, steps)
        return (_report(path, "was not a file", kept),)
    alone = _examine(path, with_wal=False, deep=False)
    _refuse_newer(alone, steps)
    if not _has_wal(path):
        deep = path.stat().st_size <= _ALWAYS_CHECKED
        fault = alone.fault or _examine(path, with_wal=False, deep=deep).fault
        return (_replace(path, steps, fault),) if fault else ()
    both = _examine(path, with_wal=True, deep=True)
    _refuse_newer(both, steps)
    if not both.fault and alone.lineage in (both.lineage, b""):
        return ()
    fault = alone.fault or _examine(path, with_wal=False, deep=True).fault
    if fault:
        return (_replace(path, steps, fault),)
    return (_drop_journal(path),)


def _examine(path: Path, *, with_wal: bool, deep: bool) -> _Finding:
    """`deep` reads every page."""
    if path.stat().st_size == 0 and not (with_wal and _has_wal(path)):
        return _Finding(fault="was empty")
    try:
        with closing(peek(path, with_wal=with_wal)) as connection:
            number = version(connection)
            mark = connection.execute("PRAGMA application_id").fetchone()[0]
            if mark != APPLICATION_ID or number == 0:
                return _Finding(number, fault="is not a chat database")
            lineage = backup.facts(connection)[0]
            result = connection.execute("PRAGMA quick_check(1)").fetchone()[0] if deep else "ok"
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF not in _SIGNS:
            raise
        return _Finding(_version_in_header(path), fault=f"was damaged ({error})")
    except (TypeError, ValueError) as error:
        return _Finding(_version_in_header(path), fault=f"was damaged ({type(error).__name__})")
    return _Finding(number, lineage, "" if result == "ok" else f"was damaged ({result})")


def _version_in_header(path: Path) -> int:
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(MAGIC):
        return 0
    ours = int.from_bytes(header[68:72], "big") == APPLICATION_ID
    return int.from_bytes(header[60:64], "big") if ours else 0


def _refuse_newer(found: _Finding, steps: Sequence[Step]) -> None:
    if found.version > len(steps):
        raise StoreError(
            f"The chats were written by a newer Tutti (format {found.version}, this one knows {len(steps)}).",
            "Update Tutti; the file was left as it is.",
        )


def _has_wal(path: Path) -> bool:
    with suppress(FileNotFoundError):
        return sidecar(path, "-wal").stat().st_size > 0
    return False


def _replace(path: Path, steps: Sequence[Step], fault: str) -> str:
    rows = salvage.read(path)
    kept = _set_aside(path, keep_until_replaced=True)
    create(path, steps, rows)
    return _report(path, fault, kept)


def _drop_journal(path: Path) -> str:
    kept = _free_name(path, "journal")
    sidecar(path, "-wal").replace(kept)
    sidecar(path, "-shm").unlink(missing_ok=True)
    return (
        f"The journal beside the chat database belonged to another file or was damaged. It was kept as {kept.name}; "
        "the newest changes may be missing."
    )


def _set_aside(path: Path, *, keep_until_replaced: bool = False) -> Path:
    """Give the bad file, its journal and the daily backup names that nothing will overwrite."""
    kept = _free_name(path, "damaged")
    if _has_wal(path):
        sidecar(path, "-wal").replace(sidecar(kept, "-wal"))
    daily = backup.rolling(path)
    if daily.is_file():
        daily.replace(_free_name(path, "backup"))
    if keep_until_replaced:
        try:
            os.link(path, kept)
        except OSError:  # a file system without links: a short moment without a file is the price
            path.replace(kept)
    else:
        path.replace(kept)
    return kept


def _free_name(path: Path, what: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1000):
        tail = f"-{number}" if number else ""
        name = path.with_name(f"{path.stem}.{what}-{stamp}{tail}{path.suffix}")
        if not os.path.lexists(name):
            return name
    raise StoreError("The data folder holds too many damaged files.", "Remove old ones.")


def _report(path: Path, fault: str, kept: Path) -> str:
    with closing(peek(path, with_wal=False)) as connection:
        chats, messages = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("conversations", "messages")
        )
    words = [f"The chat database {fault}. It was kept as {kept.name}."]
    if messages or chats:
        words.append(f"{chats:,} chats with {messages:,} messages could be read and are here.")
    else:
        words.append("Nothing could be read from it, so the list of chats starts empty.")
    newest = next(iter(backup.all_of(path)), None)
    if newest is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(newest.stat().st_mtime))
        words.append(f"The newest backup is {newest.name}, of {when}.")
    return " ".join(words)
