"""Where a message is written: text that grows to ten lines, attachments, and Send that turns into Stop.

Enter sends, Shift+Enter begins a line; while an input method composes, and when a held key repeats, Enter does
nothing.  What would stall the text engine (a huge paste, one endless line) becomes an attachment: its text goes
out with the message and is never laid out here.
"""

from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QMimeData, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QInputMethodEvent,
    QKeyEvent,
    QKeySequence,
    QTextDocumentFragment,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.models import clean
from app.ui import icons, theme
from app.ui.attachment import Attachment

LONG_LINE: Final = 10_000
LONG_TEXT: Final = 100_000
MOST_LINES: Final = 10
_FEWEST: Final = 2


def too_heavy(text: str) -> bool:
    """Whether the text engine should not be asked to lay this out."""
    return len(text) > LONG_TEXT or any(len(line) > LONG_LINE for line in text.split("\n"))


class ComposerText(QPlainTextEdit):
    """The text of a message."""

    submitted = Signal()
    heavy_pasted = Signal(str)
    files_pasted = Signal(object)
    refused = Signal(str)
    focus_changed = Signal(bool)
    undo_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._preedit = ""
        self._room = 1 << 14
        self.setObjectName("composer")
        self.setAccessibleName("Message")
        self.setPlaceholderText("Write a message")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setFont(theme.body_font())
        self.document().setDocumentMargin(theme.GAP_1)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().documentLayout().documentSizeChanged.connect(self.fit)
        self.fit()

    def set_room(self, height: int) -> None:
        """How high the text may become, px; two lines it always may."""
        self._room = height
        self.fit()

    def fit(self) -> None:
        """Take as many lines as the text has, up to ten, or to what there is room for."""
        # For a plain text document, the height of its layout is a number of lines.
        wanted = max(1, round(self.document().size().height()))
        spacing = self.fontMetrics().lineSpacing()
        lines = min(wanted, MOST_LINES, max(_FEWEST, round(self._room) // spacing))
        height = lines * spacing + 2 * round(self.document().documentMargin())
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)
        wants_bar = wanted > lines
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if wants_bar else policy.ScrollBarAlwaysOff
        )

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._preedit = event.preeditString()
        super().inputMethodEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Undo):
            self.undo_requested.emit()
        elif event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.insertPlainText("\n")
            self.ensureCursorVisible()
        elif not self._preedit and not event.isAutoRepeat():
            self.submitted.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def canInsertFromMimeData(self, _: QMimeData) -> bool:
        return True

    def insertFromMimeData(self, source: QMimeData) -> None:
        files = [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]
        if files:
            self.files_pasted.emit(files)
            return
        text = clean(_text_of(source))
        if too_heavy(text):
            self.heavy_pasted.emit(text)
        elif text:
            self.insertPlainText(text)
            self.ensureCursorVisible()
        else:
            self.refused.emit("Only text and text files can be sent.")


def _text_of(source: QMimeData) -> str:
    if source.hasText() and source.text():
        return source.text()
    if source.hasHtml():
        # A fragment has no access to the network or to files: nothing is fetched.
        return QTextDocumentFragment.fromHtml(source.html()).toPlainText()
    return ""


