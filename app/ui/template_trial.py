"""Trying a template while it is typed: soon after a change, one trial at a time, the last one counts."""

import asyncio
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, Signal

from app.chat.prompt_port import PromptFormat
from app.dialogue import ChatLine
from app.errors import AppError
from app.ui import aio
from app.ui.throttle import Throttle

EXAMPLE: Final = (
    ChatLine("system", "You are a helpful assistant."),
    ChatLine("user", "What is the capital of France?"),
    ChatLine("assistant", "Paris."),
    ChatLine("user", "And of Italy?"),
)
"""What every template is shown with."""

_PAUSE_MS = 250
_FAULT = "It could not be tried, by a fault in Tutti; the log has the details."


class TemplateTrial(QObject):
    """`begun` when something is to be tried, `ended` with the `Rehearsal`, `failed` with words where there is none."""

    begun = Signal()
    ended = Signal(object)
    failed = Signal(str)

    def __init__(self, prompts: PromptFormat, text: Callable[[], str], parent: QObject) -> None:
        super().__init__(parent)
        self._prompts = prompts
        self._text = text
        self._soon = Throttle(_PAUSE_MS, self.start, self)
        self._task: asyncio.Task[None] | None = None

    def request(self) -> None:
        """The text has changed: what is being tried does not count any more."""
        self._withdraw()
        self.begun.emit()
        self._soon.request()

    def start(self) -> None:
        """Try it now."""
        self._soon.drop()
        self._withdraw()
        self.begun.emit()
        self._task = aio.spawn(self._try(self._text()))

    def end(self) -> None:
        """Nobody looks any more."""
        self._soon.end()
        self._withdraw()

    def _withdraw(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _try(self, text: str) -> None:
        try:
            found = await self._prompts.try_template(text, EXAMPLE)
        except AppError as error:
            self.failed.emit(str(error))
        except Exception:
            self.failed.emit(_FAULT)
            raise
        else:
            self.ended.emit(found)
