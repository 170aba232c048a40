"""The page of one model on this computer: what it is, where it lies, and what can be done with it."""

from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.errors import harmless
from app.hub import words
from app.hub.names import Kind
from app.hub.shelf import Shelved
from app.ui import theme
from app.ui.fields import TextField
from app.ui.plain import ElidedLabel, Label

_NOT_FOR_CHATS = {
    Kind.PROJECTOR: "A vision projector: it belongs to a model that sees, and cannot chat by itself.",
    Kind.ADAPTER: "An adapter (LoRA): it changes another model, and cannot chat by itself.",
    Kind.DRAFT: "A draft model: it helps another one to write faster, and is not made for chats.",
    Kind.MATRIX: "An importance matrix: it is used to make smaller models, and is none itself.",
    Kind.PIECE: "A piece of a cut file: join the pieces to use it.",
    Kind.EMBEDDING: "An embedding model: it turns text into numbers, and cannot chat.",
    Kind.SPEECH: "A speech model: it cannot chat.",
}


class LocalPage(QWidget):
    """Emits what is wanted of the model in view; `remove_wanted` carries whether others that use it shall not matter."""

    use_wanted = Signal()
    renamed = Signal(str)
    load_settings_wanted = Signal()
    remove_wanted = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("localPage")
        self._one: Shelved | None = None
        self._title = ElidedLabel("", "heading", self)
        self._name = TextField("libraryNameField", "Name of the model", self)
        self._name.setMaxLength(80)
        self._name.installEventFilter(self)
        self._name.returnPressed.connect(self._name_entered)
        self._labels = [Label("", "body" if first else "quiet", self) for first in (True, *(False,) * 5)]  # fmt: skip
        for label in self._labels:
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._use = self._button("Chat with it", "libraryUseButton", "primary")
        self._rename = self._button("Rename", "libraryRenameButton", "link")
        self._load = self._button("Load settings…", "libraryLoadButton", "link")
        self._remove = self._button("Remove…", "libraryRemoveButton", "link")
        self._question = Removal(self)
        self._use.clicked.connect(self.use_wanted)
        self._rename.clicked.connect(self._begin_rename)
        self._load.clicked.connect(self.load_settings_wanted)
        self._remove.clicked.connect(self._ask)
        self._question.agreed.connect(self.remove_wanted)
        self._question.refused.connect(self._refused)
        self._lay_out()
        self.show_model(None)

    def _button(self, text: str, name: str, role: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName(name)
        button.setProperty("role", role)
        button.setAutoDefault(False)
        return button

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.GAP_2)
        for button in (self._use, self._rename, self._load, self._remove):
            buttons.addWidget(button)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GAP_2)
        column.addWidget(self._title)
        column.addWidget(self._name)
        for label in self._labels:
            column.addWidget(label)
        column.addSpacing(theme.GAP_2)
        column.addLayout(buttons)
        column.addWidget(self._question)
        column.addStretch(1)

    def show_model(self, one: Shelved | None, fit: str = "", *, loaded: bool = False) -> None:
        """This one, or what to do where none is chosen; `fit` is how many chats fit, in words."""
        same = self._one is not None and one is not None and one.path == self._one.path
        self._one = one
        if not same:
            self._question.hide()
            self._end_rename()
        self._title.setText(one.name if one else "")
        lines = _lines(one, fit) if one else ["Choose a model on the left."]
        for label, text in zip(self._labels, [*lines, *[""] * len(self._labels)], strict=False):
            label.setText(text)
            label.setVisible(bool(text))
        chats = one is not None and one.model.chats
        ours = one is not None and (one.model.removable or one.model.named)
        self._use.setVisible(chats)
        self._load.setVisible(chats)
        self._rename.setVisible(one is not None)
        self._remove.setVisible(ours and not loaded)
        if loaded:
            self._question.hide()
        for button in (self._use, self._rename, self._load, self._remove):
            button.setAccessibleName(f"{button.text().rstrip('…')}: {one.name if one else ''}")

    # --- name ------------------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Escape leaves the name as it was, and the dialog open."""
        if watched is self._name and isinstance(event, QKeyEvent):
            escape = event.key() == Qt.Key.Key_Escape
            if escape and event.type() in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride):
                if event.type() == QEvent.Type.KeyPress:
                    self._end_rename()
                    self._rename.setFocus()
                event.accept()
                return True
        return super().eventFilter(watched, event)

    def _begin_rename(self) -> None:
        if self._one is not None:
            self._name.setText(self._one.name)
            self._name.show()
            self._title.hide()
            self._name.setFocus()
            self._name.selectAll()

    def _end_rename(self) -> None:
        self._name.hide()
        self._title.show()

    def _name_entered(self) -> None:
        name = self._name.text().strip()
        self._end_rename()
        self._rename.setFocus()
        if self._one is not None and name != self._one.name:
            self.renamed.emit(name)

    # --- removal ---------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        if self._one is not None:
            self._question.ask(self._one)

    def ask_again(self, one: Shelved, why: str) -> None:
        """Ask whether it shall go all the same, where it is still in view."""
        if self._one is not None and self._one.path == one.path:
            self._question.ask_again(one, why)

    def _refused(self) -> None:
        self._remove.setFocus()


