"""How many tokens a draft has: counted a moment after the last key, and never two counts at a time."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from PySide6.QtCore import QObject, Signal

from app.ui.throttle import Throttle

_PAUSE_MS: Final = 300
_MOST: Final = 200_000
"""Characters of a draft that are counted: the text worker that counts has prompts of other chats to make."""


class DraftSize(QObject):
    """`tokens` of the draft when it was last looked at, 0 where that is not known; `changed` says when it is another.

    `text` gives the draft, `count` its tokens, `begin` starts work that the page waits for.
    """

    changed = Signal()

    def __init__(
        self,
        text: Callable[[], str],
        count: Callable[[str], Awaitable[int]],
        begin: Callable[[Coroutine[Any, Any, None]], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.tokens = 0
        self._text = text
        self._count = count
        self._begin = begin
        self._counting = False
        self._throttle = Throttle(_PAUSE_MS, self._look, self)

    def request(self) -> None:
        """The draft has changed."""
        self._throttle.request()

    def end(self) -> None:
        """Look no more."""
        self._throttle.end()

    def _look(self) -> None:
        if self._counting:
            self._throttle.request()
            return
        self._counting = True
        self._begin(self._measure(self._text()))

    async def _measure(self, draft: str) -> None:
        try:
            tokens = await self._count(draft) if 0 < len(draft) <= _MOST else 0
        finally:
            self._counting = False
        if tokens != self.tokens:
            self.tokens = tokens
            self.changed.emit()
