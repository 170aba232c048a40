"""What is said above the first message that the model is still sent: that what stands above is not, and what stands for
it, where that is a summary, folded until somebody wants to read it."""

from PySide6.QtCore import QCoreApplication, QPointF, QRect

from app.ui import theme
from app.ui.blocks import Canvas
from app.ui.inline import Look, Run
from app.ui.rich_text import RichText
from app.ui.text_style import Style

translate = QCoreApplication.translate

ROW = 28
"""Height of the line that unfolds the summary, px at the usual scale."""
_BAR = 3
_INSET = 16


class CutNote:
    """A line across the column, words, and the summary; without a `summary` ("") only the words."""

    def __init__(self, summary: str = "") -> None:
        self.summary = summary
        self.folded = True
        self._words = RichText([Run(_words(summary))])
        self._text = RichText([Run(summary)])
        self._words_height = self._text_height = 0

    def row(self, left: int, top: int, width: int) -> QRect:
        """Where the line that unfolds is, for a note painted there; empty where there is none."""
        height = theme.px(ROW) if self.summary else 0
        return QRect(left, top + theme.GAP_2 + self._words_height, width, height)

    def estimate(self, style: Style) -> int:
        """About how high it is, with the space below."""
        self._words_height = style.small_pitch
        return self._height()

    def lay_out(self, width: int, style: Style) -> int:
        """The height, with the space below."""
        quiet = style.format(Look.QUIET)
        self._words_height = self._words.lay_out(
            width, style, style.label, style.small_pitch, quiet
        )
        if self.summary and not self.folded:
            inside = max(1, width - theme.px(_INSET))
            self._text_height = self._text.lay_out(inside, style, style.body, style.pitch, quiet)
        return self._height()

    def _height(self) -> int:
        height = theme.GAP_2 + self._words_height + theme.GAP_3 + theme.GAP_1
        if self.summary:
            height += theme.px(ROW)
            height += 0 if self.folded else self._text_height + theme.GAP_1
        return height

    def paint(self, canvas: Canvas, top: int) -> None:
        """Draw it from this y on."""
        line = QRect(canvas.left, top, canvas.width, theme.HAIRLINE)
        canvas.painter.fillRect(line, canvas.style.line)
        self._words.draw(canvas.painter, QPointF(canvas.left, top + theme.GAP_2), canvas.style)
        if not self.summary or self.folded:
            return
        top = self.row(canvas.left, top, canvas.width).bottom() + 1
        bar = QRect(canvas.left, top, theme.px(_BAR), self._text_height)
        canvas.painter.fillRect(bar, canvas.style.line)
        self._text.draw(canvas.painter, QPointF(canvas.left + theme.px(_INSET), top), canvas.style)

    def visible(self) -> str:
        """The text that a reader sees."""
        words = self._words.visible()
        return words if self.folded or not self.summary else f"{words}\n{self.summary}"


def _words(summary: str) -> str:
    if summary:
        return translate(
            "Transcript",
            "What is above is not sent to the model any more. A summary stands for it.",
        )
    return translate(
        "Transcript", "What is above does not fit any more and is not sent to the model."
    )
