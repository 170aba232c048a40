"""What can be done from the keyboard: one table for the shortcuts, the menu and the list of shortcuts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.ui import geometry, theme
from app.ui.plain import Label


@dataclass(frozen=True, slots=True)
class Command:
    """`name` is the action's objectName and the window's method in Qt's spelling."""

    name: str
    label: str
    keys: tuple[str, ...]
    in_menu: bool = False


COMMANDS: Final = (
    Command("newChat", "New chat", ("Ctrl+T", "Ctrl+N"), in_menu=True),
    Command("reopenTab", "Open the last closed tab again", ("Ctrl+Shift+T",), in_menu=True),
    Command("closeTab", "Close the tab (the chat stays)", ("Ctrl+W",), in_menu=True),
    Command("nextTab", "Next tab", ("Ctrl+Tab", "Ctrl+PgDown")),
    Command("previousTab", "Previous tab", ("Ctrl+Shift+Tab", "Ctrl+PgUp")),
    Command("stop", "Stop the answer", ("Esc",)),
    Command("stopAll", "Stop all answers", ("Ctrl+Shift+.",), in_menu=True),
    Command("regenerate", "Write the last answer anew", ("Ctrl+R",), in_menu=True),
    Command("renameChat", "Rename the chat", ("F2",), in_menu=True),
    Command(
        "chatSettings", "Instructions and sampling of this chat…", ("Ctrl+Shift+I",), in_menu=True
    ),
    Command("exactPrompt", "Exact prompt of the last answer…", ("Ctrl+Shift+E",), in_menu=True),
    Command("search", "Search chats", ("Ctrl+K",)),
    Command("focusComposer", "Go to the message box", ("Ctrl+L",)),
    Command("toggleSidebar", "Show or hide the list of chats", ("Ctrl+B",), in_menu=True),
    Command("openModel", "Open a model file…", ("Ctrl+O",), in_menu=True),
    Command("findModels", "Find and download models…", ("Ctrl+Shift+M",), in_menu=True),
    Command("promptTemplate", "Prompt template…", ("Ctrl+Shift+P",), in_menu=True),
    Command("settings", "Settings…", ("Ctrl+,",), in_menu=True),
    Command("shortcuts", "Shortcuts…", ("F1", "Ctrl+/"), in_menu=True),
    Command("quit", "Quit", ("Ctrl+Q",), in_menu=True),
)
FIXED: Final = (
    ("Send", "Enter"),
    ("New line", "Shift+Enter"),
    ("Go to tab 1 to 8, to the last tab", "Ctrl+1 to Ctrl+8, Ctrl+9"),
)
"""Keys that belong to a place or are many; listed, but no commands."""


def spelled(keys: Sequence[str]) -> str:
    """Keys as this system writes them."""
    form = QKeySequence.SequenceFormat.NativeText
    return ", ".join(QKeySequence(key).toString(form) for key in keys)


class ShortcutsDialog(QDialog):
    """The list of shortcuts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("shortcutsDialog")
        self.setWindowTitle("Shortcuts")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        page = QWidget(self)
        grid = QGridLayout(page)
        grid.setContentsMargins(theme.GAP_5, theme.GAP_4, theme.GAP_5, theme.GAP_4)
        grid.setHorizontalSpacing(theme.GAP_5)
        grid.setVerticalSpacing(theme.GAP_2)
        rows = [*FIXED, *((item.label.rstrip("…"), spelled(item.keys)) for item in COMMANDS)]
        for number, (label, keys) in enumerate(rows):
            grid.addWidget(Label(label, "body", page), number, 0)
            grid.addWidget(Label(keys, "quiet", page), number, 1)
        grid.setColumnStretch(0, 1)
        area = QScrollArea(self)
        area.setObjectName("shortcutsArea")
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setWidget(page)
        close = QPushButton("Close", self)
        close.setObjectName("closeButton")
        close.setAccessibleName("Close")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, theme.GAP_4)
        layout.addWidget(area, 1)
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignHCenter)
        geometry.fit_dialog(self, 520, 600)
