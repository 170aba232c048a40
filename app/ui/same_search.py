"""The search for models with the same content: on a thread, with its progress, and ended when nobody waits any more."""

import asyncio
import threading
from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from app.hub.shelf import Shelf, Shelved, Stopped
from app.ui import aio

_LOOK_MS = 100


class SameSearch(QObject):
    """`moved` carries bytes read and bytes to read, `found` groups of `Shelved`, `stopped` comes when it was cancelled."""

    moved = Signal(object, object)
    found = Signal(object)
    stopped = Signal()

    def __init__(self, shelf: Shelf, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shelf = shelf
        self._run: _Run | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)

    @property
    def running(self) -> bool:
        return self._run is not None

    def start(self, models: Sequence[Shelved]) -> None:
        """Search among these; what was searched before is not waited for."""
        self.cancel()
        self._run = _Run(self._shelf, models)
        self._timer.start()
        aio.spawn(self._wait(self._run))

    def cancel(self) -> None:
        """It ends with the next megabyte."""
        if self._run is not None:
            self._run.cancel()
            self._run = None
            self._timer.stop()
            self.stopped.emit()

    async def _wait(self, run: "_Run") -> None:
        groups = await asyncio.to_thread(run.work)
        if self._run is run:
            self._run = None
            self._timer.stop()
            self.found.emit(groups)

    def _look(self) -> None:
        if self._run is not None:
            self.moved.emit(self._run.done, self._run.total)


class _Run:
    """One search: `work` on its thread, the rest on any."""

    def __init__(self, shelf: Shelf, models: Sequence[Shelved]) -> None:
        self._shelf, self._models = shelf, models
        self._cancelled = threading.Event()
        self.done = 0
        self.total = 0

    def work(self) -> list[tuple[Shelved, ...]]:
        """The groups; none where it was cancelled."""
        try:
            self.total = self._shelf.to_read(self._models)
            return self._shelf.alike(self._models, self._tell)
        except Stopped:
            return []

    def cancel(self) -> None:
        self._cancelled.set()

    def _tell(self, count: int) -> None:
        if self._cancelled.is_set():
            raise Stopped
        self.done += count
