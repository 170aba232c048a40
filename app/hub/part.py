"""A file that is not whole yet: its part file beside the place where it will lie, and the journal of that.

    model.gguf.1a2b3c4d.part            the bytes, at their places
    model.gguf.1a2b3c4d.part.journal    which blocks were written, with checksums (journal.py)

The name holds the digest, so that parts of different contents never meet.  A kill costs the block that was being put
together; what a power failure spoils is found by the checksums.  One process at a time: the journal is locked.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from app.errors import HubError, HubProblem
from app.filelock import lock
from app.hub import disk, journal
from app.hub.journal import BLOCK, Record, block_count, block_length
from app.hub.plan import Block
from app.hub.remote import RemoteFile

Tell = Callable[[int], None]
"""Called with the bytes looked at so far; may raise, to stop."""

_UNLINKS_OPEN = os.name == "posix"
"""Whether a file goes that is open: it then goes while its journal is locked, so that nobody begins meanwhile."""

_sync_data = getattr(os, "fdatasync", os.fsync)


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether the whole content is the right one, and the blocks that are not as they were written."""

    right: bool
    damaged: tuple[int, ...] = ()


class PartFile:
    """To be used by one thread, in a `with` block.  Raises HubError for what the disk refuses."""

    def __init__(self, target: Path, file: RemoteFile) -> None:
        self._target = target
        self._file = file
        self.path = part_path(target, file)
        self._records: dict[int, Record] = {}

    def __enter__(self) -> Self:
        try:
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._journal = self._locked_journal()
        except OSError as error:
            raise disk.told(error, self._target.parent) from error
        try:
            self._open()
        except OSError as error:
            self._journal.close()
            raise disk.told(error, self._target.parent) from error
        except BaseException:
            self._journal.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._part.close()
        self._journal.close()

    def _locked_journal(self) -> BinaryIO:
        path = _journal_path(self.path)
        while True:
            found = path.open("a+b", buffering=0)
            try:
                self._lock(found)
                if _lies_at(path, found):
                    return found
            except BaseException:
                found.close()
                raise
            found.close()

    def _lock(self, found: BinaryIO) -> None:
        if not lock(found):
            raise HubError(
                f"“{self._target.name}” is being downloaded by another Tutti.",
                "Wait until it is done, or cancel it there.",
                problem=HubProblem.TAKEN,
            )

    def _open(self) -> None:
        self._journal.seek(0)
        found = journal.decode(self._journal.read(), self._file)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        self._part = os.fdopen(descriptor, "r+b", buffering=0)
        if found is None or os.fstat(descriptor).st_size != self._file.size:
            self._begin()
        else:
            self._records, end = found
            self._journal.truncate(end)

    def _begin(self) -> None:
        try:
            self._part.truncate(0)
            self._part.truncate(self._file.size)
            self._journal.truncate(0)
            self._journal.write(journal.header(self._file))
        except OSError:
            # Nothing came yet: a refused download leaves nothing behind.
            self._part.close()
            self.discard()
            raise

    def check(self, tell: Tell) -> set[int]:
        """Read what was written before; gives the blocks that are as they were."""
        good: set[int] = set()
        for index, data in self._blocks(sorted(self._records)):
            tell(len(data))
            if zlib.crc32(data) == self._records[index].crc:
                good.add(index)
        self._records = {index: self._records[index] for index in good}
        return good

    def write(self, block: Block) -> None:
        """The bytes first, then the record of them."""
        record = Record(block.index, len(block.data), zlib.crc32(block.data))
        try:
            self._part.seek(block.index * BLOCK)
            _write_all(self._part.write, block.data)
            self._journal.write(journal.encode(record))
        except OSError as error:
            raise disk.told(error, self._target.parent) from error
        self._records[block.index] = record

    def holds(self, block: Block) -> bool:
        """Whether exactly this is written already."""
        record = self._records.get(block.index)
        return record is not None and record.crc == zlib.crc32(block.data)

    def sync(self) -> None:
        """Down to the disk, the bytes before the journal; nothing after `discard`."""
        if self._part.closed:
            return
        try:
            _sync_data(self._part.fileno())
            _sync_data(self._journal.fileno())
        except OSError as error:
            raise disk.told(error, self._target.parent) from error

    def prove(self, tell: Tell) -> Proof:
        """Read all of it and compare its digest with the hub's."""
        whole = _hasher(self._file)
        damaged: list[int] = []
        for index, data in self._blocks(range(block_count(self._file.size))):
            tell(len(data))
            whole.update(data)
            record = self._records.get(index)
            if record is None or record.crc != zlib.crc32(data):
                damaged.append(index)
        return Proof(whole.hexdigest() == self._file.digest, tuple(damaged))

    def _blocks(self, indexes: "range | list[int]") -> Iterator[tuple[int, bytes]]:
        try:
            for index in indexes:
                self._part.seek(index * BLOCK)
                yield index, self._part.read(block_length(index, self._file.size))
        except OSError as error:
            raise disk.told(error, self._target.parent) from error

    def discard(self) -> None:
        """Remove both files; to be called inside the `with` block, as the last."""
        if not _UNLINKS_OPEN:
            self._part.close()
            self._journal.close()
        _unlink(self.path)


