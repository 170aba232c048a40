"""The models on this computer: a list that can be narrowed, the page of the chosen one, and what could go."""

import asyncio
import enum
import time
from collections.abc import Callable, Collection, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.errors import AppError, InUse
from app.hub import words
from app.hub.fit import fit
from app.hub.shelf import Shelf, Shelved, check_not_loaded
from app.settings import Settings
from app.sizing.machine import measure
from app.ui import aio, theme
from app.ui.facts_painter import FactsPainter, expect
from app.ui.fields import Choice
from app.ui.local_page import LocalPage
from app.ui.plain import Label, one_line
from app.ui.same_search import SameSearch

LEFT = 330
"""Width of the list, px at the usual scale."""
_STEPS = 1000


class Shows(enum.IntEnum):
    """Which models are in the list, in the order of the box."""

    CHATS = 0
    ALL = 1
    UNUSED = 2
    SAME = 3


class LibraryView(QWidget):
    """`use_wanted` carries the file to load, `load_settings_wanted` the model, `renamed` the file of one with a new name;
    `folders_wanted` comes bare.  `loaded` tells the files that are loaded now."""

    use_wanted = Signal(str)
    load_settings_wanted = Signal(object)
    renamed = Signal(str)
    folders_wanted = Signal()

    def __init__(
        self,
        shelf: Shelf,
        settings: Callable[[], Settings],
        loaded: Callable[[], Collection[str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("libraryView")
        self._shelf, self._settings, self._loaded = shelf, settings, loaded
        self._models: list[Shelved] = []
        self._fits: dict[str, str] = {}
        self._same: list[tuple[Shelved, ...]] | None = None
        self._shown: list[Shelved] = []
        self._looking = False
        self._trouble = ""
        self._stopped = False
        self._box = Choice(self)
        self._box.setObjectName("libraryShown")
        self._box.setAccessibleName("Which models are shown")
        self._box.addItems(["For chats", "All files", "Unused", "Same content"])
        self._heading = Label("", "quiet", self)
        self._heading.setObjectName("libraryHeading")
        self._heading.setWordWrap(True)
        self._list = QListWidget(self)
        self._list.setObjectName("libraryList")
        self._list.setAccessibleName("Models on this computer")
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        FactsPainter.paint_rows_of(self._list)
        self._folders = _link("Folders…", "libraryFoldersButton", "Folders with models", self)
        self._stop = _link("Stop", "librarySameStop", "Stop looking for the same content", self)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, _STEPS)
        self._bar.setFixedHeight(theme.px(4))
        self.page = LocalPage(self)
        self._search = SameSearch(shelf, self)
        self._lay_out()
        self._show_progress(running=False)
        self._connect()

    # --- layout ----------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(theme.GAP_2)
        self._box.setFixedHeight(theme.px(theme.CONTROL))
        top.addWidget(self._box)
        top.addStretch(1)
        top.addWidget(self._folders)
        progress = QHBoxLayout()
        progress.setSpacing(theme.GAP_2)
        progress.addWidget(self._bar, 1, Qt.AlignmentFlag.AlignVCenter)
        progress.addWidget(self._stop)
        left = QVBoxLayout()
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(theme.GAP_2)
        left.addLayout(top)
        left.addWidget(self._heading)
        left.addLayout(progress)
        left.addWidget(self._list, 1)
        side = QWidget(self)
        side.setFixedWidth(theme.px(LEFT))
        side.setLayout(left)
        across = QHBoxLayout(self)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(theme.GAP_5)
        across.addWidget(side)
        across.addWidget(self.page, 1)

    def _connect(self) -> None:
        self._box.currentIndexChanged.connect(self._narrowed)
        self._list.currentRowChanged.connect(self._selected)
        self._list.itemActivated.connect(self._activated)
        self._folders.clicked.connect(self.folders_wanted)
        self._stop.clicked.connect(self._search.cancel)
        self._search.moved.connect(self._moved)
        self._search.found.connect(self._same_found)
        self._search.stopped.connect(self._same_stopped)
        self.page.use_wanted.connect(self._use)
        self.page.renamed.connect(self._rename)
        self.page.load_settings_wanted.connect(self._load_settings)
        self.page.remove_wanted.connect(self._remove)

    @property
    def chosen(self) -> Shelved | None:
        row = self._list.currentRow()
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def stop(self) -> None:
        """Nobody looks any more: the widgets may go at any moment."""
        self._stopped = True
        self._search.cancel()

    def _is_over(self) -> bool:
        return self._stopped

    # --- looking ---------------------------------------------------------------------------------------------

    @aio.async_slot
    async def look(self) -> None:
        """Look what is there now."""
        if self._looking or self._is_over():
            return
        self._looking = True
        if not self._models:
            self._heading.setText("Looking…")
        try:
            models, fits = await asyncio.to_thread(self._read)
        finally:
            self._looking = False
        if self._is_over():
            return
        if models != self._models:
            self._same = None
        self._models, self._fits = models, fits
        if self._box.currentIndex() == Shows.SAME and self._same is None:
            self._search.start(models)
        self._fill()

    def _read(self) -> tuple[list[Shelved], dict[str, str]]:
        models, free = self._shelf.models(), measure().free
        fitting = [one for one in models if one.model.chats and one.model.footprint is not None]
        return models, {one.path: str(fit(one.model.footprint, free)) for one in fitting if one.model.footprint and one.model.footprint.layers}  # fmt: skip

    def _narrowed(self, index: int) -> None:
        self._trouble = ""
        if index == Shows.SAME and self._same is None:
            self._search.start(self._models)
            self._show_progress(running=True)
        elif index != Shows.SAME:
            self._search.cancel()
        self._fill()

    def _fill(self) -> None:
        """Show what the box says, and keep what was chosen."""
        before = self.chosen
        self._shown = self._narrow()
        self._list.blockSignals(True)
        self._list.clear()
        expect(self._list, len(self._shown))
        for one in self._shown:
            self._list.addItem(_item(one, self._loaded()))
        paths = [one.path for one in self._shown]
        self._list.setCurrentRow(paths.index(before.path) if before and before.path in paths else min(0, len(paths) - 1))  # fmt: skip
        self._list.blockSignals(False)
        self._heading.setText(self._trouble or self._said())
        self._selected(self._list.currentRow())

    def _narrow(self) -> list[Shelved]:
        days = self._settings().unused_days
        match self._box.currentIndex():
            case Shows.CHATS:
                return [one for one in self._models if one.model.chats]
            case Shows.UNUSED:
                return [one for one in self._models if one.unused(time.time(), days)]
            case Shows.SAME:
                return [one for same in self._same or () for one in same]
        return self._models

    def _said(self) -> str:
        count = len(self._shown)
        total = words.size(sum(one.model.size for one in self._shown))
        days = self._settings().unused_days
        what = "file" if self._box.currentIndex() == Shows.ALL else "model"
        models = f"{count} {what}{'' if count == 1 else 's'}"
        match self._box.currentIndex():
            case Shows.UNUSED if count:
                return f"{models}, {total}, not loaded for {days} days"
            case Shows.UNUSED:
                return f"All of yours were loaded within {days} days."
            case Shows.SAME if self._search.running:
                return "Comparing what has the same size…"
            case Shows.SAME if self._same is None:
                return "Stopped before everything was compared."
            case Shows.SAME if count:
                spare = sum(one.model.size for same in self._same or () for one in same[1:])
                return f"{models} hold what another one holds too; {words.size(spare)} more than needed"
            case Shows.SAME:
                return "Nothing is there twice."
            case Shows.CHATS if not count:
                return "There is none yet. Find one on the hub, or add a folder that has some."
        return f"{models}, {total}" if count else "There is none yet."

    # --- the same content ------------------------------------------------------------------------------------

    def _moved(self, done: int, total: int) -> None:
        self._show_progress(running=True)
        self._bar.setValue(_STEPS * done // total if total else 0)
        self._heading.setText(f"Comparing: {words.size(done)} of {words.size(total)} read")

    def _same_found(self, groups: Sequence[tuple[Shelved, ...]]) -> None:
        self._same = list(groups)
        self._show_progress(running=False)
        self._fill()

    def _same_stopped(self) -> None:
        self._show_progress(running=False)
        self._fill()

    def _show_progress(self, *, running: bool) -> None:
        self._bar.setVisible(running)
        self._stop.setVisible(running)

    # --- the page --------------------------------------------------------------------------------------------

    def _selected(self, _row: int) -> None:
        one = self.chosen
        loaded = one is not None and self._is_loaded(one)
        self.page.show_model(one, self._fits.get(one.path, "") if one else "", loaded=loaded)

    def _is_loaded(self, one: Shelved) -> bool:
        try:
            check_not_loaded(one, self._loaded())
        except AppError:
            return True
        return False

    def _activated(self, _item: QListWidgetItem) -> None:
        if self.chosen is not None and self.chosen.model.chats:
            self._use()

    def _use(self) -> None:
        if self.chosen is not None:
            self.use_wanted.emit(self.chosen.path)

    def _load_settings(self) -> None:
        if self.chosen is not None:
            self.load_settings_wanted.emit(self.chosen)

    @aio.async_slot
    async def _rename(self, name: str) -> None:
        one = self.chosen
        if one is None:
            return
        try:
            await asyncio.to_thread(self._shelf.rename, one, name)
        except AppError as error:
            self._trouble = str(error)
        else:
            if not self._is_over():
                self.renamed.emit(one.path)
        self.look()

    @aio.async_slot
    async def _remove(self, forced: bool) -> None:
        one = self.chosen
        if one is None:
            return
        try:
            check_not_loaded(one, self._loaded())
            # Whoever was asked about a folder of their own has agreed to just that.
            await asyncio.to_thread(self._shelf.remove, one, agreed=True, forced=forced)
        except InUse as error:
            if not self._is_over():
                self.page.ask_again(one, str(error))
        except AppError as error:
            self._trouble = str(error)
        self.look()


def _item(one: Shelved, loaded: Collection[str]) -> QListWidgetItem:
    model = one.model
    facts = (
        words.size(model.size),
        model.details.quantisation,
        "" if model.chats or model.problem else str(model.kind),
        "cannot be loaded" if model.problem else "",
        one_line(model.place.label, 30),
        "loaded" if one.path in loaded else "",
    )
    return QListWidgetItem(f"{one.name}\n{' · '.join(filter(None, facts))}")


def _link(text: str, object_name: str, name: str, parent: QWidget) -> QPushButton:
    button = QPushButton(text, parent)
    button.setObjectName(object_name)
    button.setAccessibleName(name)
    button.setProperty("role", "link")
    button.setAutoDefault(False)
    return button
