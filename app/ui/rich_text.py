"""One paragraph laid out: runs of text to lines, with direction, selection, links and hit testing.

A plain `QTextLayout` over runs: no document, no HTML, nothing that could load anything.  Positions are those of
Qt, in UTF-16 units; `units` and `cut` are the one place where they meet Python's code points.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QTextCharFormat, QTextLayout, QTextLine, QTextOption

from app.ui.inline import Look, Run
from app.ui.text_style import Style

_LINE_SEPARATOR = "\u2028"
_JOINER = "\u200d"
_HALF = "\ufffd"
"""What `cut` gives for one of the two units of a character."""
_ISOLATES = re.compile("[\u2066\u2069]")
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
EXTRA_WIDTH = 6
"""Width by which the selection of a line that goes on shows its line break."""


def units(text: str) -> int:
    """Length in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def cut(text: str, start: int, end: int) -> str:
    """The part of `text` between two UTF-16 positions."""
    if text.isascii():
        return text[start:end]
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "replace")


def is_right_to_left(text: str) -> bool:
    """The direction of a paragraph: that of its first strong character."""
    if text.isascii() or _RIGHT_TO_LEFT.search(text) is None:
        return False
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("R", "AL"):
            return True
        if kind == "L":
            return False
    return False


def isolated(runs: Sequence[Run]) -> list[Run]:
    """Code and links in a text with right-to-left letters keep their own order."""
    if not any(_RIGHT_TO_LEFT.search(run.text) for run in runs):
        return list(runs)
    apart = Look.CODE | Look.LINK
    return [
        replace(run, text=f"\u2066{run.text}\u2069" if run.look & apart else run.text)
        for run in runs
    ]


def _last_letter(text: str) -> int:
    """How many UTF-16 units of the end of `text` are one letter that may be set apart; 0 where none may be.

    The letters of some scripts join, or change with their neighbours: those stay together.
    """
    start = len(text) - 1
    while start > 0 and (_belongs_to_previous(text[start]) or text[start - 1] == _JOINER):
        start -= 1
    if start < 0 or text[start] in (_LINE_SEPARATOR, _HALF):
        return 0
    letter, code = text[start], ord(text[start])
    alone = unicodedata.category(letter)[0] in "ZPSN" or code < 0x600 or code >= 0x2E80
    joins = unicodedata.bidirectional(letter) == "AL"
    return units(text[start:]) if alone and not joins else 0


def _belongs_to_previous(character: str) -> bool:
    """Accents, variants, joiners and tones of skin."""
    marks = character == _JOINER or unicodedata.category(character)[0] == "M"
    return marks or "\U0001f3fb" <= character <= "\U0001f3ff"


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    run: Run


