"""Saved states on disk: warm after a restart of the engine, of the app, or a reload of the model.

One file a blob, in a folder of the model's own: `<owner>-<random>.state`, readable by the user alone, written
beside and renamed.  Inside: a magic number, the length of a JSON header, the header (fingerprint, range, lengths), the
digest of the header and of all that follows, then the tokens of the whole path, the state, the tips.  A file that is
foreign, damaged or cut is deleted and read as if it were not there.  Writing is done by a thread of its own; everything
else by the engine's.
"""

import hashlib
import json
import logging
import os
import queue
import secrets
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from app.engine.blob import Blob, Tip
from app.wire import LoadParams

_LOG = logging.getLogger(__name__)
_MAGIC = b"TUTTIKV2"
_SUFFIX = ".state"
_UNFINISHED = ".tmp"
_HEADER_LIMIT = 1 << 20
_DIGEST_BYTES = 64
_FACTS = ("fingerprint", "start", "end", "owner", "data", "tips")


@dataclass(frozen=True, slots=True)
class _Header:
    """What stands before the bytes; lengths in bytes.  `raw` is how it was written, and `digest` what was written after it."""

    fingerprint: str
    start: int
    end: int
    owner: int
    data: int
    tips: tuple[tuple[int, int], ...]
    raw: bytes = b""
    digest: bytes = b""

    @property
    def size(self) -> int:
        """Bytes of the file that has it."""
        payload = 4 * self.end + self.data + sum(size for _, size in self.tips)
        return len(_MAGIC) + 4 + len(self.raw) + _DIGEST_BYTES + payload


