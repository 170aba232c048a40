"""What repeats itself can be stopped: said in the state line, with the two things that can be done."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from app.ui import accessible, keyboard, theme
from app.ui.plain import ElidedLabel


class RepeatOffer(QWidget):
    """Words, Stop and Go on.  `left`: it has gone, and the keyboard was in it."""

    stop_requested = Signal()
    go_on_requested = Signal()
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("repeatOffer")
        self._words = ElidedLabel("", "body", self)
        self._words.setObjectName("repeatText")
        # The words stand before the buttons, and give way to them.
        self._words.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._stop = _button(
            "Stop", "Stop the answer that repeats itself", "repeatStopButton", self
        )
        self._stop.setToolTip("Stop the answer (Esc); what there is of it stays")
        self._go_on = _button("Go on", "Let the answer go on", "repeatGoOnButton", self)
        self._go_on.setToolTip("Let it go on; this is not said again of this answer")
        self._stop.clicked.connect(self.stop_requested)
        self._go_on.clicked.connect(self.go_on_requested)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.GAP_1)
        layout.addWidget(self._words, 0)
        layout.addSpacing(theme.GAP_1)
        layout.addWidget(self._stop, 0)
        layout.addWidget(self._go_on, 0)
        layout.addStretch(1)
        self.hide()

    def in_order(self) -> tuple[QWidget, ...]:
        """Its controls as the Tab key goes through them."""
        return self._stop, self._go_on

    def text(self) -> str:
        """What is offered; "" when nothing is."""
        return self._words.text()

    def offer(self, words: str) -> None:
        """Say these words, or, with "", nothing any more."""
        if words == self.text():
            return
        typing = keyboard.is_in(self)
        self._words.setText(words)
        self._words.setAccessibleName(words)
        self.setAccessibleName(words)
        self.setVisible(bool(words))
        if words and self.isVisible():
            accessible.announce(self, words)
        if typing and not words:
            self.left.emit()


def _button(text: str, name: str, object_name: str, parent: QWidget) -> QPushButton:
    button = QPushButton(text, parent)
    button.setObjectName(object_name)
    button.setAccessibleName(name)
    button.setProperty("role", "inline")
    return button
