"""How the parts of the window stand beside one another."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QVBoxLayout, QWidget

from app.ui import theme
from app.ui.commands import COMMANDS
from app.ui.icons import IconButton
from app.ui.tabs import ChatTabs

_L = TypeVar("_L", QVBoxLayout, QHBoxLayout)


def central(sidebar: QWidget, tabs: QWidget, notice: QWidget, status: QWidget) -> QWidget:
    """Side and tabs, the notice below the tabs in the column of the text, the status line below all."""
    middle = QWidget()
    column = _plain(QVBoxLayout(middle))
    column.addWidget(tabs, 1)
    column.addWidget(_notice_row(notice))
    across = _plain(QHBoxLayout())
    across.addWidget(sidebar)
    across.addWidget(middle, 1)
    whole = QWidget()
    rows = _plain(QVBoxLayout(whole))
    rows.addLayout(across, 1)
    rows.addWidget(status)
    return whole


def fill_corners(tabs: ChatTabs, model_button: QWidget, actions: Mapping[str, QAction]) -> None:
    """The controls beside the tabs; `actions` are the window's, by the names of `commands.COMMANDS`."""
    side = IconButton("sidebar", "Show or hide the list of chats", "sidebarButton", tabs)
    side.setToolTip("List of chats (Ctrl+B)")
    side.clicked.connect(actions["toggleSidebar"].trigger)
    plus = IconButton("plus", "New chat", "newTabButton", tabs)
    plus.setToolTip("New chat (Ctrl+T)")
    plus.clicked.connect(actions["newChat"].trigger)
    menu_button = IconButton("menu", "Menu", "menuButton", tabs)
    menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    menu_button.setMenu(_menu(menu_button, actions))
    tabs.add_corner(side, left=True)
    for widget in (plus, model_button, menu_button):
        tabs.add_corner(widget)


_ORDER = (
    "newChatButton",
    "searchField",
    "conversationList",
    "settingsButton",
    "sidebarButton",
    "chatTabBar",
    "newTabButton",
    "modelButton",
    "menuButton",
    "noticeAction",
    "noticeDismiss",
    "cancelLoadButton",
    "stopAllButton",
)
"""How the Tab key goes through what is always there: the side from the top, then the row of tabs, then notices."""


def order_focus(window: QWidget) -> None:
    """Let the Tab key go through the window as the eye does; the pages come after, each in its own order."""
    found = [window.findChild(QWidget, name) for name in _ORDER]
    controls = [control for control in found if control is not None]
    for before, after in pairwise(controls):
        QWidget.setTabOrder(before, after)


def _menu(parent: QWidget, actions: Mapping[str, QAction]) -> QMenu:
    menu = QMenu(parent)
    menu.setObjectName("mainMenu")
    for command in COMMANDS:
        if command.in_menu:
            menu.addAction(actions[command.name])
    return menu


def _notice_row(notice: QWidget) -> QWidget:
    row = QWidget()
    row.setObjectName("noticeRow")
    row.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    layout = QHBoxLayout(row)
    layout.setContentsMargins(theme.GAP_4, 0, theme.GAP_4, theme.GAP_2)
    layout.addStretch(1)
    layout.addWidget(notice, 1000)
    layout.addStretch(1)
    return row


def _plain(layout: _L) -> _L:
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    return layout
