"""What a tab shows: mark, title, word, from the left, with the word always whole.

It lies on the tab as its button on the left, so that it moves with the tab when that is dragged; the mouse goes
through it to the tab.
"""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.chat.events import TurnState
from app.chat.models import TabState
from app.ui import icons, states, theme
from app.ui.plain import isolated


class TabLabel(QWidget):
    """Paints one tab's content."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.title = ""
        self.turn = states.IDLE
        self._front = False

    def show_tab(self, title: str, turn: TurnState, *, front: bool) -> None:
        """Show this; paints only where something differs."""
        if (title, turn, front) != (self.title, self.turn, self._front):
            self.title, self.turn, self._front = title, turn, front
            self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(theme.body_font(theme.SMALL_PX))
        room = QRectF(self.rect()).adjusted(theme.GAP_2, 0, 0, 0)
        if self.turn.state is not TabState.IDLE:
            self._paint_mark(painter, room)
            room.setLeft(room.left() + icons.SMALL + theme.GAP_2 - 2)
        word = states.word(self.turn)
        if word:
            painter.setPen(QColor(theme.tokens().quiet))
            painter.drawText(
                room, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), word
            )
            room.setRight(
                room.right() - painter.fontMetrics().horizontalAdvance(word) - theme.GAP_2
            )
        self._paint_title(painter, room)

    def _paint_mark(self, painter: QPainter, room: QRectF) -> None:
        box = QRectF(room.left(), room.center().y() - icons.SMALL / 2, icons.SMALL, icons.SMALL)
        state = self.turn.state
        icons.paint_mark(painter, box, state, states.percent(self.turn), icons.mark_colour(state))

    def _paint_title(self, painter: QPainter, room: QRectF) -> None:
        t = theme.tokens()
        painter.setPen(QColor(t.text if self._front else t.quiet))
        title = painter.fontMetrics().elidedText(
            isolated(self.title), Qt.TextElideMode.ElideRight, int(room.width())
        )
        # Left, whatever the direction of the title's script: a row of tabs has one edge.
        flags = (
            Qt.AlignmentFlag.AlignVCenter
            | Qt.AlignmentFlag.AlignLeft
            | Qt.AlignmentFlag.AlignAbsolute
        )
        painter.drawText(room, int(flags), title)
