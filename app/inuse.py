"""Which processes of this user have which model files open, so that none is removed under another one's feet.

Each use is a small file in a folder of Tutti's own, locked for as long as it lasts: the system frees the lock of a
process that dies, however it dies, and whoever looks next removes what it left.  Nothing is ever written beside a model.

Every call reads or writes the disk: not for the window's thread.
"""

import json
import logging
import os
import secrets
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Self

from app import modelfile, paths
from app.errors import harmless
from app.filelock import lock

_log = logging.getLogger(__name__)
_SUFFIX = ".use"
_MOST_BYTES = 1_000_000
_MOST_TRIES = 100


@dataclass(frozen=True, slots=True)
class User:
    """A process that has a model open: what a person calls it (`tutti serve`), and its id."""

    program: str
    pid: int

    def __str__(self) -> str:
        return f"{harmless(self.program)} (process {self.pid})"


class Uses:
    """What this process, called `program`, uses and what others do; may be used by several threads."""

    def __init__(self, folder: Path, program: str) -> None:
        """`folder` is the same for all processes of the user; it is made when it is needed."""
        self._folder = folder
        self._user = User(program, os.getpid())
        self._prefix = secrets.token_hex(8)
        """Of the marks of this process: its id may be that of another one's in another container."""

    def use(self, model: str | Path) -> "Use":
        """A use of the model that begins in this file; it has not begun yet."""
        return Use(self._folder / self._prefix, self._user, Path(model))

    def others(self, files: Iterable[Path]) -> tuple[User, ...]:
        """The other processes that have one of `files` open, in order of their ids.

        Of a link it is the link that counts: who has opened the file that it leads to by another way does not need it.
        """
        wanted = {_place(path) for path in files}
        found: set[User] = set()
        for path in self._marks():
            seen = _seen(path)
            if seen is not None and wanted & seen[1]:
                found.add(seen[0])
        return tuple(sorted(found, key=lambda user: user.pid))

    def _marks(self) -> list[Path]:
        try:
            marks = [path for path in self._folder.iterdir() if path.suffix == _SUFFIX]
        except OSError:
            return []  # nobody has used a model yet
        return [path for path in marks if not path.name.startswith(self._prefix)]


class Use:
    """One use by this process.  `begin` and `end` may come in any order, from any thread; after `end` it is over for good.

    That it cannot be told to others does not stop anybody from using a model: the log says so.
    """

    def __init__(self, stem: Path, user: User, model: Path) -> None:
        """`stem` is how the paths of all marks of this process begin."""
        self._stem, self._user, self._model = stem, user, model
        self._lock = threading.Lock()
        self._mark: tuple[Path, BinaryIO] | None = None
        self._over = False

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self) -> None:
        """From now on others see it."""
        with self._lock:
            if self._over or self._mark is not None:
                return
            try:
                self._mark = self._marked()
            except OSError as error:
                _log.warning("Other programs cannot be told that a model is in use: %s", error)

    def end(self) -> None:
        """From now on they do not."""
        with self._lock:
            self._over = True
            mark, self._mark = self._mark, None
        if mark is not None:
            mark[1].close()  # before it is removed, for Windows removes no open file
            with suppress(OSError):
                mark[0].unlink()

    def _marked(self) -> tuple[Path, BinaryIO]:
        self._stem.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = json.dumps({**asdict(self._user), "files": sorted(_names(self._model))}).encode()
        for _ in range(_MOST_TRIES):
            path = self._stem.with_name(f"{self._stem.name}-{secrets.token_hex(8)}{_SUFFIX}")
            file = _locked(path)
            if file is None:
                continue  # somebody looked in just this moment, and takes it for what a dead process left
            try:
                file.write(text)
            except OSError:
                file.close()
                raise
            return path, file
        raise OSError("the folder of the uses is being changed all the time")


def _locked(path: Path) -> BinaryIO | None:
    """A new file of this name that is ours; None where it was taken away."""
    descriptor = os.open(
        path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
    )
    file = os.fdopen(descriptor, "r+b", buffering=0)
    if lock(file):
        file.seek(0)
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return file
    file.close()
    return None


def _seen(path: Path) -> tuple[User, set[str]] | None:
    """Who uses which files by this mark; None for one of a process that is dead, which is removed, and for nonsense."""
    try:
        with path.open("r+b", buffering=0) as file:
            if not lock(file):
                file.seek(0)
                return _read(file.read(_MOST_BYTES) or b"")
            if os.name == "posix":
                path.unlink(
                    missing_ok=True
                )  # while it is locked, so that nobody begins a use with it
        if os.name != "posix":
            path.unlink(missing_ok=True)
    except OSError:
        pass  # it went in this moment
    return None


def _read(data: bytes) -> tuple[User, set[str]] | None:
    try:
        raw = json.loads(data)
        user, files = (
            User(str(raw["program"]), int(raw["pid"])),
            {str(name) for name in raw["files"]},
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return user, files


def _names(model: Path) -> set[str]:
    """Of all files of the model: where each lies, and where the file lies that it leads to, where it is a link."""
    parts = modelfile.parts(model) or [model]
    return {name for part in parts for name in (_place(part), os.path.realpath(part))}


def _place(path: Path) -> str:
    """Where it lies, whatever links lead to its folder."""
    return os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118 - a name that is compared as text


def here(program: str) -> Uses:
    """Those of this user: one folder for all data folders, since a model may be used from several of them."""
    return Uses(paths.state_dir() / "in-use", program)
