"""The row of tabs: one chat each, with its state as a mark and words below the title."""

from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QHoverEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QTabBar, QTabWidget, QToolButton, QWidget

from app.chat.events import TurnState
from app.ui import icons, states, theme
from app.ui.plain import isolated, one_line, tooltip, without_mnemonics
from app.ui.tab_label import TabLabel

WIDEST: Final = 216
NARROWEST: Final = 96
"""Bounds of a tab's width, px at the usual scale: tabs shrink before the row scrolls."""
_READABLE = 148
"""Width at which title and state in words can be read; what is beyond it for all tabs is for others to take."""
_HEIGHT = 44
"""Two lines of text, px at the usual scale."""
_EDGES = 12
"""What a tab's borders and margins take of its width, px."""
_CLOSE = 20
_LEFT, _RIGHT = QTabBar.ButtonPosition.LeftSide, QTabBar.ButtonPosition.RightSide


class TabBar(QTabBar):
    """Tabs of one width, which shrinks as they become many; a middle click closes.

    `hovered` is the tab under the mouse, -1 for none, as Qt counts; `hovered_changed` tells of another.
    """

    hovered_changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chatTabBar")
        self.setAccessibleName("Open chats")
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self.setExpanding(False)
        self.setUsesScrollButtons(True)
        self.setDrawBase(False)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.hovered = -1
        self._room = 0

    def set_room(self, room: int) -> None:
        """How many pixels there are for all tabs."""
        before, self._room = self.tab_width(), room
        if self.tab_width() != before:
            # The one thing that makes Qt ask for the sizes of the tabs again.
            self.setElideMode(self.elideMode())

    def tab_width(self) -> int:
        each = self._room // max(1, self.count())
        return max(theme.px(NARROWEST), min(theme.px(WIDEST), each))

    def tabSizeHint(self, _: int) -> QSize:
        return QSize(self.tab_width(), theme.px(_HEIGHT))

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHoverEvent):
            left = event.type() == QEvent.Type.HoverLeave
            self._hover(-1 if left else self.tabAt(event.position().toPoint()))
        return super().event(event)

    def _hover(self, index: int) -> None:
        if index != self.hovered:
            self.hovered = index
            self.hovered_changed.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.MiddleButton:
            super().mouseReleaseEvent(event)
            return
        # Newer versions of Qt close here by themselves: never both.
        index = self.tabAt(event.position().toPoint())
        if index >= 0:
            self.tabCloseRequested.emit(index)


class _Corner(QWidget):
    """Controls beside the tabs, as high as these: by its hint, for that is what Qt places a corner by."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedHeight(theme.px(_HEIGHT))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.GAP_2, theme.GAP_1, theme.GAP_2, theme.GAP_1)
        layout.setSpacing(theme.GAP_1)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.height())


class ChatTabs(QTabWidget):
    """Shows pages; opens and closes nothing by itself."""

    new_requested = Signal()
    order_changed = Signal()
    spare_changed = Signal(int)
    """How many pixels of the row the corners together may have."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spare = 0
        self.setObjectName("chatTabs")
        self.setAccessibleName("Open chats")
        self._titles: dict[QWidget, str] = {}
        self._turns: dict[QWidget, TurnState] = {}
        self._spoken: dict[QWidget, str] = {}
        self._bar = TabBar(self)
        self.setTabBar(self._bar)
        # The row of tabs alone takes the focus; with its frame in the way, Tab would lead round and round.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._bar.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMovable(True)
        self.setTabsClosable(True)
        self._left, self._right = _Corner(self), _Corner(self)
        self.setCornerWidget(self._left, Qt.Corner.TopLeftCorner)
        self.setCornerWidget(self._right, Qt.Corner.TopRightCorner)
        self._bar.tabMoved.connect(self._moved)
        self._bar.hovered_changed.connect(self.redraw)
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
        self._bar.setTabButton(place, _LEFT, TabLabel(self._bar))
        unnamed = self._bar.tabButton(place, _RIGHT)
        self._bar.setTabButton(place, _RIGHT, self._close_button())
        if unnamed is not None:
            # Qt's own close button is only hidden when another takes its place.
            unnamed.deleteLater()
        self._refit()

    def take(self, page: QWidget) -> None:
        """Remove the tab; the page stays with the caller."""
        self.removeTab(self.indexOf(page))
        self._titles.pop(page, None)
        self._turns.pop(page, None)
        self._spoken.pop(page, None)
        self._refit()

    def set_title(self, page: QWidget, title: str) -> None:
        self._titles[page] = title
        self._show(page)

    def set_turn(self, page: QWidget, turn: TurnState) -> None:
        """Show the state of a turn: mark, word, tool tip, accessible name."""
        if self._turns.get(page) != turn:
            self._turns[page] = turn
            self._show(page)

    def beat(self, swollen: bool) -> None:
        """Draw the marks of the chats that are writing in this half of their pulse."""
        for index in range(self.count()):
            label = self._bar.tabButton(index, _LEFT)
            if isinstance(label, TabLabel):
                label.beat(swollen)

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

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # the corners may need another width
            self._refit()
        return handled

    def _refit(self) -> None:
        corners = self._left.sizeHint().width() + self._right.sizeHint().width()
        self._bar.set_room(self.width() - corners)
        self.redraw()
        spare = self.width() - self.count() * theme.px(_READABLE)
        if spare != self._spare:
            self._spare = spare
            self.spare_changed.emit(spare)

    def _show(self, page: QWidget) -> None:
        index, turn = self.indexOf(page), self._turns[page]
        title, state = one_line(self._titles[page]), states.sentence(turn)
        self._speak(page, index, title, state)
        front = index == self.currentIndex()
        button = self._bar.tabButton(index, _RIGHT)
        closable = front or index == self._bar.hovered
        if button is not None:
            button.setVisible(closable)
            button.raise_()
        label = self._bar.tabButton(index, _LEFT)
        if isinstance(label, TabLabel):
            size = QSize(self._bar.tab_width() - _EDGES, theme.px(_HEIGHT))
            if label.size() != size:
                label.setFixedSize(size)
            beside = theme.px(_CLOSE) + theme.GAP_1 if closable else theme.GAP_1
            label.show_tab(title, turn, front=front, beside=beside)

    def _speak(self, page: QWidget, index: int, title: str, state: str) -> None:
        """Put title and state into the texts behind the picture."""
        spoken = f"{isolated(title)}, {state}" if state else title
        if self._spoken.get(page) == spoken:
            return
        self._spoken[page] = spoken
        text = without_mnemonics(title)
        if text != self.tabText(index):  # each setting lays all tabs out anew
            self.setTabText(index, text)
        self.setTabToolTip(index, tooltip(spoken))
        self._bar.setAccessibleTabName(index, spoken)
        button = self._bar.tabButton(index, _RIGHT)
        if button is not None:
            button.setAccessibleName(f"Close {title}")

    def _close_button(self) -> QToolButton:
        button = icons.IconButton("close", "Close", "closeTabButton", self._bar)
        button.setProperty("role", "tabClose")
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setFixedSize(theme.px(_CLOSE), theme.px(_CLOSE))
        button.relabel("Close", "Close (Ctrl+W)")
        button.clicked.connect(self._close_clicked)
        return button

    def _close_clicked(self) -> None:
        button = self.sender()
        for index in range(self.count()):
            if self._bar.tabButton(index, _RIGHT) is button:
                self.tabCloseRequested.emit(index)
                return

    def _front_changed(self, _: int) -> None:
        self.redraw()

    def _moved(self, *_: int) -> None:
        self.order_changed.emit()
