"""What a tab shows: its title, and below it the state of its chat, a mark and as many words as there is room for.

It lies on the tab as its button on the left, so that it moves with the tab when that is dragged; the mouse goes
through it to the tab.
"""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.chat.events import TurnState
from app.chat.models import TabState
from app.ui import icons, marks, states, theme
from app.ui.plain import isolated

_LINE = 18
"""Height of a line, px at the usual scale."""
_INSET = 3
"""What the shape of a mark leaves free of its square at the left: the shape stands below the title's first letter."""


def fitting(words: Sequence[str], room: float, metrics: QFontMetricsF) -> str:
    """The first of these that fits; "" leaves the state to the mark, the tool tip and the line above the composer."""
    return next((word for word in words if metrics.horizontalAdvance(word) <= room), "")


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
        """Where the mark is, beside the words."""
        side, line = icons.small(), self._lines()[1]
        return QRect(theme.GAP_2 - _INSET, line.top() + (line.height() - side) // 2, side, side)

    def text_rect(self) -> QRect:
        """Where there may be text."""
        return self.rect().adjusted(theme.GAP_2, 0, -self._beside, 0)

    def shown(self) -> tuple[str, str]:
        """The title as far as there is room for it, and the words below it."""
        metrics = QFontMetricsF(theme.body_font(theme.SMALL_PX))
        title = metrics.elidedText(
            isolated(self.title), Qt.TextElideMode.ElideRight, self.text_rect().width()
        )
        return title, fitting(states.words(self.turn), self._word_rect().width(), metrics)

    def _lines(self) -> tuple[QRect, QRect]:
        """The line of the title and that of the words; where there are none, the title has the middle."""
        whole, line = self.text_rect(), theme.px(_LINE)
        if self.turn.state is TabState.IDLE:
            return whole, whole
        top = (whole.height() - 2 * line) // 2
        first = QRect(whole.left(), top, whole.width(), line)
        return first, first.translated(0, line)

    def _word_rect(self) -> QRect:
        line = self._lines()[1]
        line.setLeft(self.mark_rect().right() + 1 + theme.GAP_1)
        return line

    def paintEvent(self, _: QPaintEvent) -> None:
        title, word = self.shown()
        t = theme.tokens()
        # Left, whatever the direction of the title's script: a row of tabs has one edge.
        flags = Qt.AlignmentFlag
        left = int(flags.AlignVCenter | flags.AlignLeft | flags.AlignAbsolute)
        with QPainter(self) as painter:
            painter.setFont(theme.body_font(theme.SMALL_PX))
            painter.setPen(QColor(t.text if self._front else t.quiet))
            painter.drawText(self._lines()[0], left, title)
            if self.turn.state is not TabState.IDLE:
                painter.setPen(QColor(t.quiet))
                painter.drawText(self._word_rect(), left, word)
                marks.paint(painter, QRectF(self.mark_rect()), self.turn, swollen=self._swollen)
