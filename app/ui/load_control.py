"""How each model is loaded, and when it was last used: asked for, kept, and told where it counts only later."""

import asyncio
import logging
import time

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.chat.model_state import ModelPhase, ModelState
from app.errors import StoreError
from app.remembered import Remembered
from app.sizing.planner import Planner
from app.ui import aio
from app.ui.load_dialog import LoadDialog
from app.ui.model_control import ModelControl
from app.ui.preferences import Preferences

_log = logging.getLogger(__name__)


class LoadControl(QObject):
    """Lives as long as the window; `changed` comes when a model has got other settings."""

    changed = Signal()

    def __init__(
        self,
        remembered: Remembered,
        preferences: Preferences,
        planner: Planner,
        control: ModelControl,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._remembered, self._preferences = remembered, preferences
        self._planner, self._control, self._window = planner, control, window
        self._ready = ""
        control.state_changed.connect(self._state_changed)
        self._state_changed(control.state)

    @aio.async_slot
    async def ask_for_loaded(self) -> None:
        """For the model that is there."""
        if self._control.state.path:
            await self.ask(self._control.state.path, self._window, self._control.state.name)

    async def ask(self, path: str, parent: QWidget, name: str) -> None:
        """For the model in this file, which is called so."""
        outlook = await asyncio.to_thread(self._planner.outlook, path)
        if self._window.findChild(LoadDialog) is not None:
            return
        before = self._remembered.of(path).load
        dialog = LoadDialog(name, before, self._preferences.current, outlook, parent)
        if not await aio.finished(dialog):
            return
        after = dialog.value()
        if after == before:
            return
        await asyncio.to_thread(self._remembered.load_with, path, after)
        if path == self._control.state.path:
            self._control.say_next_load()
        self.changed.emit()

    def _state_changed(self, state: ModelState) -> None:
        ready = state.path if state.phase is ModelPhase.READY else ""
        if ready and ready != self._ready:
            aio.spawn(self._used(ready))
        self._ready = ready

    async def _used(self, path: str) -> None:
        try:
            await asyncio.to_thread(self._remembered.used, path, time.time())
        except StoreError as error:
            # Nobody asked for it, and nothing is lost but a date.
            _log.warning("not remembered: %s", error)
