"""The page of one repository: what it is, which files it has with plain advice, and the button that downloads one."""

from collections import Counter

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.errors import HubError
from app.hub import words
from app.hub.listing import Repository
from app.hub.names import shown
from app.hub.offers import Offer, choose
from app.hub.remote import RemoteModel
from app.ui import theme
from app.ui.card_view import CardView
from app.ui.facts_painter import FactsPainter, expect
from app.ui.plain import ElidedLabel, Label

_OFFERS_HEIGHT = 150


class ModelPage(QWidget):
    """`offer_chosen` carries the `RemoteModel` that is selected, `download_wanted` the one to download."""

    offer_chosen = Signal(object)
    download_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelPage")
        self._repository: Repository | None = None
        self._title = ElidedLabel("", "heading", self)
        self._facts = Label("", "quiet", self)
        self._said = Label("", "quiet", self)
        self._fit = Label("", "quiet", self)
        for label in (self._facts, self._said, self._fit):
            label.setWordWrap(True)
        self._said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._offers = QListWidget(self)
        self._offers.setObjectName("hubOffers")
        self._offers.setAccessibleName("Files")
        self._offers.setFrameShape(QFrame.Shape.NoFrame)
        self._offers.setFixedHeight(theme.px(_OFFERS_HEIGHT))
        self._offers.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        FactsPainter.paint_rows_of(self._offers)
        self._offers.currentRowChanged.connect(self._changed)
        self._button = QPushButton("Download", self)
        self._button.setObjectName("downloadButton")
        self._button.setProperty("role", "primary")
        self._button.clicked.connect(self._download)
        self.card = CardView(self)
        self._lay_out()
        self.say("", "Choose a model on the left to see its files.")

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GAP_2)
        for widget in (self._title, self._facts, self._said, self._offers, self._fit):
            column.addWidget(widget)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.card, 1)
        column.addStretch(0)

    @property
    def chosen(self) -> RemoteModel | None:
        """The model that is selected, where it can be downloaded."""
        offer = self._offer()
        if self._repository is None or offer is None:
            return None
        try:
            return choose([offer], "", self._repository.repo)
        except HubError:
            return None

    def say(self, title: str, text: str) -> None:
        """Show words instead of a repository."""
        self._repository = None
        self._title.setText(title)
        self._said.setText(text)
        self._facts.setText("")
        self.show_fit("")
        self.card.show_text("")
        self._offers.clear()
        self._arrange()

    def show_repository(self, repository: Repository, page: str) -> None:
        """Its files, the preferred one selected; `page` is its address."""
        self._repository = repository
        self._title.setText(repository.repo)
        self._facts.setText(facts(repository))
        gated = f"Its licence has to be accepted at {page} first; then an access token, in the settings, lets Tutti in."
        nothing = "" if repository.offers else "It has no model in the GGUF format."
        self._said.setText(gated if repository.about.gated else nothing)
        self.card.show_text("")
        self._offers.blockSignals(True)
        self._offers.clear()
        expect(self._offers, len(repository.offers))
        known = Counter(offer.quantisation for offer in repository.offers)
        for offer in repository.offers:
            self._offers.addItem(_item(offer, alone=known[offer.quantisation] == 1))
        self._offers.blockSignals(False)
        self._offers.setCurrentRow(_preferred(repository))
        self._arrange()

    def show_fit(self, text: str) -> None:
        self._fit.setText(f"On this machine: {text}" if text else "")
        self._fit.setVisible(bool(text))

    def _arrange(self) -> None:
        known = self._repository is not None and bool(self._repository.offers)
        for widget in (self._offers, self._button, self.card):
            widget.setVisible(known)
        self._facts.setVisible(bool(self._facts.text()))
        self._said.setVisible(bool(self._said.text()))

    def _offer(self) -> Offer | None:
        row = self._offers.currentRow()
        offers = self._repository.offers if self._repository is not None else ()
        return offers[row] if 0 <= row < len(offers) else None

    def _changed(self) -> None:
        model = self.chosen
        self.show_fit("")
        self._button.setEnabled(model is not None)
        text = f"Download {words.size(model.size)}" if model is not None else "Download"
        self._button.setText(text)
        self._button.setAccessibleName(text)
        if model is not None:
            self.offer_chosen.emit(model)

    def _download(self) -> None:
        model = self.chosen
        if model is not None:
            self.download_wanted.emit(model)


def _item(offer: Offer, *, alone: bool) -> QListWidgetItem:
    """`alone`: no other one has its quantisation, so that this is name enough."""
    model = offer.model
    parts = f", {len(model.files)} parts" if len(model.files) > 1 else ""
    name = shown(model.files[0].path, 60)
    label = offer.quantisation if alone else f"{offer.quantisation}  ·  {name}"
    label = label if offer.quantisation else name
    advice = f"incomplete: {offer.missing[0]} is missing" if offer.missing else offer.advice
    text = f"{label}  ·  {words.size(model.size)}{parts}" + (f"\n{advice}" if advice else "")
    item = QListWidgetItem(text)
    item.setToolTip("")
    if offer.missing:
        item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
    return item


def _preferred(repository: Repository) -> int:
    """The row of the one that is taken when nobody chooses."""
    try:
        model = choose(repository.offers)
    except HubError:
        return 0 if repository.offers else -1
    return next(n for n, offer in enumerate(repository.offers) if offer.model == model)


def facts(repository: Repository) -> str:
    """What the hub says of it, in one line."""
    about = repository.about
    context = f"context {about.context:,}" if about.context else ""
    changed = f"changed {about.changed}" if about.changed else ""
    licence = f"licence {about.licence}" if about.licence else "licence not told"
    known = (words.parameters(about.parameters), about.architecture, context, licence, changed)
    return " · ".join(part for part in known if part)
