"""A few buttons in a row of which exactly one is down: which part of a dialog is in view."""

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QWidget

from app.ui import theme


class Segments(QFrame):
    """`chosen` carries the number of the one that is down now, from 0.  `labels` by object name."""

    chosen = Signal(int)

    def __init__(self, labels: Mapping[str, str], name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("segments")
        self.setAccessibleName(name)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(theme.GAP_1)
        for number, (object_name, label) in enumerate(labels.items()):
            button = QPushButton(label, self)
            button.setObjectName(object_name)
            button.setAccessibleName(label)
            button.setProperty("role", "segment")
            button.setCheckable(True)
            button.setChecked(not number)
            button.setAutoDefault(False)
            self._group.addButton(button, number)
            row.addWidget(button)
        self._group.idToggled.connect(self._toggled)

    def _toggled(self, number: int, down: bool) -> None:
        if down:
            self.chosen.emit(number)
