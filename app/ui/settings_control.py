"""Opens the settings, and puts what was chosen in force."""

import asyncio

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.chat.model_port import ModelHost
from app.remembered import Remembered
from app.sizing.planner import Planner
from app.ui import aio
from app.ui.hub_control import HubControl
from app.ui.preferences import Preferences
from app.ui.settings_dialog import MODEL_PAGE, WINDOW_PAGE, SettingsDialog


class SettingsControl(QObject):
    """Knows of the hub, and of what models have of their own, once `offer` told it."""

    def __init__(
        self, preferences: Preferences, planner: Planner, host: ModelHost, window: QWidget
    ) -> None:
        super().__init__(window)
        self._preferences, self._planner, self._host = preferences, planner, host
        self._window = window
        self._hub: HubControl | None = None
        self._remembered: Remembered | None = None

    def offer(self, hub: HubControl | None, remembered: Remembered) -> None:
        """They are there now."""
        self._hub, self._remembered = hub, remembered

    def open_model_page(self) -> None:
        """Where a larger pool can be had."""
        self.open(MODEL_PAGE)

    @aio.async_slot
    async def open(self, page: str = WINDOW_PAGE) -> None:
        """One dialog at a time, at this page of it."""
        state = self._host.state
        outlook = await asyncio.to_thread(self._planner.outlook, state.path)
        if self._window.findChild(SettingsDialog) is not None:
            return
        form = self._hub.form() if self._hub is not None else None
        own = self._remembered is not None and self._remembered.of(state.path).load is not None
        dialog = SettingsDialog(
            self._preferences.current,
            self._window,
            outlook=outlook,
            model=state,
            model_has_own=own,
            hub=form,
        )
        dialog.show_page(page)
        if await aio.finished(dialog):
            self._preferences.replace(dialog.value(self._preferences.current))
            if self._hub is not None and form is not None:
                await self._hub.take(form)
