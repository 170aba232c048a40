"""Text from models, files and people, shown as what it is: no markup, no mnemonics, bounded.

Qt's labels and tool tips switch to rich text by themselves when they see a tag; everything here keeps them from it.
"""

import re
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtGui import Qt as Text
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QStyleOption, QWidget

TITLE_LIMIT: Final = 200
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_TOOLTIP_LIMIT = 600
_ONE_LINE = 80


def one_line(text: str, limit: int = TITLE_LIMIT) -> str:
    """`text` on one line, at most `limit` characters, an ellipsis for the rest; it does not turn what stands beside it."""
    line = _BLANKS.sub(" ", _TURNING.sub("", text[: 4 * limit])).strip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def isolated(text: str) -> str:
    """Keep the direction marks inside `text` from turning what stands beside it."""
    return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}"


def without_mnemonics(text: str) -> str:
    """For buttons, tabs and menus, where `&` would underline a letter."""
    return text.replace("&", "&&")


def tooltip(text: str) -> str:
    """A tool tip that shows `text` literally.

    One that is long becomes rich text, for only that is wrapped; screen readers read out its tags, hence no other.
    """
    cut = text if len(text) <= _TOOLTIP_LIMIT else f"{text[:_TOOLTIP_LIMIT]}…"
    if len(cut) <= _ONE_LINE and not Text.mightBeRichText(cut):
        return cut
    escaped = cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<div>{escaped}</div>" if escaped else ""


class Label(QLabel):
    """A label that shows its text literally; `role` picks its look in the style sheet."""

    def __init__(self, text: str = "", role: str = "body", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setText(text)


class ElidedLabel(Label):
    """A label of one line that gives way: it shows as much as fits, and all of it as a tool tip."""

    def __init__(self, text: str = "", role: str = "body", parent: QWidget | None = None) -> None:
        super().__init__(text, role, parent)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip:
            fits = self.fontMetrics().horizontalAdvance(self.text()) <= self.contentsRect().width()
            self.setToolTip("" if fits else tooltip(self.text()))
        return super().event(event)

    def paintEvent(self, _: QPaintEvent) -> None:
        option = QStyleOption()
        option.initFrom(self)
        room = self.contentsRect()
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        with QPainter(self) as painter:
            self.style().drawPrimitive(QStyle.PrimitiveElement.PE_Widget, option, painter, self)
            painter.setPen(option.palette.color(self.foregroundRole()))
            painter.drawText(room, int(self.alignment()), text)
