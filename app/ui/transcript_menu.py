"""The menu of the transcript: what can be done with the selection, and with the message that it was opened on."""

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

translate = QCoreApplication.translate


class TranscriptMenu(QMenu):
    """Goes away when it was used.  `message` is the number of a message, 0 for none."""

    copy_chosen = Signal()
    all_chosen = Signal()
    prompt_chosen = Signal(int)

    def __init__(self, message: int, *, selected: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("transcriptMenu")
        self._message = message
        copy = self._action(translate("Transcript", "Copy"), "copyAction")
        copy.setEnabled(selected)
        copy.triggered.connect(self.copy_chosen)
        everything = self._action(translate("Transcript", "Select all"), "selectAllAction")
        everything.triggered.connect(self.all_chosen)
        self.addSeparator()
        prompt = self._action(translate("Transcript", "Show exact prompt…"), "showPromptAction")
        prompt.setEnabled(bool(message))
        prompt.triggered.connect(self._choose_prompt)
        self.aboutToHide.connect(self.deleteLater)

    def _action(self, words: str, name: str) -> QAction:
        action = self.addAction(words)
        action.setObjectName(name)
        return action

    def _choose_prompt(self) -> None:
        self.prompt_chosen.emit(self._message)
