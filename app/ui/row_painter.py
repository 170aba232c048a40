"""How a row of the list of chats is drawn, and its title edited in place."""

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.chat.events import TurnState
from app.ui import icons, marks, states, theme
from app.ui.conversation_model import ConversationModel, Index, Row, shown_title
from app.ui.fields import TextField
from app.ui.plain import TITLE_LIMIT, isolated


class RowPainter(QStyledItemDelegate):
    """Draws a row: title, mark, word; and edits its title in place."""

    def __init__(self, conversations: ConversationModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._conversations = conversations
        self.swollen = False
        """Which half of their pulse the marks of writing are drawn in."""

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        heading = self._conversations.row(index).conversation is None
        gap = 2 if not heading or index.row() == 0 else theme.GAP_2
        return QSize(0, theme.px(theme.CONTROL) + gap)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = self._conversations.row(index)
        box = QRectF(option.rect).adjusted(0, 1, 0, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.conversation is None:
            self._paint_heading(painter, box, row.heading)
        else:
            self._paint_ground(painter, box, option)
            self._paint_row(painter, box, row)
        painter.restore()

    def _paint_heading(self, painter: QPainter, box: QRectF, heading: str) -> None:
        painter.setFont(theme.body_font(theme.SMALL_PX, bold=True))
        painter.setPen(QColor(theme.tokens().quiet))
        box.setLeft(box.left() + theme.GAP_2)
        box.setBottom(box.bottom() - theme.GAP_1)
        painter.drawText(
            box, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom), heading
        )

    def _paint_ground(self, painter: QPainter, box: QRectF, option: QStyleOptionViewItem) -> None:
        state = option.state
        flag = QStyle.StateFlag
        painter.setPen(Qt.PenStyle.NoPen)
        if state & (flag.State_Selected | flag.State_MouseOver):
            painter.setBrush(QColor(theme.hover_colour()))
            painter.drawRoundedRect(box, 6, 6)
        if state & flag.State_HasFocus:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QColor(theme.tokens().accent))
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _paint_row(self, painter: QPainter, box: QRectF, row: Row) -> None:
        conversation = row.conversation
        if conversation is None:
            return
        inner = _inner(box)
        painter.setFont(theme.body_font(theme.SMALL_PX))
        inner.setRight(inner.right() - self._paint_state(painter, inner, row.turn))
        painter.setFont(theme.body_font(theme.SMALL_PX, bold=conversation.unread))
        painter.setPen(QColor(theme.tokens().text))
        title = painter.fontMetrics().elidedText(
            isolated(shown_title(conversation)), Qt.TextElideMode.ElideRight, int(inner.width())
        )
        painter.drawText(
            inner,
            int(
                Qt.AlignmentFlag.AlignVCenter
                | Qt.AlignmentFlag.AlignLeft
                | Qt.AlignmentFlag.AlignAbsolute
            ),
            title,
        )

    def _paint_state(self, painter: QPainter, inner: QRectF, turn: TurnState) -> float:
        """Draw mark and word at the right; returns the room that they took."""
        word = states.word(turn)
        if not word:
            return 0.0
        painter.setPen(QColor(theme.tokens().quiet))
        painter.drawText(
            inner, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), word
        )
        box = _mark_box(inner, word, painter.fontMetrics())
        marks.paint(painter, box, turn, swollen=self.swollen)
        return inner.right() - box.left() + theme.GAP_2

    def mark_rect(self, row: QRect, turn: TurnState) -> QRect:
        """Where the mark is in a row that is drawn in this place."""
        inner = _inner(QRectF(row))
        metrics = QFontMetrics(theme.body_font(theme.SMALL_PX))
        return _mark_box(inner, states.word(turn), metrics).toAlignedRect()

    def createEditor(
        self, parent: QWidget, _option: QStyleOptionViewItem, _index: Index
    ) -> QWidget:
        field = TextField("renameField", "Title of the chat", parent)
        field.setMaxLength(TITLE_LIMIT)
        self._conversations.hold(True)
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """Once: what happens in the chat meanwhile must not undo what is being typed."""
        if not editor.property("filled"):
            super().setEditorData(editor, index)
            editor.setProperty("filled", True)

    def destroyEditor(self, editor: QWidget, index: Index) -> None:
        super().destroyEditor(editor, index)
        self._conversations.hold(False)

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        """Keep Enter from ending the edit while it belongs to an input method."""
        if (
            event.type() == QEvent.Type.KeyPress
            and isinstance(event, QKeyEvent)
            and isinstance(editor, TextField)
            and editor.holds_back(event)
        ):
            return True
        return super().eventFilter(editor, event)


def _inner(box: QRectF) -> QRectF:
    return box.adjusted(theme.GAP_2, 0, -theme.GAP_2, 0)


def _mark_box(inner: QRectF, word: str, metrics: QFontMetrics) -> QRectF:
    """The mark stands before the word, which stands at the right end of `inner`."""
    side = icons.small()
    left = inner.right() - metrics.horizontalAdvance(word) - theme.GAP_1 - side
    return QRectF(left, inner.center().y() - side / 2, side, side)
