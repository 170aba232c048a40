"""A prompt as it is fed: control tokens told apart from content by a frame of their own, every character to be seen.

Plain text only, whatever is in it.  A long one comes in slices, a few milliseconds at a time, so that the window goes on.
"""

import time
from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.prompting import PromptText
from app.ui import theme
from app.ui.visible import shown

OPEN, CLOSE = "⟦", "⟧"
"""What stands around a control token; the same characters in content are shown as their codes."""
GOES_ON: Final = "↪ "
LINE: Final = 2_000
"""Characters after which a line is broken here: laying out an endless one would stop the window."""
SLICE_SECONDS: Final = 0.008

Piece = tuple[str, bool]
"""Text to show, and whether it is the mark of a control token or of a broken line, or content."""


def pieces(prompt: PromptText) -> Iterator[Piece]:
    """The prompt cut into pieces of at most `LINE` characters, with lines broken where they are endless."""
    room = LINE
    for span in prompt.spans:
        start = 0
        while start < len(span.text):
            if room <= 0:
                yield f"\n{GOES_ON}", True
                room = LINE
            if span.control:
                part = span.text
                yield f"{OPEN}{shown(part)}{CLOSE}", True
            else:
                end = span.text.find("\n", start, start + room) + 1 or start + room
                part = span.text[start:end]
                yield shown(part, also=OPEN + CLOSE), False
            start += len(part)
            room = LINE if part.endswith("\n") else room - len(part)


class PromptView(QPlainTextEdit):
    """Read only.  `complete` is emitted when all of it is there."""

    complete = Signal()

    def __init__(self, object_name: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(object_name)
        self.setAccessibleName(name)
        self.setAccessibleDescription(f"Control tokens stand between {OPEN} and {CLOSE}.")
        self.setReadOnly(True)
        flag = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flag.TextSelectableByMouse | flag.TextSelectableByKeyboard)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setFont(theme.mono_font())
        option = QTextOption(self.document().defaultTextOption())
        # From left to right, whatever a line begins with: what stands after a text is shown behind it.
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDefaultTextOption(option)
        self._prompt = PromptText()
        self._left: Iterator[Piece] = iter(())
        self._slice = QTimer(self)
        self._slice.setInterval(0)
        self._slice.timeout.connect(self._add)
        self._make_formats()

    def show_prompt(self, prompt: PromptText) -> None:
        """Show this instead of what is there."""
        self.clear()
        self._prompt = prompt
        self._left = pieces(prompt)
        self._slice.start()
        self._add()

    def clear(self) -> None:
        """Show nothing; what is still to come does not come any more."""
        self._slice.stop()
        self._left = iter(())
        self._prompt = PromptText()
        super().clear()

    @property
    def busy(self) -> bool:
        """Whether some of it is still to come."""
        return self._slice.isActive()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_slice"):
            self._make_formats()
            self.show_prompt(self._prompt)

    def _add(self) -> None:
        """Add as much as a moment allows."""
        until = time.perf_counter() + SLICE_SECONDS
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        for text, marked in self._left:
            cursor.insertText(text, self._mark if marked else self._content)
            if time.perf_counter() >= until:
                return
        self._slice.stop()
        self.complete.emit()

    def _make_formats(self) -> None:
        t = theme.tokens()
        self._content = QTextCharFormat()
        self._content.setForeground(QColor(t.text))
        self._mark = QTextCharFormat()
        self._mark.setForeground(QColor(t.accent))
        self._mark.setBackground(QColor(t.raised))
        self._mark.setFontWeight(QFont.Weight.DemiBold)
