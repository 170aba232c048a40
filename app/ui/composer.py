"""Where a message is written: text that grows to ten lines, attachments, and Send that turns into Stop.

Enter sends, Shift+Enter begins a line; while an input method composes, and when a held key repeats, Enter does
nothing.  What would stall the text engine (a huge paste, one endless line) becomes an attachment: its text goes
out with the message and is never laid out here.
"""

from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QFocusEvent, QInputMethodEvent, QKeyEvent, QTextDocumentFragment
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QToolButton, QVBoxLayout, QWidget

from app.chat.models import clean
from app.ui import icons, theme
from app.ui.plain import ElidedLabel, one_line, tooltip

LONG_LINE: Final = 10_000
LONG_TEXT: Final = 100_000
MOST_LINES: Final = 10
_FEWEST: Final = 2
FILE_LIMIT: Final = 4_000_000


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
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
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


class Attachment(QFrame):
    """Text that goes out with the message, shown by its name and size."""

    removed = Signal()

    def __init__(self, name: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = text
        self.setObjectName("attachment")
        lines = text.count("\n") + 1
        label = f"{one_line(name, 40)}, {len(text):,} characters"
        if lines > 1:
            label += f", {lines:,} lines"
        title = ElidedLabel(label, "small", self)
        title.setMinimumWidth(min(title.fontMetrics().horizontalAdvance(label) + 2, theme.px(420)))
        self.setToolTip(tooltip(text[:400]))
        self.setAccessibleName(label)
        remove = icons.IconButton("close", f"Remove {label}", "removeAttachmentButton", self)
        remove.clicked.connect(self.removed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.GAP_2, 0, 0, 0)
        layout.setSpacing(theme.GAP_1)
        layout.addWidget(title)
        layout.addWidget(remove)


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
        self._busy = False
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
        self.edit.focus_changed.connect(self._show_focus)
        self.edit.textChanged.connect(self._text_changed)
        self.button.clicked.connect(self._clicked)
        self._settings.clicked.connect(self.settings_requested)

    def text(self) -> str:
        """The whole message, attachments after what was typed; "" when there is only white space."""
        parts = [self.edit.toPlainText(), *(item.text for item in self._attachments)]
        return clean("\n\n".join(part for part in parts if part.strip()))

    def set_text(self, text: str) -> None:
        """Show this text, as an attachment where it is too heavy to be laid out."""
        self._drop_attachments()
        if too_heavy(text):
            self.edit.clear()
            self.attach("Draft", text)
        else:
            self.edit.setPlainText(text)
        self.edit.moveCursor(self.edit.textCursor().MoveOperation.End)

    def clear(self) -> None:
        """Empty it, once a message has gone out."""
        self._drop_attachments()
        self.edit.clear()

    def attach(self, name: str, text: str) -> None:
        """Add text that goes out with the message."""
        chip = Attachment(name, clean(text), self)
        chip.removed.connect(self._remove_sender)
        self._attachments.append(chip)
        self._chips.addWidget(chip, 0, Qt.AlignmentFlag.AlignLeft)
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
        if self.button.stops:
            self.stop_requested.emit()
        else:
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


def read_text_file(path: Path) -> str:
    """The text of a file that somebody dropped or pasted; raises ValueError with a reason for the user.

    Blocking: to be run on a thread.
    """
    if not path.is_file():
        raise ValueError(f"{path.name} is not a file.")
    if path.stat().st_size > FILE_LIMIT:
        raise ValueError(f"{path.name} is larger than {FILE_LIMIT // 1_000_000} MB.")
    data = path.read_bytes()
    if b"\0" in data[:8192]:
        raise ValueError(f"{path.name} is not a text file.")
    return data.decode("utf-8-sig", errors="replace")
