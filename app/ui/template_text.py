"""The editor of a template: plain text of a fixed width with numbered lines, in which every character can be seen.

What has no shape, or turns the order of others, is shown and may be typed as its code, ⟨U+202E⟩.
"""

from typing import Final

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextFormat,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from app.ui import theme
from app.ui.visible import meant, shown

MOST_CHARACTERS: Final = 200_000
MOST_LINES: Final = 10_000
LONGEST_LINE: Final = 30_000
"""What an editor can be asked to lay out; templates that people use have a tenth of it."""


def is_heavy(text: str) -> bool:
    """Whether no editor should be asked to show this."""
    lines = text.split("\n")
    return (
        len(text) > MOST_CHARACTERS
        or len(lines) > MOST_LINES
        or any(len(line) > LONGEST_LINE for line in lines)
    )


class TemplateText(QPlainTextEdit):
    """`template` is what is in it; one that is too heavy is shown in part and cannot be edited."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("templateText")
        self.setAccessibleName("Template")
        self.setFont(theme.mono_font())
        self.setTabChangesFocus(True)
        option = QTextOption(self.document().defaultTextOption())
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDefaultTextOption(option)
        self._whole = ""
        self._bad_line = 0
        self._numbers = _Numbers(self)
        self.blockCountChanged.connect(self._make_room)
        self.updateRequest.connect(self._scroll_numbers)
        self._make_room()

    @property
    def heavy(self) -> bool:
        """Whether it is shown in part only."""
        return self.isReadOnly()

    def template(self) -> str:
        """What is meant by what is shown."""
        return self._whole if self.heavy else meant(self.toPlainText())

    def set_template(self, text: str) -> None:
        """Edit this one."""
        self._whole = text if is_heavy(text) else ""
        self.setReadOnly(is_heavy(text))
        self.mark_line(0)
        self.setPlainText(shown(_beginning(text) if self.heavy else text))

    def mark_line(self, number: int) -> None:
        """Show that something is wrong on this line; 0: on none."""
        self._bad_line = number
        block = self.document().findBlockByNumber(number - 1)
        marks = [self._mark(block)] if number and block.isValid() else []
        self.setExtraSelections(marks)
        self._numbers.update()

    def _mark(self, block: QTextBlock) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        cursor = self.textCursor()
        cursor.setPosition(block.position())
        mark.cursor = cursor
        mark.format.setBackground(QColor(theme.soft_bad()))
        mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
        return mark

    # --- numbers ---------------------------------------------------------------------------------------------

    def numbers_width(self) -> int:
        """Room for the numbers of all lines, px."""
        digits = max(2, len(str(self.blockCount())))
        return self.fontMetrics().horizontalAdvance("0") * digits + 2 * theme.GAP_2

    def paint_numbers(self, painter: QPainter, clip: QRect) -> None:
        """The number of each line in view, beside its first row."""
        t = theme.tokens()
        painter.fillRect(clip, QColor(t.raised))
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        width, height = self._numbers.width() - theme.GAP_2, self.fontMetrics().height()
        while block.isValid():
            top = round(self.blockBoundingGeometry(block).translated(self.contentOffset()).top())
            if top > clip.bottom():
                return
            number = block.blockNumber() + 1
            painter.setPen(QColor(t.bad if number == self._bad_line else t.quiet))
            right = int(Qt.AlignmentFlag.AlignRight)
            painter.drawText(QRect(0, top, width, height), right, str(number))
            block = block.next()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        area = self.contentsRect()
        self._numbers.setGeometry(
            QRect(area.left(), area.top(), self.numbers_width(), area.height())
        )

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_numbers"):
            self.mark_line(self._bad_line)

    def _make_room(self) -> None:
        self.setViewportMargins(self.numbers_width(), 0, 0, 0)

    def _scroll_numbers(self, area: QRect, dy: int) -> None:
        if dy:
            self._numbers.scroll(0, dy)
        else:
            self._numbers.update(0, area.y(), self._numbers.width(), area.height())


class _Numbers(QWidget):
    """The strip beside the text."""

    def __init__(self, text: TemplateText) -> None:
        super().__init__(text)
        self._text = text

    def sizeHint(self) -> QSize:
        return QSize(self._text.numbers_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            self._text.paint_numbers(painter, event.rect())


def _beginning(text: str) -> str:
    """As much of a heavy text as can be shown, its endless lines cut."""
    lines = text[:MOST_CHARACTERS].split("\n")[:MOST_LINES]
    return "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines
    )