class SendButton(QToolButton):
    """Send, or Stop in the same place while the chat answers."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._stops: bool | None = None
        self.show_stop(False)

    @property
    def stops(self) -> bool:
        return bool(self._stops)

    def show_stop(self, stops: bool) -> None:
        """Be Stop, or Send."""
        if stops == self._stops:
            return
        self._stops = stops
        self.setObjectName("stopButton" if stops else "sendButton")
        self.setAccessibleName("Stop" if stops else "Send")
        self.setToolTip("Stop (Esc)" if stops else "Send (Enter)")
        self.setProperty("role", "stop" if stops else "send")
        self.style().unpolish(self)
        self.style().polish(self)
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.EnabledChange):
            self._tint()

    def _tint(self) -> None:
        t = theme.tokens()
        colour = t.text if self._stops else t.on_accent
        icons.tint(self, "stop" if self._stops else "send", colour, icons.LARGE)


class Composer(QFrame):
    """The whole of it; `submitted` carries the message, `stop_requested` is Stop."""

    submitted = Signal(str)
    stop_requested = Signal()
    settings_requested = Signal()
    changed = Signal()
    refused = Signal(str)
    files_pasted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composerFrame")
        self._attachments: list[Attachment] = []
        self._given_back = ""
        self._busy = False
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.setInterval(QApplication.doubleClickInterval())
        self.edit = ComposerText(self)
        self.button = SendButton(self)
        self._settings = icons.IconButton(
            "settings", "Instructions and sampling of this chat", "chatSettingsButton", self
        )
        self._chips = QVBoxLayout()
        self._build()
        self._connect()
        self._refresh()

    def _build(self) -> None:
        self._chips.setSpacing(theme.GAP_1)
        row = QHBoxLayout()
        row.setSpacing(theme.GAP_1)
        row.addWidget(self._settings, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.edit, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.GAP_2, theme.GAP_2, theme.GAP_2, theme.GAP_2)
        layout.setSpacing(theme.GAP_1)
        layout.addLayout(self._chips)
        layout.addLayout(row)

    def _connect(self) -> None:
        self.edit.submitted.connect(self.submit)
        self.edit.heavy_pasted.connect(self._attach_paste)
        self.edit.files_pasted.connect(self.files_pasted)
        self.edit.refused.connect(self.refused)
        self.edit.undo_requested.connect(self.undo)
        self.edit.focus_changed.connect(self._show_focus)
        self.edit.textChanged.connect(self._text_changed)
        self.button.clicked.connect(self._clicked)
        self._settings.clicked.connect(self.settings_requested)

    def in_order(self) -> tuple[QWidget, ...]:
        """Its controls as the Tab key goes through them; attachments come before the last."""
        return self._settings, self.edit, self.button

    def text(self) -> str:
        """The whole message, attachments after what was typed; "" when there is only white space."""
        parts = [clean(self.edit.toPlainText()), *(item.text for item in self._attachments)]
        return "\n\n".join(part for part in parts if part and not part.isspace())

    def set_text(self, text: str) -> None:
        """Show this text, as an attachment where it is too heavy to be laid out."""
        self._drop_attachments()
        if too_heavy(text):
            self.edit.clear()
            self.attach("Draft", text, undoable=False)
        else:
            self.edit.setPlainText(text)
        self.edit.moveCursor(self.edit.textCursor().MoveOperation.End)

    def give_back(self, question: str) -> None:
        """Show a question that was refused, so that it can be changed and sent again."""
        self.set_text(question)
        self._given_back = question

    def take_back(self) -> None:
        """That question is asked as it is: it is not to be sent a second time, unless it was changed."""
        if self._given_back and self.text() == self._given_back:
            self.clear()
        self._given_back = ""

    def clear(self) -> None:
        """Empty it, once a message has gone out."""
        self._drop_attachments()
        self.edit.clear()

    def attach(self, name: str, text: str, *, undoable: bool = True) -> None:
        """Add text that goes out with the message."""
        revision = self.edit.document().revision() if undoable else None
        chip = Attachment(name, clean(text), revision, self)
        chip.removed.connect(self._remove_sender)
        before = self._attachments[-1].remove if self._attachments else self.edit
        self.setTabOrder(before, chip.remove)
        self.setTabOrder(chip.remove, self.button)
        self._attachments.append(chip)
        self._chips.addWidget(chip, 0, Qt.AlignmentFlag.AlignLeft)
        self._text_changed()

    def undo(self) -> None:
        """Take back what was done last: typing, or the attachment that came after it."""
        document = self.edit.document()
        last = self._attachments[-1] if self._attachments else None
        untyped = last is not None and last.revision == document.revision()
        if last is None or last.revision is None or (document.isUndoAvailable() and not untyped):
            self.edit.undo()
        else:
            self._remove(last)
            self._text_changed()

    def attachments(self) -> tuple[str, ...]:
        return tuple(item.text for item in self._attachments)

    def set_busy(self, busy: bool) -> None:
        """Whether the chat answers: Send is Stop then."""
        self._busy = busy
        self._refresh()

    def submit(self) -> None:
        """Send what is there, if there is something and the chat is not answering."""
        text = self.text()
        if text and not self._busy:
            self.submitted.emit(text)
        elif text:
            self.refused.emit(
                "Stop the answer, or wait for its end, before you send the next message."
            )

    def _clicked(self) -> None:
        """Send or Stop; the rest of a double click would hit the other one, and is nobody's wish."""
        fresh = not self._settling.isActive()
        self._settling.start()
        if fresh and self.button.stops:
            self.stop_requested.emit()
        elif fresh:
            self.submit()
        self.edit.setFocus()

    def _attach_paste(self, text: str) -> None:
        self.attach("Pasted text", text)

    def _remove_sender(self) -> None:
        chip = self.sender()
        if isinstance(chip, Attachment):
            self._remove(chip)
            self._text_changed()
            self.edit.setFocus()

    def _remove(self, chip: Attachment) -> None:
        self._attachments.remove(chip)
        self._chips.removeWidget(chip)
        chip.hide()
        chip.deleteLater()

    def _drop_attachments(self) -> None:
        for chip in tuple(self._attachments):
            self._remove(chip)

    def _text_changed(self) -> None:
        self._refresh()
        self.changed.emit()

    def _refresh(self) -> None:
        self.button.show_stop(self._busy)
        something = bool(self._attachments) or not self.edit.document().isEmpty()
        self.button.setEnabled(self._busy or something)

    def _show_focus(self, focused: bool) -> None:
        self.setProperty("focused", focused)
        self.style().unpolish(self)
        self.style().polish(self)