def part_path(target: Path, file: RemoteFile) -> Path:
    return target.with_name(f"{target.name}.{file.digest[:8]}.part")


def _journal_path(part: Path) -> Path:
    return part.with_name(f"{part.name}.journal")


def _lies_at(path: Path, locked: BinaryIO) -> bool:
    """Whether this is still the file there: who held it before may have removed it, and the next one made another."""
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(locked.fileno()))
    return False


def remove(target: Path, file: RemoteFile) -> None:
    """Remove what there is of the part of `file`, but where another Tutti is bringing it."""
    _remove_free(part_path(target, file))


def _remove_free(part: Path) -> None:
    try:
        with _journal_path(part).open("r+b", buffering=0) as journal_file:
            if not lock(journal_file) or not _lies_at(_journal_path(part), journal_file):
                return
            if _UNLINKS_OPEN:
                _unlink(part)
        if not _UNLINKS_OPEN:
            _unlink(part)
    except FileNotFoundError:
        _unlink(part)  # without a journal nobody has begun, and what lies there is worth nothing
    except OSError as error:
        raise disk.told(error, part.parent) from error


def _unlink(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
        _journal_path(part).unlink(missing_ok=True)
    except OSError as error:
        raise disk.told(error, part.parent) from error


def written_bytes(target: Path, file: RemoteFile) -> int:
    """How much of `file` lies in its part, by the journal and without a look at the bytes."""
    part = part_path(target, file)
    try:
        found = journal.decode(_journal_path(part).read_bytes(), file)
        size = part.stat().st_size
    except OSError:
        return 0
    if found is None or size != file.size:
        return 0
    return sum(record.length for record in found[0].values())


def publish(target: Path, file: RemoteFile) -> None:
    """Put the proven part in the place of `target`, at once; an older file there stays until that moment.

    On POSIX who has the older one open keeps it, for as long as that lasts; a process that is started for the same load
    afterwards finds the new one, and is refused by its fingerprint (`app.client.same_file`).
    """
    part = part_path(target, file)
    try:
        part.replace(target)
        _sync_folder(target.parent)
        _journal_path(part).unlink(missing_ok=True)
    except OSError as error:
        raise disk.told(error, target.parent) from error


def remove_strays(target: Path) -> None:
    """Remove the parts that were begun for the same place, whatever their content, and that nobody is bringing now."""
    stray = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}\.part(\.journal)?")
    folder = target.parent
    found = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    for name in {name.removesuffix(".journal") for name in found if stray.fullmatch(name)}:
        _remove_free(folder / name)


def _write_all(write: Callable[[memoryview], int | None], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[write(view) or 0 :]


def _hasher(file: RemoteFile) -> "hashlib._Hash":
    if len(file.digest) == 64:
        return hashlib.sha256()
    return hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
