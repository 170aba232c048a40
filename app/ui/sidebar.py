"""The list of chats: by day, filtered by title as one types, each with the state of its turn.

The model is a thin adapter over the list of conversations; widgets here emit what the user wants and change
nothing by themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QContextMenuEvent, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QMenu,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.chat.events import TurnState
from app.chat.models import Conversation
from app.ui import icons, states, theme
from app.ui.fields import TextField
from app.ui.plain import TITLE_LIMIT, one_line, tooltip

UNTITLED: Final = "New chat"
ROW_ROLE: Final = Qt.ItemDataRole.UserRole
_Index = QModelIndex | QPersistentModelIndex


def shown_title(conversation: Conversation) -> str:
    """The title on one line, or what stands for it."""
    return one_line(conversation.title) or UNTITLED


@dataclass(frozen=True, slots=True)
class Row:
    """A chat, or the heading of the chats below it."""

    heading: str = ""
    conversation: Conversation | None = None
    turn: TurnState = states.IDLE

    @property
    def key(self) -> int | str:
        return self.conversation.id if self.conversation else self.heading


def group(updated: float, today: date) -> str:
    """The heading under which a chat of this time stands."""
    day = datetime.fromtimestamp(updated, tz=UTC).astimezone().date()
    days = (today - day).days
    return "Today" if days <= 0 else "Yesterday" if days == 1 else "Earlier"


def arrange(
    conversations: Sequence[Conversation], turns: dict[int, TurnState], sought: str, today: date
) -> list[Row]:
    """Headings and chats in the order of the list, only those whose title holds `sought`."""
    rows: list[Row] = []
    needle = sought.casefold().strip()
    last = ""
    for conversation in sorted(conversations, key=_newest_first):
        if needle not in shown_title(conversation).casefold():
            continue
        heading = group(conversation.updated, today)
        if heading != last:
            rows.append(Row(heading=heading))
            last = heading
        rows.append(
            Row(conversation=conversation, turn=turns.get(conversation.id, _resting(conversation)))
        )
    return rows


def _newest_first(conversation: Conversation) -> tuple[float, int]:
    return (-conversation.updated, -conversation.id)


def _resting(conversation: Conversation) -> TurnState:
    return states.UNREAD if conversation.unread else states.IDLE


class ConversationModel(QAbstractListModel):
    """The rows of the list."""

    renamed = Signal(int, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._conversations: dict[int, Conversation] = {}
        self._turns: dict[int, TurnState] = {}
        self._hidden: set[int] = set()
        self._sought = ""
        self._rows: list[Row] = []

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def row(self, index: _Index) -> Row:
        return self._rows[index.row()]

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return shown_title(row.conversation) if row.conversation else row.heading
            case Qt.ItemDataRole.EditRole:
                return one_line(row.conversation.title) if row.conversation else ""
            case Qt.ItemDataRole.AccessibleTextRole:
                return _spoken(row)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(_spoken(row)) if row.conversation else None
            case _:
                return None

    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        conversation = self._rows[index.row()].conversation
        title = one_line(str(value))
        if role != Qt.ItemDataRole.EditRole or conversation is None or not title:
            return False
        if title != conversation.title:
            self.renamed.emit(conversation.id, title)
        return True

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if not index.isValid() or self._rows[index.row()].conversation is None:
            return Qt.ItemFlag.NoItemFlags
        flag = Qt.ItemFlag
        return flag.ItemIsSelectable | flag.ItemIsEnabled | flag.ItemIsEditable

    def conversations(self) -> tuple[Conversation, ...]:
        return tuple(self._conversations.values())

    def conversation(self, conversation_id: int) -> Conversation | None:
        return self._conversations.get(conversation_id)

    def set_conversations(self, conversations: Sequence[Conversation]) -> None:
        self._conversations = {item.id: item for item in conversations}
        self.refresh()

    def put(self, conversation: Conversation) -> None:
        """Add a chat, or show what changed of it."""
        self._conversations[conversation.id] = conversation
        self.refresh()

    def remove(self, conversation_id: int) -> None:
        self._conversations.pop(conversation_id, None)
        self._turns.pop(conversation_id, None)
        self._hidden.discard(conversation_id)
        self.refresh()

    def set_hidden(self, conversation_id: int, hidden: bool) -> None:
        """Leave out a chat that is about to be deleted."""
        (self._hidden.add if hidden else self._hidden.discard)(conversation_id)
        self.refresh()

    def set_turn(self, conversation_id: int, turn: TurnState) -> None:
        self._turns[conversation_id] = turn
        self.refresh()

    def seek(self, text: str) -> None:
        self._sought = text
        self.refresh()

    def index_of(self, conversation_id: int) -> QModelIndex:
        for number, row in enumerate(self._rows):
            if row.conversation is not None and row.conversation.id == conversation_id:
                return self.index(number)
        return QModelIndex()

    def refresh(self) -> None:
        """Bring the rows up to date; only a change of order or membership resets the view."""
        shown = [item for key, item in self._conversations.items() if key not in self._hidden]
        today = datetime.now(tz=UTC).astimezone().date()
        rows = arrange(shown, self._turns, self._sought, today)
        if [row.key for row in rows] != [row.key for row in self._rows]:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
            return
        old, self._rows = self._rows, rows
        for number, (before, after) in enumerate(zip(old, rows, strict=True)):
            if before != after:
                self.dataChanged.emit(self.index(number), self.index(number))


def _spoken(row: Row) -> str:
    if row.conversation is None:
        return row.heading
    state = states.sentence(row.turn)
    title = shown_title(row.conversation)
    return f"{title}, {state}" if state else title


class RowPainter(QStyledItemDelegate):
    """Draws a row: title, mark, word; and edits its title in place."""

    def sizeHint(self, _option: QStyleOptionViewItem, index: _Index) -> QSize:
        heading = _row(index).conversation is None
        return QSize(0, theme.CONTROL + (2 if not heading or index.row() == 0 else theme.GAP_2))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row = _row(index)
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
        inner = box.adjusted(theme.GAP_2, 0, -theme.GAP_2, 0)
        painter.setFont(theme.body_font(theme.SMALL_PX))
        inner.setRight(inner.right() - self._paint_state(painter, inner, row.turn))
        painter.setFont(theme.body_font(theme.SMALL_PX, bold=conversation.unread))
        painter.setPen(QColor(theme.tokens().text))
        title = painter.fontMetrics().elidedText(
            shown_title(conversation), Qt.TextElideMode.ElideRight, int(inner.width())
        )
        painter.drawText(
            inner, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), title
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
        taken = painter.fontMetrics().horizontalAdvance(word) + theme.GAP_1 + icons.SMALL
        mark = QRectF(inner.right() - taken, inner.center().y() - 8, icons.SMALL, icons.SMALL)
        colour = icons.mark_colour(turn.state)
        icons.paint_mark(painter, mark, turn.state, states.percent(turn), colour)
        return taken + theme.GAP_2

    def createEditor(
        self, parent: QWidget, _option: QStyleOptionViewItem, _index: _Index
    ) -> QWidget:
        field = TextField("renameField", "Title of the chat", parent)
        field.setMaxLength(TITLE_LIMIT)
        return field

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


def _row(index: _Index) -> Row:
    model = index.model()
    if not isinstance(model, ConversationModel):
        raise TypeError("this delegate draws conversations only")
    return model.row(index)


class ConversationList(QListView):
    """The list; a click or Enter opens, F2 renames, Delete deletes."""

    opened = Signal(int)
    delete_requested = Signal(int)
    settings_requested = Signal(int)

    def __init__(self, model: ConversationModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("conversationList")
        self.setAccessibleName("Chats")
        self.setModel(model)
        self._model = model
        self._wanted: int | None = None
        self.setItemDelegate(RowPainter(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.clicked.connect(self._open)
        model.modelReset.connect(self._reselect)

    def select(self, conversation_id: int | None) -> None:
        """Show which chat is in front."""
        self._wanted = conversation_id
        self._reselect()

    def chosen(self) -> int | None:
        """The chat under the keyboard."""
        return self._id(self.currentIndex())

    def editing(self) -> bool:
        return self.state() == QAbstractItemView.State.EditingState

    def rename_chosen(self) -> None:
        index = self.currentIndex()
        if self._id(index) is not None:
            self.edit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        chosen = self.chosen()
        if chosen is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not event.isAutoRepeat():
                self.opened.emit(chosen)
        elif chosen is not None and event.key() == Qt.Key.Key_Delete:
            self.delete_requested.emit(chosen)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index = self.indexAt(event.pos())
        if self._id(index) is not None:
            self.setCurrentIndex(index)
            self._menu(event.globalPos())

    def _menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setObjectName("conversationMenu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Open", self._open_chosen)
        menu.addAction("Rename", self.rename_chosen)
        menu.addAction("Instructions and sampling…", self._settings_chosen)
        menu.addSeparator()
        menu.addAction("Delete", self._delete_chosen)
        menu.popup(place)

    def _open_chosen(self) -> None:
        self._open(self.currentIndex())

    def _open(self, index: _Index) -> None:
        conversation_id = self._id(index)
        if conversation_id is not None:
            self.opened.emit(conversation_id)

    def _delete_chosen(self) -> None:
        if (chosen := self.chosen()) is not None:
            self.delete_requested.emit(chosen)

    def _settings_chosen(self) -> None:
        if (chosen := self.chosen()) is not None:
            self.settings_requested.emit(chosen)

    def _id(self, index: _Index) -> int | None:
        conversation = self._model.row(index).conversation if index.isValid() else None
        return conversation.id if conversation else None

    def _reselect(self) -> None:
        if self._wanted is None:
            self.clearSelection()
            return
        index = self._model.index_of(self._wanted)
        if index.isValid() and index != self.currentIndex():
            self.setCurrentIndex(index)


class Sidebar(QFrame):
    """New chat, search, the list, settings."""

    new_requested = Signal()
    settings_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.setFixedWidth(theme.SIDEBAR)
        self.model = ConversationModel(self)
        self.list = ConversationList(self.model, self)
        self.search = TextField("searchField", "Search chats", self)
        self.search.setPlaceholderText("Search")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self.model.seek)
        new = icons.ListButton("plus", "New chat", "newChatButton", self)
        new.setToolTip("New chat (Ctrl+N)")
        settings = icons.ListButton("settings", "Settings", "settingsButton", self)
        settings.setToolTip("Settings (Ctrl+,)")
        new.clicked.connect(self._new)
        settings.clicked.connect(self._show_settings)
        self._lay_out(new, settings)

    def _lay_out(self, new: QPushButton, settings: QPushButton) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.GAP_2, theme.GAP_2, theme.GAP_2, theme.GAP_1)
        layout.setSpacing(theme.GAP_2)
        layout.addWidget(new)
        layout.addWidget(self.search)
        layout.addWidget(self.list, 1)
        layout.addWidget(settings)

    def _new(self) -> None:
        self.new_requested.emit()

    def _show_settings(self) -> None:
        self.settings_requested.emit()
