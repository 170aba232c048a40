"""The search as a person types it: asked for once the typing rests, page by page, and never an answer to an old question."""

import asyncio
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import HubError
from app.hub.listing import Query
from app.hub.port import Hub
from app.ui import aio

REST_MS = 350
"""How long the typing has to rest."""


class HubSearch(QObject):
    """`found` carries the repositories of a page; `restarted` comes before the first page of a new question, or before its
    failure, for what was found before is no answer to it."""

    restarted = Signal()
    found = Signal(object)
    failed = Signal(object)
    busy_changed = Signal(bool)

    def __init__(self, hub: Hub, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self.query = Query()
        self._next = ""
        self._task: asyncio.Task[None] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REST_MS)
        self._timer.timeout.connect(self.ask)

    def change(self, query: Query) -> None:
        """Ask this once nothing changes any more; what is under way is not waited for."""
        self.query = query
        self.cancel()
        if query.text:
            self._timer.start()

    def cancel(self) -> None:
        """Nobody waits any more."""
        self._timer.stop()
        self._next = ""
        if self._task is not None:
            self._task.cancel()
            self._task = None
            self.busy_changed.emit(False)

    def ask(self) -> None:
        """Now."""
        self.cancel()
        self._start(replace(self.query), "")

    def more(self) -> None:
        """The next page, where there is one and none is under way."""
        if self._next and self._task is None:
            self._start(self.query, self._next)

    def _start(self, query: Query, page: str) -> None:
        self._task = aio.spawn(self._run(query, page))
        self.busy_changed.emit(True)

    async def _run(self, query: Query, page: str) -> None:
        task = asyncio.current_task()
        try:
            answer = await self._hub.search(query, page)
        except HubError as error:
            if self._task is task:
                self._settle(task)
                if not page:
                    self.restarted.emit()
                self.failed.emit(error)
            return
        if self._task is not task:
            return
        self._next = answer.next_page
        self._settle(task)
        if not page:
            self.restarted.emit()
        self.found.emit(answer.found)

    def _settle(self, task: "asyncio.Task[None] | None") -> None:
        if self._task is task:
            self._task = None
            self.busy_changed.emit(False)
