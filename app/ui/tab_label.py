"""What a tab shows: mark, title, word, from the left; how much of it depends on the room that there is.

It lies on the tab as its button on the left, so that it moves with the tab when that is dragged; the mouse goes
through it to the tab.
"""

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.chat.events import TurnState
from app.chat.models import TabState
from app.ui import icons, marks, states, theme
from app.ui.plain import isolated

_GAP = theme.GAP_1 + 2
_BESIDE_WORD, _BESIDE_SHORT = 84, 62
"""What the title keeps beside the word, and beside the short one, px at the usual scale; less where it fits."""


def fitting_word(turn: TurnState, title: float, room: float, metrics: QFontMetricsF) -> str:
    """The longest word for this state that leaves the title what it needs; "" leaves the state to the mark.

    `title` is how wide the title is, `room` what there is for title and word, px.
    """
    for word, kept in ((states.word(turn), _BESIDE_WORD), (states.short_word(turn), _BESIDE_SHORT)):
        needed = metrics.horizontalAdvance(word) + theme.GAP_2 + min(title, theme.px(kept))
        if word and needed <= room:
            return word
    return ""


class TabLabel(QWidget):
    """Paints one tab's content."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.title = ""
        self.turn = states.IDLE
        self._front = False
        self._beside = 0
        self._swollen = False

    def show_tab(self, title: str, turn: TurnState, *, front: bool, beside: int) -> None:
        """Show this, with `beside` px left free at the right; paints only where something differs."""
        if (title, turn, front, beside) != (self.title, self.turn, self._front, self._beside):
            self.title, self.turn, self._front, self._beside = title, turn, front, beside
            self.update()

    def beat(self, swollen: bool) -> None:
        """Paint the mark, and nothing else, in this half of the pulse; only a chat that is writing has one."""
        if self.turn.state is TabState.WRITING:
            self._swollen = swollen
            self.update(self.mark_rect())

    def mark_rect(self) -> QRect:
        """Where the mark is."""
        side = icons.small()
        return QRect(theme.GAP_2, (self.height() - side) // 2, side, side)

    def shown(self) -> tuple[str, str]:
        """The title as far as there is room for it, and the word beside it."""
        metrics = QFontMetricsF(theme.body_font(theme.SMALL_PX))
        room = self._text_rect()
        title = isolated(self.title)
        word = fitting_word(self.turn, metrics.horizontalAdvance(title), room.width(), metrics)
        if word:
            room.setRight(room.right() - metrics.horizontalAdvance(word) - theme.GAP_2)
        return metrics.elidedText(title, Qt.TextElideMode.ElideRight, room.width()), word

    def _text_rect(self) -> QRectF:
        left = theme.GAP_2
        if self.turn.state is not TabState.IDLE:
            left = self.mark_rect().right() + 1 + _GAP
        return QRectF(self.rect()).adjusted(left, 0, -self._beside, 0)

    def paintEvent(self, _: QPaintEvent) -> None:
        title, word = self.shown()
        t = theme.tokens()
        flags = Qt.AlignmentFlag
        with QPainter(self) as painter:
            painter.setFont(theme.body_font(theme.SMALL_PX))
            if self.turn.state is not TabState.IDLE:
                marks.paint(painter, QRectF(self.mark_rect()), self.turn, swollen=self._swollen)
            room = self._text_rect()
            painter.setPen(QColor(t.quiet))
            painter.drawText(room, int(flags.AlignVCenter | flags.AlignRight), word)
            painter.setPen(QColor(t.text if self._front else t.quiet))
            # Left, whatever the direction of the title's script: a row of tabs has one edge.
            left = flags.AlignVCenter | flags.AlignLeft | flags.AlignAbsolute
            painter.drawText(room, int(left), title)
