"""The exact prompt of a turn: what was fed for its answer, or would be today, with its tokens on demand."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.prompting import PromptText
from app.ui import geometry, theme
from app.ui.plain import Label
from app.ui.prompt_view import CLOSE, OPEN, PromptView
from app.ui.token_list import TokenList

READING = "Counting the tokens of this prompt…"


class PromptDialog(QDialog):
    """Opened before the prompt is there; `show_prompt` or `show_problem` then says what there is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("promptDialog")
        self.setWindowTitle("Exact prompt")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._prompt = PromptText()
        self._note = Label(READING, "body", self)
        self._note.setObjectName("promptNote")
        self._note.setWordWrap(True)
        self._figures = Label("", "quiet", self)
        self._figures.setObjectName("promptFigures")
        self._figures.setWordWrap(True)
        self._view = PromptView("promptView", "Prompt", self)
        self._tokens = TokenList(self)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self._view)
        self._stack.addWidget(self._tokens)
        self._ids = self._button("Show tokens", "promptTokensButton")
        self._ids.setCheckable(True)
        self._ids.toggled.connect(self._show_tokens)
        self._copy = self._button("Copy", "promptCopyButton")
        self._copy.clicked.connect(self._copy_all)
        close = self._button("Close", "closeButton")
        close.setEnabled(True)
        close.setDefault(True)
        close.clicked.connect(self.accept)
        self._lay_out(close)
        geometry.fit_dialog(self, 760, 640)
        close.setFocus()

    def show_prompt(self, prompt: PromptText, note: str) -> None:
        """All of it; `note` says whether it is what was really fed."""
        self._prompt = prompt
        self._note.setText(note)
        self._figures.setText(
            f"{_counted(len(prompt.tokens), 'token')}, of which {_counted(prompt.controls, 'control token')} "
            f"between {OPEN} and {CLOSE}. The answer begins at the end."
        )
        self._view.show_prompt(prompt)
        self._tokens.show_prompt(prompt)
        self._ids.setEnabled(True)
        self._copy.setEnabled(True)

    def show_problem(self, words: str) -> None:
        """There is no prompt to show."""
        self._note.setText(words)

    def _button(self, words: str, name: str) -> QPushButton:
        button = QPushButton(self)
        button.setObjectName(name)
        _name(button, words)
        button.setAutoDefault(False)
        button.setEnabled(False)
        return button

    def _lay_out(self, close: QPushButton) -> None:
        foot = QHBoxLayout()
        foot.setSpacing(theme.GAP_2)
        foot.addWidget(self._ids)
        foot.addWidget(self._copy)
        foot.addStretch(1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GAP_5, theme.GAP_4, theme.GAP_5, theme.GAP_4)
        column.setSpacing(theme.GAP_2)
        column.addWidget(self._note)
        column.addWidget(self._figures)
        column.addWidget(self._stack, 1)
        column.addSpacing(theme.GAP_1)
        column.addLayout(foot)

    def _show_tokens(self, wanted: bool) -> None:
        self._stack.setCurrentWidget(self._tokens if wanted else self._view)
        _name(self._ids, "Show text" if wanted else "Show tokens")
        _name(self._copy, "Copy ids" if wanted else "Copy")

    def _copy_all(self) -> None:
        """What is really there, without the marks that only this dialog puts around it."""
        ids = " ".join(map(str, self._prompt.tokens))
        text = ids if self._ids.isChecked() else self._prompt.text
        QGuiApplication.clipboard().setText(text)


def _name(button: QPushButton, words: str) -> None:
    button.setText(words)
    button.setAccessibleName(words)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