class Removal(QFrame):
    """The question whether a model shall really go: how large it is, whose it is, and who uses it.

    `agreed` carries whether that was asked after others were found to use it.
    """

    agreed = Signal(bool)
    refused = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("removal")
        self._again = False
        self._words = Label("", "body", self)
        self._words.setWordWrap(True)
        self._yes = QPushButton("Remove", self)
        self._yes.setObjectName("libraryRemoveNow")
        self._yes.setAccessibleName("Remove")
        self._no = QPushButton("Keep it", self)
        self._no.setObjectName("libraryKeep")
        self._no.setAccessibleName("Keep it")
        row = QHBoxLayout()
        row.setSpacing(theme.GAP_2)
        for button in (self._yes, self._no):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GAP_3, theme.GAP_3, theme.GAP_3, theme.GAP_3)
        column.setSpacing(theme.GAP_3)
        column.addWidget(self._words)
        column.addLayout(row)
        self._yes.clicked.connect(self._agree)
        self._no.clicked.connect(self._refuse)
        self.hide()

    def ask(self, one: Shelved) -> None:
        """The first time."""
        model = one.model
        freed = words.size(model.size)
        files = f"{len(model.files)} files" if len(model.files) > 1 else "its file"
        whose = "" if model.removable else (
            f" It lies in your folder {_place(model.place.path)}: Tutti did not put it there, and another program may "
            "need it."
        )  # fmt: skip
        text = f"This deletes {files} from the disk for good, and frees {freed}.{whose}"
        self._put(one, text, f"Remove {freed}", again=False)

    def ask_again(self, one: Shelved, why: str) -> None:
        """Once more, for this reason."""
        self._put(one, why, "Remove all the same", again=True)

    def _put(self, one: Shelved, text: str, yes: str, *, again: bool) -> None:
        """The keyboard is on what changes nothing."""
        self._again = again
        self._words.setText(text)
        self._yes.setText(yes)
        self._yes.setAccessibleName(f"Remove {one.name}. {text}")
        self._no.setAccessibleDescription(
            text
        )  # it gets the keyboard, so that the question is read out
        self.setAccessibleName(text)
        self.show()
        self._no.setFocus()

    def _agree(self) -> None:
        self.hide()
        self.agreed.emit(self._again)

    def _refuse(self) -> None:
        self.hide()
        self.refused.emit()


def _lines(one: Shelved, fit: str) -> list[str]:
    """What there is to say, a paragraph each."""
    model = one.model
    about = model.details
    parts = f"{len(model.files)} files" if len(model.files) > 1 else ""
    facts = (
        words.size(model.size),
        parts,
        about.quantisation,
        about.architecture,
        about.parameters,
    )
    more = (
        about.title if about.title != one.name else "",
        f"context {about.context:,}" if about.context else "",
        f"licence {about.licence}" if about.licence else "",
        "" if about.chats or not model.chats else "no prompt template in the file",
    )
    trouble = f"It cannot be loaded: {model.problem}." if model.problem else ""
    lines = (
        trouble or _NOT_FOR_CHATS.get(model.kind, ""),
        " · ".join(filter(None, facts)),
        " · ".join(filter(None, more)),
        f"On this machine: {fit}" if fit else "",
        _history(one),
        f"{'Your folder' if model.place.named else model.place.name}: {_place(model.path)}",
    )
    return [line for line in lines if line]


def _place(path: Path) -> str:
    """As it is, but on one line, and with nothing that turns the words around it."""
    return harmless(str(path)).replace("\n", "\ufffd").replace("\t", "\ufffd")


def _history(one: Shelved) -> str:
    own = "loaded with settings of its own" if one.memory.load is not None else ""
    if not one.model.chats:
        return own
    used = f"last used {_day(one.memory.used)}" if one.memory.used else "never used in Tutti"
    line = " · ".join(filter(None, (used, own)))
    return line[0].upper() + line[1:]


def _day(seconds: float) -> str:
    """A day of this machine's calendar, of seconds since the epoch."""
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d}"
