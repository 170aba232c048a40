"""One window for each data folder: a second start brings the first forward and ends.

The lock lies in the folder itself, found through its real path, so that a symbolic link to it counts as the same.
It names the process that holds it: one that was killed holds nothing.  The folder is not touched otherwise before
the lock is held.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QLockFile, QObject
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_WAIT_S: Final = 2.5
_POLL_MS: Final = 50
_MESSAGE_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why this process is not the one window, and how it ends."""

    exit_code: int
    words: str = ""


_FORWARDED = Refusal(0)
_SILENT = Refusal(0, "Tutti is open already, but does not answer.")
_DENIED = Refusal(1, "The data folder cannot be written, so Tutti cannot start.")


class SingleInstance(QObject):
    """Holds the lock for as long as it lives, and hears of later starts."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        real = folder.resolve()
        digest = hashlib.sha256(str(real).encode(errors="surrogateescape")).hexdigest()[:24]
        self._name = f"tutti-{digest}"
        self._lock = QLockFile(str(real / "tutti.lock"))
        # Age says nothing about a window that is open for weeks; only the death of its process does.
        self._lock.setStaleLockTime(0)
        self._server: QLocalServer | None = None
        self._on_start: Callable[[str], None] | None = None

    def claim(self, model_path: str = "") -> Refusal | None:
        """Be the one window (None), or hand `model_path` ("" for none) to the one that is open.

        Blocks for about 2.5 s at most.
        """
        if self._lock.tryLock(0):
            return None
        if self._lock.error() == QLockFile.LockError.PermissionError:
            return _DENIED
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            if self._forward(model_path):
                return _FORWARDED
            # The other one may just be starting, or just have ended.
            if self._lock.tryLock(_POLL_MS):
                return None
        return _SILENT

    def listen(self, on_start: Callable[[str], None]) -> None:
        """Call `on_start` with the model that a later start names, or ""."""
        self._on_start = on_start
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)
        # What a killed process left under this name is ours to remove: we hold the lock.
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)

    def release(self) -> None:
        """Give the lock back."""
        if self._server is not None:
            self._server.close()
        self._lock.unlock()

    def _forward(self, model_path: str) -> bool:
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(_POLL_MS * 4):
            return False
        socket.write(json.dumps({"model": model_path}).encode() + b"\n")
        socket.flush()
        heard = socket.waitForReadyRead(round(_WAIT_S * 1000))
        socket.disconnectFromServer()
        return heard

    def _accept(self) -> None:
        server = self._server
        while server is not None and server.hasPendingConnections():
            socket = server.nextPendingConnection()
            socket.setParent(self)
            socket.readyRead.connect(self._read)
            socket.disconnected.connect(socket.deleteLater)

    def _read(self) -> None:
        socket = self.sender()
        if not isinstance(socket, QLocalSocket):
            return
        if socket.bytesAvailable() > _MESSAGE_LIMIT:
            socket.abort()
        elif socket.canReadLine():
            path = _model_in(bytes(socket.readLine().data()))
            socket.write(b"shown\n")
            socket.flush()
            if self._on_start is not None:
                self._on_start(path)


def _model_in(line: bytes) -> str:
    try:
        path = json.loads(line)["model"]
    except (ValueError, KeyError, TypeError):
        return ""
    return path if isinstance(path, str) else ""