def has_right_to_left(text: str) -> bool:
    """Whether any letter of this text is written from right to left."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def extents(line: QTextLine, start: int, end: int, *, mixed: bool) -> Iterator[tuple[float, float]]:
    """Left and right edge of the text between two positions of a line; of several pieces where directions mix."""
    if start >= end:
        return
    if not mixed:
        yield _x(line, start), _x(line, end)
        return
    for glyphs in line.glyphRuns(start, end - start):
        last = max(zip(glyphs.positions(), glyphs.glyphIndexes(), strict=True), key=_place)
        first = min(at.x() for at in glyphs.positions())
        advance = glyphs.rawFont().advancesForGlyphIndexes([last[1]])[0].x()
        yield first, last[0].x() + advance


def _place(glyph: tuple[QPointF, int]) -> float:
    return glyph[0].x()


def _x(line: QTextLine, position: int) -> float:
    x = line.cursorToX(position)
    return float(x[0]) if isinstance(x, tuple) else 0.0


class RichText:
    """A paragraph of runs.  Lay it out with `lay_out`, then draw and ask it."""

    def __init__(self, runs: Sequence[Run]) -> None:
        shown = isolated(runs)
        self._isolates = any("\u2066" in run.text for run in shown)
        self.text = "".join(run.text for run in shown).replace("\n", _LINE_SEPARATOR)
        self.right_to_left = is_right_to_left(self.text)
        self.length = units(self.text)
        self.height = 0
        self.natural_width = 0.0
        self._mixed = has_right_to_left(self.text)
        self._spans = list(self._find_spans(shown))
        self._layout: QTextLayout | None = None
        self._pitch = 0

    @staticmethod
    def _find_spans(runs: Sequence[Run]) -> Iterator[_Span]:
        at = 0
        for run in runs:
            end = at + units(run.text)
            isolate = run.text.startswith("\u2066")
            if run.look or run.link:
                yield _Span(at + isolate, end - isolate, run)
            at = end

    def visible(self, start: int = 0, end: int | None = None) -> str:
        """The text between two positions, as it is read and copied."""
        part = cut(self.text, start, self.length if end is None else end)
        if self._isolates:
            part = _ISOLATES.sub("", part)
        return part.replace(_LINE_SEPARATOR, "\n")

    def lay_out(
        self,
        width: float,
        style: Style,
        font: QFont,
        pitch: int,
        base: QTextCharFormat | None = None,
        align: Qt.AlignmentFlag | None = None,
    ) -> int:
        """Break into lines of at most `width` px; return the height."""
        layout = QTextLayout(self.text, font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        direction = Qt.LayoutDirection
        option.setTextDirection(
            direction.RightToLeft if self.right_to_left else direction.LeftToRight
        )
        leading = Qt.AlignmentFlag.AlignRight if self.right_to_left else Qt.AlignmentFlag.AlignLeft
        option.setAlignment(leading if align is None else align)
        layout.setTextOption(option)
        layout.setFormats(self._formats(style, base))
        self._pitch = pitch
        self._layout = layout
        self._break(layout, max(width, 1.0))
        return self.height

    def _formats(self, style: Style, base: QTextCharFormat | None) -> list[QTextLayout.FormatRange]:
        spans = [(span.start, span.end, style.format(span.run.look)) for span in self._spans]
        if base is not None:
            spans.insert(0, (0, self.length, base))
        spans.extend(self._apart(style))
        ranges = []
        for start, end, form in spans:
            piece = QTextLayout.FormatRange()
            piece.start, piece.length, piece.format = start, end - start, form
            ranges.append(piece)
        return ranges

    def _apart(self, style: Style) -> Iterator[tuple[int, int, QTextCharFormat]]:
        """Room around inline code, so that its ground touches no letter: wider spacing after single characters."""
        for span in self._spans:
            if Look.CODE in span.run.look:
                for end in self._beside(span):
                    letter = _last_letter(cut(self.text, 0, end))
                    if letter:
                        yield end - letter, end, style.apart

    def _beside(self, span: _Span) -> Iterator[int]:
        """Positions behind the letters beside which there is to be room before and after this code."""
        isolate = int(self._isolates)
        if span.start > isolate:
            yield span.start - isolate
        if not self.right_to_left:
            yield span.end
        elif span.end + isolate < self.length:
            yield span.end + isolate + 1

    def _break(self, layout: QTextLayout, width: float) -> None:
        y, widest = 0, 0.0
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            height = max(self._pitch, ceil(line.height()))
            line.setPosition(QPointF(0, y + (height - line.height()) / 2))
            widest = max(widest, line.naturalTextWidth())
            y += height
        layout.endLayout()
        self.height = max(y, self._pitch)
        self.natural_width = widest

    def draw(
        self,
        painter: QPainter,
        at: QPointF,
        style: Style,
        selected: tuple[int, int] | None = None,
        clip: QRectF | None = None,
    ) -> None:
        """Draw the lines, what is selected and the grounds of inline code."""
        layout = self._laid_out()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(style.pill)
        for rect in self.pills(style):
            painter.drawRoundedRect(rect.translated(at), 4, 4)
        painter.setPen(style.text)
        if selected is not None:
            for rect in self._selected_rects(*selected):
                painter.fillRect(rect.translated(at), style.selection)
        layout.draw(painter, at, [], clip if clip is not None else QRectF())

    def _laid_out(self) -> QTextLayout:
        if self._layout is None:
            raise RuntimeError("the paragraph is not laid out")
        return self._layout

    def _lines(self) -> Iterator[QTextLine]:
        layout = self._laid_out()
        return (layout.lineAt(index) for index in range(layout.lineCount()))

    def pills(self, style: Style) -> Iterator[QRectF]:
        """The grounds of inline code."""
        for span in self._spans:
            if Look.CODE in span.run.look:
                yield from self._pills_of(span, style)

    def _pills_of(self, span: _Span, style: Style) -> Iterator[QRectF]:
        pad = style.pill_pad
        # The room behind the last letter belongs to the line and not to the code.
        apart = not self._mixed and _last_letter(cut(self.text, 0, span.end)) > 0
        for line in self._lines():
            start, end = line.textStart(), line.textStart() + line.textLength()
            if start >= span.end or end <= span.start:
                continue
            behind = style.pill_room if apart and span.end <= end else 0
            for left, right in extents(
                line, max(start, span.start), min(end, span.end), mixed=self._mixed
            ):
                yield QRectF(left - pad, line.y(), right - behind - left + 2 * pad, line.height())

    def _selected_rects(self, start: int, end: int) -> Iterator[QRectF]:
        for line in self._lines():
            first, last = line.textStart(), line.textStart() + line.textLength()
            if first > end or last < start:
                continue
            height = max(self._pitch, ceil(line.height()))
            top = line.y() - (height - line.height()) / 2
            for left, right in extents(line, max(first, start), min(last, end), mixed=self._mixed):
                yield QRectF(left, top, right - left, height)
            if end > last or (first == last and start <= first < end):
                edge = line.naturalTextRect()
                x = edge.left() - EXTRA_WIDTH if self.right_to_left else edge.right()
                yield QRectF(x, top, EXTRA_WIDTH, height)

    def hit(self, point: QPointF) -> int:
        """The position nearest to this point."""
        for line in self._lines():
            below = line.y() + (max(self._pitch, line.height()) + line.height()) / 2
            if point.y() < below:
                return line.xToCursor(point.x())
        return self.length

    def covers(self, point: QPointF) -> bool:
        """Whether there is text under this point."""
        return any(line.naturalTextRect().contains(point) for line in self._lines())

    def link_at(self, point: QPointF) -> str:
        """The address under this point, or ""."""
        for line in self._lines():
            if line.naturalTextRect().contains(point):
                position = line.xToCursor(point.x(), QTextLine.CursorPosition.CursorOnCharacter)
                return self._link(position)
        return ""

    def _link(self, position: int) -> str:
        for span in self._spans:
            if span.run.link and span.start <= position < span.end:
                return span.run.link
        return ""

    def word_at(self, position: int) -> tuple[int, int]:
        """The word around this position."""
        layout = self._laid_out()
        mode = QTextLayout.CursorMode.SkipWords
        end = layout.nextCursorPosition(position, mode)
        start = layout.previousCursorPosition(min(position + 1, self.length), mode)
        word = self.visible(start, end).rstrip()
        return start, start + units(word) if not self._isolates else end
