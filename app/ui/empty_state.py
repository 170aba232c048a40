"""What an empty chat says: one sentence about the model, and the one thing to do next."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.chat.model_state import ModelPhase, ModelState
from app.paths import STARTER_NAME
from app.ui import theme
from app.ui.plain import Label, one_line
from app.verdict import CHECKING


class EmptyState(QWidget):
    """Shown in place of a transcript without messages."""

    starter_requested = Signal()
    find_requested = Signal()
    file_requested = Signal()

    def __init__(self, starter: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("emptyState")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._has_starter = starter
        self._title = Label("", "title", self)
        self._sentence = Label("", "quiet", self)
        for label in (self._title, self._sentence):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
        self._starter = self._button(f"Chat with {STARTER_NAME}", "starterButton")
        self._find = self._button(
            "Find a better model…" if starter else "Find a model…", "findModelButton"
        )
        self._file = self._button("Open a model file…", "openModelButton")
        self._starter.clicked.connect(self._use_starter)
        self._find.clicked.connect(self._find_one)
        self._file.clicked.connect(self._open_file)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        # The buttons give way (below); they must not keep the window from becoming narrow.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._lay_out()
        self.show_model(ModelState())

    def show_model(self, state: ModelState) -> None:
        """Say what fits this state of the model."""
        title, sentence = _words(state, self._has_starter)
        self._title.setText(title)
        self._sentence.setText(sentence)
        choose = state.phase in (ModelPhase.NONE, ModelPhase.FAILED)
        self._starter.setVisible(choose and self._has_starter)
        self._find.setVisible(choose)
        self._file.setVisible(choose)

    def _button(self, text: str, name: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName(name)
        button.setAccessibleName(text.removesuffix("…"))
        return button

    def _lay_out(self) -> None:
        row = self._row
        row.setSpacing(theme.GAP_3)
        row.addStretch(1)
        primary = self._starter if self._has_starter else self._find
        primary.setProperty("role", "primary")
        self._file.setProperty("role", "list")
        for button in (self._starter, self._find, self._file):
            row.addWidget(button)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.GAP_5, theme.GAP_5, theme.GAP_5, theme.GAP_5)
        layout.setSpacing(theme.GAP_2)
        layout.addStretch(2)
        layout.addWidget(self._title)
        layout.addWidget(self._sentence)
        layout.addSpacing(theme.GAP_3)
        layout.addLayout(row)
        layout.addStretch(3)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Buttons that have no room beside one another stand below one another."""
        super().resizeEvent(event)
        buttons = (self._starter, self._find, self._file)
        beside = sum(one.sizeHint().width() + theme.GAP_3 for one in buttons if not one.isHidden())
        fits = beside <= self.contentsRect().width() - 2 * theme.GAP_5
        way = QBoxLayout.Direction.LeftToRight if fits else QBoxLayout.Direction.TopToBottom
        if way != self._row.direction():
            self._row.setDirection(way)

    def _use_starter(self) -> None:
        self.starter_requested.emit()

    def _find_one(self) -> None:
        self.find_requested.emit()

    def _open_file(self) -> None:
        self.file_requested.emit()


def _words(state: ModelState, has_starter: bool) -> tuple[str, str]:
    name = one_line(state.name or "The model", 60)
    match state.phase:
        case ModelPhase.NONE:
            return "Chat with a model on this computer", _first_words(has_starter)
        case ModelPhase.LOADING:
            return (
                f"{name} is {_doing(state)}, {round(100 * state.fraction)} %",
                "You can write already. Your message goes out when the model is ready.",
            )
        case ModelPhase.FAILED:
            return f"{name} could not be loaded", one_line(state.error, 400)
        case ModelPhase.UNLOADED:
            return "What would you like to ask?", f"{name} loads with your first message."
        case ModelPhase.READY:
            return (
                "What would you like to ask?",
                f"{name} is ready. All open chats answer together.",
            )


def _doing(state: ModelState) -> str:
    return "being checked" if state.doing == CHECKING else "loading"


def _first_words(has_starter: bool) -> str:
    if has_starter:
        return "A small model is here already. Nothing that you write leaves this computer."
    return "Find a model, or open a GGUF file. Nothing that you write leaves this computer."
