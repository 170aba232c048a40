"""Where the window gets models from: the menu of those on this computer, the dialog, and what comes of downloads."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from app.chat.model_state import ModelPhase
from app.errors import Unproven
from app.hub.curated import Recommended
from app.hub.details import is_other_kind
from app.hub.port import Hub
from app.hub.shelf import Shelf, Shelved
from app.hub.standing import Row, State
from app.ui import aio
from app.ui.banner import Banner, Notice
from app.ui.folders_dialog import FoldersDialog
from app.ui.hub_control import HubControl
from app.ui.library_view import LibraryView
from app.ui.load_control import LoadControl
from app.ui.local_models import LocalModelsMenu
from app.ui.model_button import ModelButton
from app.ui.model_control import ModelControl
from app.ui.model_dialog import ModelDialog
from app.ui.plain import one_line
from app.ui.preferences import Preferences

_LOOK_MS = 250
_MOVING = (State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Sources:
    """What is on this machine, what a hub has, what of it is recommended here, and the user's account with the hub."""

    shelf: Shelf
    hub: Hub
    recommended: Sequence[Recommended] = ()
    account: HubControl | None = None


class ModelFinder(QObject):
    """Lives as long as the window: a download that ends while the dialog is closed is told in the banner.

    `used`: the user has chosen a model to chat with, and nothing stands before the window any more.
    """

    used = Signal()

    def __init__(
        self,
        sources: Sources,
        control: ModelControl,
        button: ModelButton,
        banner: Banner,
        load: LoadControl,
        preferences: Preferences,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._sources, self._control, self._banner = sources, control, banner
        self._load, self._preferences = load, preferences
        self._window = window
        self._dialog: ModelDialog | None = None
        self._states: dict[str, State] = {}
        self._used: set[str] = set()
        """Downloads that the user has begun to chat with."""
        menu = LocalModelsMenu(sources.shelf, button)
        menu.chosen.connect(control.load)
        control.memory.look_in(sources.shelf, self.open)
        button.offer(menu)
        button.find_requested.connect(self.open)
        button.load_settings_requested.connect(load.ask_for_loaded)
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    def open(self) -> None:
        """Show the dialog, or bring it forward."""
        if self._dialog is None:
            self._dialog = ModelDialog(
                self._sources.hub, self._sources.recommended, self._view, self._window
            )
            self._dialog.use_wanted.connect(self._use)
            self._dialog.finished.connect(self._closed)
            self._look()
            self._timer.start()
            self._dialog.show()
        self._dialog.activateWindow()

    def _view(self) -> LibraryView:
        view = LibraryView(self._sources.shelf, lambda: self._preferences.current, self._loaded)
        view.load_settings_wanted.connect(self._ask_load)
        view.folders_wanted.connect(self._ask_folders)
        view.renamed.connect(self._control.retitle)
        view.use_wanted.connect(self._use_file)
        self._load.changed.connect(view.look)
        return view

    def _loaded(self) -> tuple[str, ...]:
        """The files whose models are in memory, or on their way there."""
        state = self._control.state
        there = (ModelPhase.READY, ModelPhase.LOADING)
        return tuple(one.path for one in (state, *state.others) if one.phase in there)

    @aio.async_slot
    async def _ask_load(self, one: Shelved) -> None:
        await self._load.ask(one.path, self._dialog or self._window, one.name)

    @aio.async_slot
    async def _ask_folders(self) -> None:
        dialog = FoldersDialog(self._preferences.current.model_folders, self._dialog)
        if await aio.finished(dialog):
            folders = dialog.value()
            await asyncio.to_thread(self._sources.shelf.look_in, folders)
            self._preferences.update(model_folders=folders)
            if self._dialog is not None:
                self._dialog.library.look()

    def shut(self) -> None:
        """The window ends."""
        self._timer.stop()

    def _closed(self) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None

    def _look(self) -> None:
        rows = self._sources.hub.downloads.rows()
        if self._dialog is not None:
            self._dialog.show_downloads(rows)
        elif not any(row.state in _MOVING for row in rows):
            self._timer.stop()
        before, self._states = self._states, {row.key: row.state for row in rows}
        for row in rows:
            if before.get(row.key, State.WAITING) is row.state:
                continue
            if row.state is State.DONE:
                aio.spawn(self._downloaded(row))
            elif row.state is State.FAILED and self._dialog is None:
                self._tell_failed(row)

    async def _downloaded(self, row: Row) -> None:
        """Check it, so that it loads at once when it is wanted, and tell what came of it."""
        name = one_line(row.model.title, 60)
        if await asyncio.to_thread(is_other_kind, row.path):
            self._banner.post(
                Notice(
                    f"{name} is downloaded. It is a file that models use, and cannot chat.", "info"
                )
            )
            return
        why = await self._control.examine(str(row.path))
        if why is not None and not isinstance(why, Unproven):
            self._banner.post(Notice(f"{name} is downloaded, and cannot be used. {why}"))
        elif row.key not in self._used and (why is not None or self._dialog is None):
            words = f"{name} is downloaded. {why or ''}".strip()
            self._banner.post(Notice(words, "info", "Chat with it", act=lambda: self._use(row.key)))

    def _tell_failed(self, row: Row) -> None:
        name = one_line(row.model.title, 60)
        self._banner.post(
            Notice(f"The download of {name} stopped: {row.error}", action="Show it", act=self.open)
        )

    def _use(self, key: str) -> None:
        for row in self._sources.hub.downloads.rows():
            if row.key == key and row.state is State.DONE:
                self._used.add(key)
                self._use_file(str(row.path))

    def _use_file(self, path: str) -> None:
        self._control.load(path)
        if self._dialog is not None:
            self._dialog.accept()
        self.used.emit()
