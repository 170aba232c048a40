"""The one connection, and the one thread that owns it.

Every call runs on that thread, in the order in which the calls were made.  A write is one transaction, on the
disk when the call returns; a caller that is cancelled meanwhile does not undo it.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from app.errors import StoreError
from app.store import backup, damage
from app.store.connection import connect, in_words, transaction
from app.store.migrations import STEPS, Step, migrate, version

_T = TypeVar("_T")
Work = Callable[[sqlite3.Connection], _T]


class Database:
    """Open with `open`, then `read`, `write` and at last `close`.

    `problems` says, in words for the user, what was wrong with the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self.problems: tuple[str, ...] = ()

    async def open(self, steps: Sequence[Step] = STEPS) -> None:
        """Open the file, or make it; raises StoreError, and has then changed nothing."""
        try:
            await self._on_thread(lambda: self._open(steps))
        except BaseException:
            self._thread.shutdown(wait=False)
            raise

    async def read(self, work: Work[_T]) -> _T:
        """Run `work(connection)`, which only reads."""
        return await self._on_thread(lambda: work(self._usable()))

    async def write(self, work: Work[_T]) -> _T:
        """Run `work(connection)` in a transaction."""
        return await self._on_thread(lambda: self._write(work))

    async def erase(self, delete: Work[None]) -> None:
        """Run `delete(connection)` in a transaction, then rid the journal and the backups of what it deleted.

        `delete` also runs on connections to the backups.
        """
        await self._on_thread(lambda: self._erase(delete))

    async def close(self) -> None:
        """Wait for all calls, empty the journal into the file, close.  Twice is fine."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._on_thread(self._close)
        finally:
            self._thread.shutdown(wait=True)

    async def _on_thread(self, call: Callable[[], _T]) -> _T:
        try:
            future = self._thread.submit(call)
        except RuntimeError as error:
            raise StoreError("The chat database is closed.") from error
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except sqlite3.Error as error:
            raise in_words(error) from error

    def _open(self, steps: Sequence[Step]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = self._path = self._path.resolve()
            if path.exists():
                self.problems = damage.mend(path, steps)
            else:
                damage.create(path, steps)
            path.chmod(0o600)
            self._connection = _up_to_date(path, steps)
        except OSError as error:
            raise StoreError(
                f"The chat database could not be opened ({error.strerror}).",
                "Check the rights of the data folder and the space on the disk.",
            ) from error
        self._back_up()

    def _back_up(self) -> None:
        """The daily copy.  A failure is told, but does not keep the chats from being shown."""
        connection = self._usable()
        try:
            if backup.is_due(connection, self._path):
                backup.copy(connection, backup.rolling(self._path))
        except (sqlite3.Error, OSError) as error:
            self.problems += (f"The daily backup of the chats could not be written ({error}).",)

    def _usable(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError("The chat database is closed.")
        return self._connection

    def _write(self, work: Work[_T]) -> _T:
        connection = self._usable()
        with transaction(connection):
            result = work(connection)
            connection.execute("UPDATE meta SET changes = changes + 1")
        return result

    def _erase(self, delete: Work[None]) -> None:
        self._write(delete)
        connection = self._usable()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        backup.forget(self._path, backup.facts(connection)[0], delete)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()  # the last one to close empties the journal


def _up_to_date(path: Path, steps: Sequence[Step]) -> sqlite3.Connection:
    """A connection to a file that has seen all steps; a copy is made before the first change."""
    connection = connect(path)
    try:
        number = version(connection)
        if number < len(steps):
            backup.copy(connection, backup.before_update(path, number))
            migrate(connection, steps)
    except BaseException:
        connection.close()
        raise
    return connection
