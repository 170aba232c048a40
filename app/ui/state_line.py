"""The line above the composer: what the turn does, in words, and how full the chat is."""

from typing import Final

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.chat.events import TurnState
from app.chat.models import TabState
from app.ui import icons, marks, states, theme
from app.ui.model_offer import ModelOffer
from app.ui.plain import ElidedLabel
from app.ui.repeat_offer import RepeatOffer

HINT_MS: Final = 5_000
"""How long a hint stays where the state goes on as it was."""


class StateLine(QWidget):
    """Shows a `TurnState`, what can be done about it, or a hint for a while; always as high, so that nothing jumps."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedHeight(theme.px(theme.GAP_5))
        self._turn = self._shown = states.IDLE
        self._swollen = False
        self._hint = QTimer(self)
        self._hint.setSingleShot(True)
        self._hint.setInterval(HINT_MS)
        self._hint.timeout.connect(self._show)
        self._mark = QLabel(self)
        self._words = ElidedLabel("", "quiet", self)
        self._words.setObjectName("stateText")
        self.offer = RepeatOffer(self)
        self.model_offer = ModelOffer(self)
        self._room = ElidedLabel("", "quiet", self)
        self._room.setObjectName("contextText")
        # The words give way, the figures do not while there is room for them.
        self._room.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._room.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.GAP_2, 0, theme.GAP_2, 0)
        layout.setSpacing(theme.GAP_1)
        layout.addWidget(self._mark, 0)
        layout.addWidget(self._words, 1)
        layout.addWidget(self.offer, 1)
        layout.addWidget(self.model_offer, 1)
        layout.addWidget(self._room, 0)

    def show_turn(self, turn: TurnState) -> None:
        """Show this state; a hint stays while only the figures change."""
        goes_on = turn.state is self._turn.state
        self._turn = turn
        if not (goes_on and self._hint.isActive()):
            self._hint.stop()
            self._show()

    def hint(self, words: str) -> None:
        """Say something for the moment, or until the state changes."""
        self._hint.start()
        self._say(words, states.IDLE)

    def show_context(self, used: int, held: int, draft: int = 0) -> None:
        """How many tokens the chat has, and its draft, of those that it may have; 0 when that is not known."""
        both = " + ".join(f"{number:,}" for number in (used, draft) if number)
        self._room.setText(f"{both} of {held:,} tokens" if both and held else "")

    def offer_model(self, words: str, action: str) -> None:
        """Say that the chat goes on with another model, whenever there is nothing to say of a turn that runs."""
        self.model_offer.offer(words, action)
        self._show()

    def text(self) -> str:
        if not self.model_offer.isHidden():
            return self.model_offer.text()
        return self.offer.text() or self._words.text()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show_mark()

    def beat(self, swollen: bool) -> None:
        """Draw the mark of a chat that is writing in this half of its pulse."""
        self._swollen = swollen
        if self._shown.state is TabState.WRITING:
            self._show_mark()

    def _show(self) -> None:
        # What waits unread elsewhere is read here, and needs no words.
        unread = self._turn.state is TabState.DONE_UNREAD
        shown = states.IDLE if unread else self._turn
        self._say(states.brief(shown), shown, states.offer(shown))

    def _say(self, words: str, turn: TurnState, offer: str = "") -> None:
        """Show the words, or in their place the offer."""
        of_model = bool(self.model_offer.text()) and not (
            turn.busy or offer or self._hint.isActive()
        )
        self.model_offer.setVisible(of_model)
        self._words.setVisible(not offer and not of_model)
        self._room.setVisible(not offer and not of_model)  # of a narrow line an offer needs all
        self.offer.offer(offer)
        self._words.setText(words)
        self._words.setAccessibleName(words)
        self._shown = turn
        self._show_mark()
        self._mark.setVisible(turn.state is not TabState.IDLE and not of_model)

    def _show_mark(self) -> None:
        icon = marks.icon(self._shown, swollen=self._swollen)
        self._mark.setPixmap(icon.pixmap(icons.small(), icons.small()))
