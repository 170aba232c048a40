"""Whether the last start came through.

What ends the process while it is shown (a chat that cannot be drawn, a driver) would end it at every start, if the start
opened it by itself again.  So a mark is set before the first tab is opened, and taken away once the window has stood for a
moment; a start that finds the mark of the one before opens nothing by itself.
"""

import logging

from PySide6.QtCore import QObject, QTimer

from app.chat.ports import ConversationStore
from app.errors import AppError
from app.ui import aio

_log = logging.getLogger(__name__)

_KEY = "starting"
_SET, _UNSET = b"1", b""
_STANDS_MS = 1000


class StartMark(QObject):
    """Of the window that is its parent; `stands_ms` after it was shown, a start has come through."""

    def __init__(
        self, store: ConversationStore, parent: QObject, *, stands_ms: int = _STANDS_MS
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(stands_ms)
        self._timer.timeout.connect(self._stands)

    async def set(self) -> bool:
        """Set it; whether the last start came through."""
        found = await self._store.value(_KEY)
        await self._put(_SET)
        return found != _SET

    def shown(self) -> None:
        """The window is there, with all that it opens by itself."""
        self._timer.start()

    async def unset(self) -> None:
        """This start has come through."""
        self._timer.stop()
        await self._put(_UNSET)

    @aio.async_slot
    async def _stands(self) -> None:
        await self.unset()

    async def _put(self, mark: bytes) -> None:
        try:
            await self._store.set_value(_KEY, mark)
        except AppError as error:
            # A disk that is full is no reason not to start.
            _log.warning("the mark of this start was not written: %s", error)
