"""Find and download models: what is recommended here, the hub's search, one repository's page, and the downloads."""

import asyncio
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.errors import HubError
from app.hub import names, words
from app.hub.curated import Recommended
from app.hub.listing import Found, Query, Repository
from app.hub.port import Hub
from app.hub.remote import RemoteModel
from app.hub.standing import Row
from app.ui import aio, geometry, theme
from app.ui.card_view import readable
from app.ui.download_list import DownloadList
from app.ui.facts_painter import FactsPainter
from app.ui.hub_filters import HubFilters
from app.ui.hub_search import HubSearch
from app.ui.library_view import LibraryView
from app.ui.model_page import ModelPage
from app.ui.plain import Label
from app.ui.segments import Segments

_LEFT = 330
_DOWNLOADS_HEIGHT = 190
_NEAR_END = 3
"""Pages of the list from whose end on the next one is asked for: thirds of what is seen."""


class ModelDialog(QDialog):
    """Asks the hub only what the user does: opening it sends nothing.  `use_wanted` carries a download's key."""

    use_wanted = Signal(str)

    def __init__(
        self,
        hub: Hub,
        recommended: Sequence[Recommended],
        make_library: Callable[[], LibraryView],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("modelDialog")
        self.setWindowTitle("Models")
        self._hub, self._recommended, self._make_library = hub, recommended, make_library
        self._library: LibraryView | None = None
        self._parts = Segments(
            {"modelsOnHub": "Find models", "modelsHere": "On this computer"}, "Models", self
        )
        self._opening: asyncio.Task[None] | None = None
        self._fitting: asyncio.Task[None] | None = None
        self.field = QLineEdit(self)
        self.field.setObjectName("hubSearchField")
        self.field.setPlaceholderText("Search models, or paste an address")
        self.field.setAccessibleName("Search models, or paste an address")
        self.field.setClearButtonEnabled(True)
        self.filters = HubFilters(self)
        self.search = HubSearch(hub, self)
        self.results = QListWidget(self)
        self.results.setObjectName("hubResults")
        self.results.setAccessibleName("Models found")
        self.results.setFrameShape(QFrame.Shape.NoFrame)
        self.results.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        FactsPainter.paint_rows_of(self.results)
        self._heading = Label("", "quiet", self)
        self._heading.setObjectName("hubHeading")
        self._heading.setWordWrap(True)
        self._again = QPushButton("Try again", self)
        self._again.setObjectName("hubAgainButton")
        self._again.setAccessibleName("Try again")
        self._again.setProperty("role", "link")
        self.page = ModelPage(self)
        self.downloads = DownloadList(self)
        self._lay_out()
        self._connect()
        geometry.fit_dialog(self, 980, 700)
        self._show_recommended()
        self.field.setFocus()

    @property
    def library(self) -> LibraryView:
        """Of the models on this computer; made when somebody turns to it, so that the dialog is there sooner."""
        if self._library is None:
            self._library = self._make_library()
            self._stack.addWidget(self._library)
        return self._library

    # --- layout ----------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.setSpacing(theme.GAP_2)
        row = QHBoxLayout()
        row.addWidget(self._heading, 1)
        row.addWidget(self._again, 0)
        left.addLayout(row)
        left.addWidget(self.results, 1)
        side = QWidget(self)
        side.setFixedWidth(theme.px(_LEFT))
        left.setContentsMargins(0, 0, 0, 0)
        side.setLayout(left)
        middle = QHBoxLayout()
        middle.setSpacing(theme.GAP_5)
        middle.addWidget(side)
        middle.addWidget(self.page, 1)
        self._area = QScrollArea(self)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setWidgetResizable(True)
        self._area.setWidget(self.downloads)
        self._area.setObjectName("downloadArea")
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.hide()
        finding = QWidget(self)
        on_hub = QVBoxLayout(finding)
        on_hub.setContentsMargins(0, 0, 0, 0)
        on_hub.setSpacing(theme.GAP_3)
        on_hub.addWidget(self.field)
        on_hub.addWidget(self.filters)
        on_hub.addLayout(middle, 1)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(finding)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GAP_5, theme.GAP_4, theme.GAP_5, theme.GAP_4)
        column.setSpacing(theme.GAP_3)
        column.addWidget(self._parts, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._stack, 1)
        column.addWidget(self._area)

    def _connect(self) -> None:
        self._parts.chosen.connect(self._turn_to)
        self.field.textChanged.connect(self._changed)
        self.field.returnPressed.connect(self._at_once)
        self.filters.changed.connect(self._changed)
        self.search.restarted.connect(self.results.clear)
        self.search.found.connect(self._add)
        self.search.failed.connect(self._failed)
        self.search.busy_changed.connect(self._busy)
        self._again.clicked.connect(self._at_once)
        self.results.currentItemChanged.connect(self._selected)
        self.results.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.page.offer_chosen.connect(self._look_at_fit)
        self.page.download_wanted.connect(self._download)
        self.downloads.pause_wanted.connect(self._hub.downloads.pause)
        self.downloads.resume_wanted.connect(self._hub.downloads.resume)
        self.downloads.cancel_wanted.connect(self._hub.downloads.cancel)
        self.downloads.use_wanted.connect(self.use_wanted)

    def show_downloads(self, rows: Sequence[Row]) -> None:
        """As they are now."""
        self.downloads.show_rows(rows)
        self._area.setFixedHeight(
            min(self.downloads.sizeHint().height() + theme.GAP_1, theme.px(_DOWNLOADS_HEIGHT))
        )
        self._area.setVisible(bool(rows))

    def done(self, code: int) -> None:
        """Whatever was asked is not waited for any more; downloads go on."""
        self.search.cancel()
        self._stop(self._opening)
        self._stop(self._fitting)
        if self._library is not None:
            self._library.stop()
        super().done(code)

    def _turn_to(self, part: int) -> None:
        if part:
            self._stack.setCurrentWidget(self.library)
            self.library.look()
        else:
            self._stack.setCurrentIndex(part)

    # --- the list --------------------------------------------------------------------------------------------

    def _show_recommended(self) -> None:
        self.results.clear()
        self._say("Recommended for this machine" if self._recommended else "Search the hub for a model.")  # fmt: skip
        for one in self._recommended:
            facts = " · ".join((f"about {words.size(one.size)}", f"licence {one.licence}"))
            self._add_item(one.repo, one.title, f"{facts}\n{one.why}")

    def _changed(self) -> None:
        text = self.field.text().strip()
        if not text:
            self.search.cancel()
            self._show_recommended()
        elif self._meant(text) is not None:
            self.search.cancel()
            self._say("Press Enter to open this repository.")
        else:
            self.search.change(self._query(text))

    def _at_once(self) -> None:
        text = self.field.text().strip()
        meant = self._meant(text)
        if meant is not None:
            self.search.cancel()
            self._open(meant.repo, meant.revision)
        elif text:
            self.search.query = self._query(text)
            self.search.ask()

    def _query(self, text: str) -> Query:
        return self.filters.query(text)

    def _meant(self, text: str) -> names.Reference | None:
        try:
            return names.reference(text, self._hub.endpoint)
        except HubError:
            return None

    def _add(self, found: Sequence[Found]) -> None:
        for one in found:
            count = f"{one.downloads:,} downloads"
            known = (
                words.parameters(one.parameters),
                one.licence,
                count,
                "gated" if one.gated else "",
            )
            self._add_item(one.repo, one.repo, " · ".join(part for part in known if part))
        number = self.results.count()
        self._say(f"{number} found" if number else "Nothing is called that. Try fewer words.")

    def _add_item(self, repo: str, title: str, facts: str) -> None:
        item = QListWidgetItem(f"{title}\n{facts}")
        item.setData(Qt.ItemDataRole.UserRole, repo)
        self.results.addItem(item)

    def _scrolled(self, value: int) -> None:
        bar = self.results.verticalScrollBar()
        if bar.maximum() and value >= bar.maximum() - bar.pageStep() // _NEAR_END:
            self.search.more()

    def _busy(self, busy: bool) -> None:
        if busy:
            self._say(f"Asking {self._hub.host}…")

    def _failed(self, error: HubError) -> None:
        self._say(str(error), again=True)

    def _say(self, text: str, *, again: bool = False) -> None:
        self._heading.setText(text)
        self._heading.setAccessibleName(text)
        self._again.setVisible(again)

    # --- the page --------------------------------------------------------------------------------------------

    def _selected(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self._open(str(item.data(Qt.ItemDataRole.UserRole)))

    def _open(self, repo: str, revision: str = "") -> None:
        self._stop(self._opening)
        self._stop(self._fitting)
        self.page.say(repo, f"Asking {self._hub.host}…")
        self._opening = aio.spawn(self._opened(repo, revision))

    async def _opened(self, repo: str, revision: str) -> None:
        try:
            repository = await self._hub.repository(repo, revision)
        except HubError as error:
            self.page.say(repo, str(error))
            return
        self.page.show_repository(repository, f"{self._hub.endpoint}/{repo}")
        await self._show_card(repository)

    async def _show_card(self, repository: Repository) -> None:
        try:
            card = await self._hub.card(repository.repo, repository.commit)
        except HubError as error:
            card = f"Its description cannot be shown: {error.what}"
        self.page.card.show_text(await asyncio.to_thread(readable, card))

    def _look_at_fit(self, model: RemoteModel) -> None:
        self._stop(self._fitting)
        self._fitting = aio.spawn(self._fitted(model))

    async def _fitted(self, model: RemoteModel) -> None:
        try:
            text = await self._hub.fit(model)
        except HubError:
            return  # the size is shown all the same, and a download says what is wrong
        if self.page.chosen == model:
            self.page.show_fit(text)

    def _download(self, model: RemoteModel) -> None:
        self._hub.downloads.add(model)
        self.show_downloads(self._hub.downloads.rows())

    def _stop(self, task: "asyncio.Task[None] | None") -> None:
        if task is not None:
            task.cancel()
