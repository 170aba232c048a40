"""The keys that lead to a tab: into its page, from wherever beside the tabs they were pressed."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from app.ui import keyboard
from app.ui.tabs import ChatTabs


class TabKeys(QObject):
    """Ctrl+1 to Ctrl+8 for the first tabs, Ctrl+9 for the last; `enter` puts the keyboard into the page in front."""

    def __init__(self, tabs: ChatTabs, enter: Callable[[], None], window: QWidget) -> None:
        super().__init__(window)
        self._tabs, self._enter = tabs, enter
        for number in range(1, 10):
            shortcut = QShortcut(QKeySequence(f"Ctrl+{number}"), window)
            shortcut.setObjectName(f"tab{number}Shortcut")
            shortcut.activated.connect(self._pressed)

    def step(self, by: int) -> None:
        """To the next tab (1), or the one before (-1)."""
        self._tabs.step(by)
        self._go_in()

    def _pressed(self) -> None:
        number = int(self.sender().objectName()[3])
        last = self._tabs.count() - 1
        if number == 9 or number - 1 <= last:
            self._tabs.setCurrentIndex(last if number == 9 else number - 1)
            self._go_in()

    def _go_in(self) -> None:
        if not keyboard.is_in(self._tabs):
            self._enter()
