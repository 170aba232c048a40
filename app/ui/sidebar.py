"""The side of the window: new chat, search, the list of chats, settings.

Widgets here emit what the user wants and change nothing by themselves.
"""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QColor, QContextMenuEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui import icons, theme
from app.ui.conversation_model import ConversationModel, Index
from app.ui.fields import TextField
from app.ui.row_painter import RowPainter

NOTHING = "No chat has this in its title."
"""What the list says when nothing was found."""
_SHARE = 0.36
"""Of the window's width, the most that the side takes."""
_NARROWEST = 180


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
        self._painter = RowPainter(model, self)
        self.setItemDelegate(self._painter)
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

    def beat(self, swollen: bool) -> None:
        """Draw the marks of the chats that are writing, and nothing else, in this half of their pulse."""
        self._painter.swollen = swollen
        for index in self._model.writing():
            row = self.visualRect(index)
            if row.intersects(self.viewport().rect()):
                turn = self._model.row(index).turn
                self.viewport().update(self._painter.mark_rect(row, turn))

    def chosen(self) -> int | None:
        """The chat under the keyboard."""
        return self._id(self.currentIndex())

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

    def dataChanged(self, first: Index, last: Index, roles: Sequence[int] = ()) -> None:
        """Draw the row anew.  Its height never changes, so that the list need not be laid out, and drawn, as a whole."""
        QAbstractItemView.dataChanged(self, first, last, roles)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._model.rowCount():
            flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft
            room = self.viewport().rect().adjusted(theme.GAP_2, theme.GAP_2, -theme.GAP_2, 0)
            with QPainter(self.viewport()) as painter:
                painter.setPen(QColor(theme.tokens().quiet))
                painter.drawText(room, flags | Qt.TextFlag.TextWordWrap, NOTHING)

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

    def _open(self, index: Index) -> None:
        conversation_id = self._id(index)
        if conversation_id is not None:
            self.opened.emit(conversation_id)

    def _delete_chosen(self) -> None:
        if (chosen := self.chosen()) is not None:
            self.delete_requested.emit(chosen)

    def _settings_chosen(self) -> None:
        if (chosen := self.chosen()) is not None:
            self.settings_requested.emit(chosen)

    def _id(self, index: Index) -> int | None:
        conversation = self._model.row(index).conversation if index.isValid() else None
        return conversation.id if conversation else None

    def _reselect(self) -> None:
        if self._wanted is None:
            self.clearSelection()
            return
        index = self._model.index_of(self._wanted)
        if index.isValid() and index != self.currentIndex():
            self.setCurrentIndex(index)


class SearchField(TextField):
    """What titles are searched for; Esc empties it before it means anything else."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__("searchField", "Search chats", parent)
        self.setPlaceholderText("Search")
        self.setClearButtonEnabled(True)
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        clear = self.findChild(QAction)
        if clear is not None:  # Qt's own picture is made for light grounds
            clear.setIcon(icons.icon("close", theme.tokens().quiet))

    def event(self, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self.text()
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.clear()
        else:
            super().keyPressEvent(event)


class Sidebar(QFrame):
    """New chat, search, the list, settings."""

    new_requested = Signal()
    settings_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.fit(0)
        self.model = ConversationModel(self)
        self.list = ConversationList(self.model, self)
        self.search = SearchField(self)
        self.search.textChanged.connect(self.model.seek)
        new = icons.ListButton("plus", "New chat", "newChatButton", self)
        new.setToolTip("New chat (Ctrl+N)")
        settings = icons.ListButton("settings", "Settings", "settingsButton", self)
        settings.setToolTip("Settings (Ctrl+,)")
        new.clicked.connect(self._new)
        settings.clicked.connect(self._show_settings)
        self._lay_out(new, settings)

    def fit(self, window: int) -> None:
        """Be as wide as the text asks for, but leave the chat most of a window of this width, px."""
        wanted = theme.px(theme.SIDEBAR)
        self.setFixedWidth(
            min(wanted, max(_NARROWEST, round(_SHARE * window))) if window else wanted
        )

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
