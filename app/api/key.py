"""The API key, in a file: it does not stand on a command line, and can be changed while the server runs."""

import logging
from pathlib import Path

from app.errors import AppError

_MAX_BYTES = 4096
_VISIBLE = range(0x21, 0x7F)

_log = logging.getLogger(__name__)


class KeyProblem(AppError):
    """The key file cannot be used."""


class KeyFile:
    """Calling it gives the key that the file holds now; b"" (which opens nothing) while it cannot be read.

    The file is read again whenever its facts on disk change.
    """

    def __init__(self, path: Path) -> None:
        """Raises KeyProblem."""
        self._path = path
        self._facts = _facts(path)
        self._key = _read(path)

    def __call__(self) -> bytes:
        try:
            facts = _facts(self._path)
            if facts != self._facts:
                self._key = _read(self._path)
                self._facts = facts
        except KeyProblem as problem:
            _log.warning("No request is allowed: %s", problem)
            return b""
        return self._key


def _facts(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise KeyProblem(f"The key file cannot be read ({error.strerror}).") from error
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            key = file.read(_MAX_BYTES + 1).strip()
    except OSError as error:
        raise KeyProblem(f"The key file cannot be read ({error.strerror}).") from error
    if not key or len(key) > _MAX_BYTES or any(byte not in _VISIBLE for byte in key):
        raise KeyProblem(
            "The key file holds no usable key.",
            f"Write one line of 1 to {_MAX_BYTES} visible ASCII characters into it.",
        )
    return key
