"""Read what can be read of a damaged database, row by row.

Works on a copy in a folder of its own, so the damaged file is never touched.  The header is made anew where it is
gone or tells of more pages than the file has; rows on pages that cannot be read are left out.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from app.chat.models import clean
from app.store.connection import peek, sidecar, transaction

Row = dict[str, object]
Rows = dict[str, list[Row]]

_TABLES = (
    "meta",
    "conversations",
    "messages",
    "prompts",
    "summaries",
    "open_tabs",
    "window_values",
)
_PAGE = 4096
_MOST_PROBES = 200_000
_LOST_TITLE = "Recovered chat"


def read(path: Path) -> Rows:
    """All rows that can be read, by table; from the file with its journal or without, whichever has more."""
    found: list[Rows] = [{}]
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=path.parent) as folder:
        for with_wal, mended in ((True, False), (True, True), (False, True)):
            with (
                suppress(sqlite3.Error, OSError),
                _scratch(path, Path(folder), with_wal=with_wal, mended=mended) as copy,
            ):
                found.append({table: list(_rows(copy, table)) for table in _TABLES})
    return max(found, key=_richness)


def _richness(rows: Rows) -> tuple[int, int]:
    return len(rows.get("messages", ())), len(rows.get("conversations", ()))


def fill(connection: sqlite3.Connection, rows: Rows) -> None:
    """Put the rows in a new database; a message whose chat was lost gets one of the same id."""
    chats = {row.get("id") for row in rows.get("conversations", ())}
    for message in rows.get("messages", ()):
        if message.get("conversation_id") not in chats:
            chats.add(message.get("conversation_id"))
            rows.setdefault("conversations", []).append(_stand_in(message))
    with transaction(connection):
        for table in _TABLES:
            known = {column[1] for column in connection.execute(f"PRAGMA table_info({table})")}
            for row in rows.get(table, ()):
                _insert(connection, table, {name: row[name] for name in row if name in known})


def _stand_in(message: Row) -> Row:
    created = message.get("created", 0.0)
    return {
        "id": message.get("conversation_id"),
        "title": _LOST_TITLE,
        "created": created,
        "updated": created,
    }


def _insert(connection: sqlite3.Connection, table: str, row: Row) -> None:
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    # A value that the table refuses was damaged; so is a tab whose chat is gone.
    with suppress(sqlite3.IntegrityError):
        connection.execute(
            f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", tuple(row.values())
        )


@contextmanager
def _scratch(
    path: Path, folder: Path, *, with_wal: bool, mended: bool
) -> Iterator[sqlite3.Connection]:
    """A copy to read from, with its journal or without, as it is or with a header that fits the file."""
    copy = folder / f"{with_wal}-{mended}.db"
    shutil.copyfile(path, copy)
    if with_wal:
        shutil.copyfile(sidecar(path, "-wal"), sidecar(copy, "-wal"))
    if mended:
        _mend_header(copy, journal=with_wal)
    with closing(peek(copy, with_wal=with_wal)) as connection:
        connection.text_factory = _lenient
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA writable_schema = ON")  # read on past faults of the schema
        yield connection


def _lenient(raw: bytes) -> str:
    return clean(raw.decode("utf-8", "replace"))


def _mend_header(copy: Path, *, journal: bool) -> None:
    with copy.open("r+b") as file:
        header = bytearray(file.read(100).ljust(100, b"\0"))
        if not header.startswith(b"SQLite format 3\0"):
            header = bytearray(100)
            header[0:16] = b"SQLite format 3\0"
            header[16:18] = _PAGE.to_bytes(2, "big")
            header[21:24] = bytes((64, 32, 32))
            header[40:48] = bytes((0, 0, 0, 1, 0, 0, 0, 4))  # schema cookie, schema format
            header[56:60] = bytes((0, 0, 0, 1))  # UTF-8
        header[18:20] = b"\2\2" if journal else b"\1\1"
        # Two numbers that differ: SQLite then takes the number of pages from the size of the file.
        header[24:28] = bytes((0, 0, 0, 1))
        header[92:96] = bytes(4)
        header[32:40] = bytes(8)  # no free pages
        file.seek(0)
        file.write(header)


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[Row]:
    found: dict[int, Row] = {}
    if not _scan(connection, table, "ASC", found):
        upper = _highest(connection, table)
        first = max(found, default=0) + 1
        _scan(connection, table, "DESC", found)
        upper = max(upper, max(found, default=0))
        for rowid in range(first, min(upper, first + _MOST_PROBES) + 1):
            if rowid not in found:
                _probe(connection, table, rowid, found)
    return iter([found[rowid] for rowid in sorted(found)])


def _scan(connection: sqlite3.Connection, table: str, order: str, found: dict[int, Row]) -> bool:
    """Collect from one end until a page cannot be read, or a row is known; False for the former."""
    try:
        for row in connection.execute(
            f"SELECT rowid AS row_number, * FROM {table} ORDER BY rowid {order}"
        ):
            if row["row_number"] in found:
                break
            found[row["row_number"]] = _values(row)
    except sqlite3.Error:
        return False
    return True


def _probe(connection: sqlite3.Connection, table: str, rowid: int, found: dict[int, Row]) -> None:
    with suppress(sqlite3.Error):
        row = connection.execute(f"SELECT * FROM {table} WHERE rowid = ?", (rowid,)).fetchone()
        if row is not None:
            found[rowid] = _values(row)


def _highest(connection: sqlite3.Connection, table: str) -> int:
    with suppress(sqlite3.Error):
        row = connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)
        ).fetchone()
        if row is not None:
            return int(row[0])
    return 0


def _values(row: sqlite3.Row) -> Row:
    return {name: row[name] for name in row.keys() if name != "row_number"}  # noqa: SIM118 - a Row is no dict
