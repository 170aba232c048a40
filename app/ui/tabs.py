"""The row of tabs: one chat each, with its state as a mark and a word beside the title."""

from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QTabBar, QTabWidget, QToolButton, QWidget

from app.chat.events import TurnState
from app.ui import icons, states, theme
from app.ui.plain import isolated, one_line, tooltip, without_mnemonics
from app.ui.tab_label import TabLabel

WIDEST: Final = 216
NARROWEST: Final = 172
_HEIGHT = 36
_BESIDE = 36
"""What the close button and the gaps take of a tab's width."""


class TabBar(QTabBar):
    """Tabs of one width, which shrinks as they become many; a middle click closes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chatTabBar")
        self.setAccessibleName("Open chats")
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self.setExpanding(False)
        self.setUsesScrollButtons(True)
        self.setDrawBase(False)
        self._room = 0

    def set_room(self, room: int) -> None:
        """How many pixels there are for all tabs."""
        self._room = room

    def tab_width(self) -> int:
        each = self._room // max(1, self.count())
        return max(NARROWEST, min(WIDEST, each))

    def tabSizeHint(self, _: int) -> QSize:
        return QSize(self.tab_width(), _HEIGHT)

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.MiddleButton:
            super().mouseReleaseEvent(event)
            return
        # Newer versions of Qt close here by themselves: never both.
        index = self.tabAt(event.position().toPoint())
        if index >= 0:
            self.tabCloseRequested.emit(index)


class ChatTabs(QTabWidget):
    """Shows pages; opens and closes nothing by itself."""

    new_requested = Signal()
    order_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatTabs")
        self.setAccessibleName("Open chats")
        self._titles: dict[QWidget, str] = {}
        self._turns: dict[QWidget, TurnState] = {}
        self._bar = TabBar(self)
        self.setTabBar(self._bar)
        self.setMovable(True)
        self.setTabsClosable(True)
        self._left, self._right = _corner(self), _corner(self)
        self.setCornerWidget(self._left, Qt.Corner.TopLeftCorner)
        self.setCornerWidget(self._right, Qt.Corner.TopRightCorner)
        self._bar.tabMoved.connect(self._moved)
        self.currentChanged.connect(self._front_changed)

    def add_corner(self, widget: QWidget, *, left: bool = False) -> None:
        """Put a control beside the tabs."""
        layout = (self._left if left else self._right).layout()
        if layout is not None:
            layout.addWidget(widget)

    def insert(self, index: int, page: QWidget, title: str) -> None:
        """Show `page` as a tab at `index`."""
        self._titles[page], self._turns[page] = title, states.IDLE
        place = self.insertTab(index, page, "")
        self._bar.setTabButton(place, QTabBar.ButtonPosition.LeftSide, TabLabel(self._bar))
        unnamed = self._bar.tabButton(place, QTabBar.ButtonPosition.RightSide)
        self._bar.setTabButton(place, QTabBar.ButtonPosition.RightSide, self._close_button())
        if unnamed is not None:
            # Qt's own close button is only hidden when another takes its place.
            unnamed.deleteLater()
        self._refit()

    def take(self, page: QWidget) -> None:
        """Remove the tab; the page stays with the caller."""
        self.removeTab(self.indexOf(page))
        self._titles.pop(page, None)
        self._turns.pop(page, None)
        self._refit()

    def set_title(self, page: QWidget, title: str) -> None:
        self._titles[page] = title
        self._show(page)

    def set_turn(self, page: QWidget, turn: TurnState) -> None:
        """Show the state of a turn: mark, word, tool tip, accessible name."""
        if self._turns.get(page) != turn:
            self._turns[page] = turn
            self._show(page)

    def step(self, by: int) -> None:
        """Go to the next tab, or the one before, round the ends."""
        if self.count():
            self.setCurrentIndex((self.currentIndex() + by) % self.count())

    def redraw(self) -> None:
        """Draw the marks anew, in the colours of another theme."""
        for page in self._titles:
            self._show(page)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._refit()

    def _refit(self) -> None:
        corners = self._left.sizeHint().width() + self._right.sizeHint().width()
        self._bar.set_room(self.width() - corners)
        self.redraw()

    def _show(self, page: QWidget) -> None:
        index, turn = self.indexOf(page), self._turns[page]
        title, state = one_line(self._titles[page]), states.sentence(turn)
        spoken = f"{isolated(title)}, {state}" if state else title
        text = without_mnemonics(title)
        if text != self.tabText(index):  # each setting lays all tabs out anew
            self.setTabText(index, text)
        self.setTabToolTip(index, tooltip(spoken))
        self._bar.setAccessibleTabName(index, spoken)
        label = self._bar.tabButton(index, QTabBar.ButtonPosition.LeftSide)
        if isinstance(label, TabLabel):
            if label.width() != self._bar.tab_width() - _BESIDE:
                label.setFixedSize(self._bar.tab_width() - _BESIDE, _HEIGHT)
            label.show_tab(title, turn, front=index == self.currentIndex())
        button = self._bar.tabButton(index, QTabBar.ButtonPosition.RightSide)
        if button is not None:
            button.setAccessibleName(f"Close {title}")

    def _close_button(self) -> QToolButton:
        button = icons.IconButton("close", "Close", "closeTabButton", self._bar)
        button.setProperty("role", "tabClose")
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setFixedSize(20, 20)
        button.relabel("Close", "Close (Ctrl+W)")
        button.clicked.connect(self._close_clicked)
        return button

    def _close_clicked(self) -> None:
        button = self.sender()
        for index in range(self.count()):
            if self._bar.tabButton(index, QTabBar.ButtonPosition.RightSide) is button:
                self.tabCloseRequested.emit(index)
                return

    def _front_changed(self, _: int) -> None:
        self.redraw()

    def _moved(self, *_: int) -> None:
        self.order_changed.emit()


def _corner(parent: QWidget) -> QWidget:
    corner = QWidget(parent)
    layout = QHBoxLayout(corner)
    layout.setContentsMargins(theme.GAP_2, theme.GAP_1, theme.GAP_2, theme.GAP_1)
    layout.setSpacing(theme.GAP_1)
    return corner
