"""Pages of a dialog that is too much for one: their names stand at the left, and the one that is chosen at the right."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QStackedWidget,
    QWidget,
)

from app.ui import theme
from app.ui.form_page import scrolling_page
from app.ui.plain import Label

_NAMES = 152
"""Width of the names, px at the usual scale."""


class Sections(QWidget):
    """Each page scrolls by itself and keeps its place."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names = QListWidget(self)
        self._names.setObjectName("sectionList")
        self._names.setAccessibleName("Sections")
        self._names.setFrameShape(QFrame.Shape.NoFrame)
        self._names.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._names.setFixedWidth(theme.px(_NAMES))
        self._stack = QStackedWidget(self)
        self._names.currentRowChanged.connect(self._stack.setCurrentIndex)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._names)
        row.addWidget(self._stack, 1)

    @property
    def names(self) -> list[str]:
        """Of all pages, in their order."""
        return [self._names.item(row).text() for row in range(self._names.count())]

    def add(self, name: str, note: str, *parts: QWidget) -> None:
        """A page with its heading, what there is to say about it, and its rows."""
        area, column = scrolling_page(self, "sectionArea", theme.GAP_3)
        column.addWidget(Label(name, "heading"))
        if note:
            words = Label(note, "quiet")
            words.setWordWrap(True)
            column.addWidget(words)
        for part in parts:
            column.addWidget(part)
        column.addStretch(1)
        self._stack.addWidget(area)
        self._names.addItem(name)
        if self._names.currentRow() < 0:
            self._names.setCurrentRow(0)

    def show_page(self, name: str) -> None:
        """Turn to the page of this name; raises ValueError where there is none."""
        self._names.setCurrentRow(self.names.index(name))