class StateFiles:
    """The files of one model, at most `budget` bytes of them, the least recently used deleted first.

    With `together`, the folder of the folders of all models, these have the budget together.
    """

    def __init__(
        self, folder: Path, fingerprint: str, budget: int, *, together: Path | None = None
    ) -> None:
        self._folder = folder
        self._counted = (together, f"*/*{_SUFFIX}") if together else (folder, f"*{_SUFFIX}")
        self._fingerprint = fingerprint
        self._budget = budget
        self._orders: queue.SimpleQueue[Blob | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="engine-states", daemon=True)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._thread.start()

    def scan(self) -> Iterator[Blob]:
        """Every usable state of this model, parents before children, without its bytes in memory.

        For the start: what an engine that was killed had half written is deleted, and what a budget that was made smaller
        has no room for.
        """
        for path in self._folder.glob(f"*{_UNFINISHED}"):
            self.delete(path)
        self._make_room(0)
        found = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            blob = self._open(path)
            if blob is None or not blob.owner:
                # A file of nobody's would outlive every chat.
                self.delete(path)
            else:
                found.append(blob)
        yield from sorted(found, key=lambda blob: blob.start)

    def load(self, path: Path) -> bytes | None:
        """The state's bytes, checked; None (and the file deleted) when they are not what was written."""
        try:
            with path.open("rb") as file:
                header = _read_header(file)
                payload = file.read()
            # The app deletes a chat's files at any moment: one that is gone now is as one that was never there.
            os.utime(path)
        except OSError:
            header, payload = None, b""
        if header is None or hashlib.blake2b(header.raw + payload).digest() != header.digest:
            self.delete(path)
            return None
        offset = 4 * header.end
        return payload[offset : offset + header.data]

    def order(self, blob: Blob) -> bool:
        """Write this blob soon; its `file` is set when that is done.  False when it was ordered before."""
        if blob.ordered:
            return False
        blob.ordered = True
        self._orders.put(blob)
        return True

    def delete(self, path: Path) -> None:
        """Delete this file; one that somebody holds, as Windows lets them, stays until it is in the way."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _LOG.warning("a chat's state could not be deleted: %s", error)

    def close(self, seconds: float) -> None:
        """Finish what was ordered, but wait no longer than this."""
        self._orders.put(None)
        self._thread.join(seconds)

    def _open(self, path: Path) -> Blob | None:
        try:
            with path.open("rb") as file:
                header = _read_header(file)
                if header is None or header.fingerprint != self._fingerprint:
                    return None
                if header.size != path.stat().st_size:
                    return None
                tokens = np.frombuffer(file.read(4 * header.end), np.int32)
                file.seek(header.data, os.SEEK_CUR)
                tips = tuple(Tip(at, file.read(size)) for at, size in header.tips)
        except OSError:
            return None
        start, end = header.start, header.end
        return Blob(start, end, None, tokens.copy(), header.owner, tips=tips, file=path)

    def _write_all(self) -> None:
        while (blob := self._orders.get()) is not None:
            try:
                path = self._write(blob)
            except OSError as error:
                # A full disk costs only the warm start.
                _LOG.warning("a chat's state could not be kept on disk: %s", error)
                continue
            blob.file = path
            if path is not None and blob.users == 0:
                # Its chat was deleted meanwhile.
                self.delete(path)

    def _write(self, blob: Blob) -> Path | None:
        data = blob.data
        if data is None:
            return None
        header = _header_of(blob, data, self._fingerprint)
        if not self._make_room(header.size):
            return None
        parts = [blob.tokens.astype(np.int32).tobytes(), data, *(tip.data for tip in blob.tips)]
        digest = hashlib.blake2b(header.raw)
        for part in parts:
            digest.update(part)
        length = struct.pack("<I", len(header.raw))
        path = self._folder / f"{blob.owner}-{secrets.token_hex(8)}{_SUFFIX}"
        temporary = path.with_suffix(_UNFINISHED)
        try:
            _write_new(temporary, [_MAGIC, length, header.raw, digest.digest(), *parts])
            temporary.replace(path)
        except OSError:
            # What is there of it would only make a full disk fuller.
            self.delete(temporary)
            raise
        return path

    def _make_room(self, wanted: int) -> bool:
        """Delete the least recently used until `wanted` bytes fit the budget; False, and nothing is, where they never do."""
        if wanted > self._budget:
            return False
        found = sorted(_times_and_sizes(*self._counted))
        total = sum(size for _, size, _ in found)
        for _, size, path in found:
            if total + wanted <= self._budget:
                break
            self.delete(path)
            total -= size
        return total + wanted <= self._budget


def layout(fingerprint: str, params: LoadParams, library: str) -> str:
    """What the cells of a state mean and how they lie: any other model, cell type or library makes it a foreign one."""
    return f"{fingerprint}/{params.kv_type}/{library}"


def _times_and_sizes(folder: Path, pattern: str) -> Iterator[tuple[float, int, Path]]:
    """When each state was used last, and its bytes; without those that somebody deletes at this moment."""
    for path in folder.glob(pattern):
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        yield found.st_mtime, found.st_size, path


def _write_new(path: Path, parts: Sequence[bytes]) -> None:
    """Write a file that is the user's alone, down to the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())


def _header_of(blob: Blob, data: bytes, fingerprint: str) -> _Header:
    tips = tuple((tip.at, len(tip.data)) for tip in blob.tips)
    header = _Header(fingerprint, blob.start, blob.end, blob.owner, len(data), tips)
    facts = {name: getattr(header, name) for name in _FACTS}
    return replace(header, raw=json.dumps(facts).encode())


def _read_header(file: BinaryIO) -> _Header | None:
    """None where it is none, or says what cannot be.  Whether it is as it was written is for `load` to see."""
    head = file.read(len(_MAGIC) + 4)
    if head[: len(_MAGIC)] != _MAGIC or len(head) < len(_MAGIC) + 4:
        return None
    (length,) = struct.unpack("<I", head[len(_MAGIC) :])
    if length > _HEADER_LIMIT:
        return None
    raw, digest = file.read(length), file.read(_DIGEST_BYTES)
    try:
        found = json.loads(raw)
        header = _Header(
            str(found["fingerprint"]),
            int(found["start"]),
            int(found["end"]),
            int(found["owner"]),
            int(found["data"]),
            tuple((int(at), int(size)) for at, size in found["tips"]),
            raw,
            digest,
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    sane = 0 <= header.start < header.end and header.data > 0
    return header if sane and all(size > 0 for _, size in header.tips) else None
