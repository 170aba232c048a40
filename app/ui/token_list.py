"""The tokens of a prompt one below the other: place, id, and what it stands for.  Only what is in view costs anything."""

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QListView, QWidget

from app.prompting import PromptText
from app.ui import theme
from app.ui.prompt_view import CLOSE, OPEN
from app.ui.visible import shown

_LONGEST = 200
_BATCH = 1_000
Index = QModelIndex | QPersistentModelIndex


class TokenModel(QAbstractListModel):
    """One row for each token."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._prompt = PromptText()

    def show_prompt(self, prompt: PromptText) -> None:
        self.beginResetModel()
        self._prompt = prompt
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._prompt.tokens)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role != Qt.ItemDataRole.DisplayRole or not index.isValid():
            return None
        row = index.row()
        return f"{row + 1:>7,}  {self._prompt.tokens[row]:>7}  {self._words(row)}"

    def _words(self, row: int) -> str:
        text = self._prompt.texts[row][:_LONGEST]
        if self._prompt.tokens[row] in self._prompt.control:
            return f"{OPEN}{shown(text)}{CLOSE}"
        return shown(text, also=OPEN + CLOSE).replace("\n", "↵").replace("\t", "⇥")


class TokenList(QListView):
    """Shows a `TokenModel`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("promptTokens")
        self.setAccessibleName("Tokens: place, id and text")
        self.setFont(theme.mono_font())
        self.setUniformItemSizes(True)
        self.setLayoutMode(
            QListView.LayoutMode.Batched
        )  # of a long prompt only some rows at a time
        self.setBatchSize(_BATCH)
        self._model = TokenModel(self)
        self.setModel(self._model)

    def show_prompt(self, prompt: PromptText) -> None:
        self._model.show_prompt(prompt)
