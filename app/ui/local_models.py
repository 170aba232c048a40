"""The menu of the models on this computer: one click loads one, wherever it lies."""

import asyncio

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.hub import words
from app.hub.shelf import Shelf, Shelved
from app.ui import aio
from app.ui.plain import one_line, tooltip, without_mnemonics

_MOST = 40
_WIDEST = 56


class LocalModelsMenu(QMenu):
    """Looks when it is about to be shown, on a thread; what it found the last time is there at once.

    `chosen` carries the path of the file to load.
    """

    chosen = Signal(str)

    def __init__(self, shelf: Shelf, parent: QWidget | None = None) -> None:
        super().__init__("Models on this computer", parent)
        self.setObjectName("localModelsMenu")
        self.setAccessibleName("Models on this computer")
        self.setToolTipsVisible(True)
        self._shelf = shelf
        self._looking = False
        self._shown: list[Shelved] | None = None
        self._say("Looking…")
        self.aboutToShow.connect(self._look)

    @aio.async_slot
    async def _look(self) -> None:
        if self._looking:
            return
        self._looking = True
        try:
            found = await asyncio.to_thread(self._shelf.models)
        finally:
            self._looking = False
        models = [one for one in found if one.model.chats]
        if models != self._shown:
            self._shown = models
            self._show(models)

    def _show(self, models: list[Shelved]) -> None:
        self.clear()
        for model in models[:_MOST]:
            self.addAction(self._action(model))
        if not models:
            self._say("There is none yet")
        elif len(models) > _MOST:
            self._say(f"And {len(models) - _MOST} more: open them as files")

    def _action(self, one: Shelved) -> QAction:
        model = one.model
        text = f"{one_line(one.name, _WIDEST)}  ·  {words.size(model.size)}"
        action = QAction(without_mnemonics(text), self)
        about = model.details
        known = (about.title, about.architecture, about.parameters, about.quantisation, str(model.path))  # fmt: skip
        action.setToolTip(tooltip(" · ".join(filter(None, (*known, model.place.label)))))
        path = str(model.path)
        action.setData(path)
        action.triggered.connect(self._chosen)
        return action

    def _chosen(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.chosen.emit(str(action.data()))

    def _say(self, text: str) -> None:
        self.addAction(text).setEnabled(False)
