"""A chat that goes on with another model than is loaded: said in the state line, with the way to stay with this one."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from app.ui import keyboard, theme
from app.ui.plain import ElidedLabel, without_mnemonics


class ModelOffer(QWidget):
    """Words and one button.  `left`: it has gone, and the keyboard was in it."""

    use_requested = Signal()
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("modelOffer")
        self._words = ElidedLabel("", "quiet", self)
        self._words.setObjectName("modelOfferText")
        # The words stand before the button, and give way to it.
        self._words.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._use = QPushButton(self)
        self._use.setObjectName("modelOfferButton")
        self._use.setProperty("role", "inline")
        self._use.clicked.connect(self.use_requested)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.GAP_2)
        layout.addWidget(self._words, 0)
        layout.addWidget(self._use, 0)
        layout.addStretch(1)
        self.hide()

    def in_order(self) -> tuple[QWidget, ...]:
        """Its controls as the Tab key goes through them."""
        return (self._use,)

    def text(self) -> str:
        """What is said; "" when nothing is."""
        return self._words.text()

    def offer(self, words: str, action: str) -> None:
        """Say these words, with "" nothing any more; without an `action` there is no button."""
        typing = keyboard.is_in(self)
        self._words.setText(words)
        self._words.setAccessibleName(words)
        self.setAccessibleName(words)
        self._use.setText(without_mnemonics(action))
        self._use.setAccessibleName(action)
        self._use.setVisible(bool(action))
        if typing and not action:
            self.left.emit()
