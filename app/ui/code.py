"""A code block: a card with its language above, lines that are not wrapped, and only those in view laid out.

Its height follows from the number of lines, so a block of any length costs nothing but what is seen of it.  Code
is always left to right.  Colours come later, in slices (`colouring`), once the block is complete.
"""

from bisect import bisect_right
from collections.abc import Iterator

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QTextLayout, QTextOption

from app.ui import theme
from app.ui.blocks import Canvas, LeafBlock, Span
from app.ui.colouring import Coloured, Colouring, is_colourable
from app.ui.leaves import Code, Leaf
from app.ui.rich_text import EXTRA_WIDTH, cut, extents, has_right_to_left, units
from app.ui.text_style import Style

PAD = theme.GAP_4
BOTTOM = theme.GAP_3
_BAR = 4
_UNBROKEN = 1e7


class CodeBlock(LeafBlock):
    """Shows a `Code` leaf, which may still grow (`grow`)."""

    selectable = True

    def __init__(self, leaf: Code, above: Leaf | None) -> None:
        super().__init__(leaf, above)
        self.leaf = leaf
        self.scrolled = 0
        self._pitch = self._header = 0
        self._width = 0
        self._widest = 0.0
        self._seen = 0
        self._starts: list[int] = []
        self._layouts: dict[int, QTextLayout] = {}
        self._style: Style | None = None
        self._colouring: Colouring | None = None
        self._colours: list[list[Coloured]] = []
        self._coloured = False

    # --- size -------------------------------------------------------------------------------------------------

    def estimate(self, width: int, style: Style) -> None:
        self._pitch, self._header = style.code_pitch, style.code_header
        self.height = self.gap + self._body_height()

    def lay_out(self, width: int, style: Style) -> int:
        self._pitch, self._header = style.code_pitch, style.code_header
        if style is not self._style:
            self._layouts.clear()
        self._style = style
        self._width = width - self.inset
        self.lay_out_markers(style, style.pitch)
        self._measure(style)
        self.scroll_sideways(0)
        return self._body_height()

    def _body_height(self) -> int:
        return self._header + max(1, len(self.leaf.lines)) * self._pitch + BOTTOM

    def _measure(self, style: Style) -> None:
        """Take the lines that came since the last time into the widest line."""
        for line in self.leaf.lines[max(0, self._seen - 1) :]:
            self._widest = max(self._widest, len(line) * style.mono_character)
        self._seen = len(self.leaf.lines)

    def grow(self, leaf: Code) -> None:
        """The leaf has other lines at its end; colours found before do not hold any more."""
        self.leaf = leaf
        self.place = leaf.place
        self._made_for = None
        if self._colours:
            self._layouts.clear()
        self._colouring, self._coloured = None, False
        self._colours = []

    def drop(self) -> None:
        self._layouts.clear()

    # --- sideways ---------------------------------------------------------------------------------------------

    @property
    def _view_width(self) -> int:
        return self._width - 2 * PAD

    def scroll_sideways(self, by: int) -> bool:
        """Move the lines; True if that changed anything."""
        furthest = max(0, round(self._widest) - self._view_width)
        before, self.scrolled = self.scrolled, min(max(0, self.scrolled + by), furthest)
        return self.scrolled != before

    # --- colours ----------------------------------------------------------------------------------------------

    def wants_colours(self) -> bool:
        """Whether colouring should begin; call only when the block is complete."""
        if self._coloured or self._colouring is not None:
            return not self._coloured
        if not is_colourable(self.leaf.language, self.leaf.lines):
            self._coloured = True
            return False
        self._colouring = Colouring(self.leaf.language, self.leaf.lines)
        return True

    def colour_slice(self) -> bool:
        """Colour for a few milliseconds; True when there is nothing more to do."""
        if self._colouring is None:
            return True
        if not self._colouring.step():
            return False
        self._colours = self._colouring.lines
        self._colouring, self._coloured = None, True
        self._layouts.clear()
        return True

    # --- drawing ----------------------------------------------------------------------------------------------

    def copy_area(self, left: int, top: int, width: int) -> QRect:
        """Where the Copy button belongs, for a block painted there."""
        return QRect(left, top + self.gap, width, self._header).adjusted(0, 4, -theme.GAP_2, -4)

    def paint(self, canvas: Canvas) -> None:
        self.paint_surroundings(canvas)
        painter, style = canvas.painter, canvas.style
        left, top = self.left(canvas), canvas.top + self.gap
        card = QRectF(left, top, self._width, self.height - self.gap)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(style.ground if canvas.on_card else style.raised)
        painter.drawRoundedRect(card, theme.RADIUS, theme.RADIUS)
        painter.setPen(style.quiet)
        painter.setFont(style.small)
        label = QRect(left + PAD, top, self._view_width - theme.px(80), self._header)
        painter.drawText(label, Qt.AlignmentFlag.AlignVCenter, self._label())
        self._paint_lines(canvas, left + PAD, top + self._header)

    def _label(self) -> str:
        return self.leaf.language[:40]

    def _paint_lines(self, canvas: Canvas, left: int, top: int) -> None:
        painter = canvas.painter
        window = QRect(left, top, self._view_width, len(self.leaf.lines) * self._pitch)
        first = max(0, (canvas.clip.top() - top) // self._pitch)
        last = min(len(self.leaf.lines) - 1, (canvas.clip.bottom() - top) // self._pitch)
        self._forget_far(first, last)
        painter.save()
        painter.setClipRect(window.adjusted(-2, 0, PAD - 2, 0), Qt.ClipOperation.IntersectClip)
        painter.setPen(canvas.style.text)
        for line in range(first, last + 1):
            y = top + line * self._pitch
            layout = self._layout(line)
            if canvas.selected is not None:
                self._paint_selection(canvas, line, left, y)
            drop = (self._pitch - layout.lineAt(0).height()) / 2
            layout.draw(painter, QPointF(left - self.scrolled, y + drop))
        painter.restore()
        if self._widest > self._view_width:
            self._paint_bar(canvas, left, top + window.height())

    def _paint_selection(self, canvas: Canvas, line: int, left: int, y: int) -> None:
        if canvas.selected is None:
            return
        start, end = (position - self._start(line) for position in canvas.selected)
        length = units(self.leaf.lines[line])
        if end <= 0 or start > length:
            return
        text_line = self._layout(line).lineAt(0)
        mixed = has_right_to_left(self.leaf.lines[line])
        for x1, x2 in extents(text_line, max(0, start), min(length, end), mixed=mixed):
            area = QRectF(left - self.scrolled + x1, y, x2 - x1, self._pitch)
            canvas.painter.fillRect(area, canvas.style.selection)
        if end > length and line + 1 < len(self.leaf.lines):
            x = left - self.scrolled + text_line.naturalTextWidth()
            canvas.painter.fillRect(QRectF(x, y, EXTRA_WIDTH, self._pitch), canvas.style.selection)

    def _paint_bar(self, canvas: Canvas, left: int, y: int) -> None:
        share = self._view_width / self._widest
        x = left + self.scrolled * share
        canvas.painter.setPen(Qt.PenStyle.NoPen)
        canvas.painter.setBrush(canvas.style.line)
        bar = QRectF(x, y + (BOTTOM - _BAR) / 2, self._view_width * share, _BAR)
        canvas.painter.drawRoundedRect(bar, _BAR / 2, _BAR / 2)

    def _layout(self, line: int) -> QTextLayout:
        layout = self._layouts.get(line)
        if layout is None or layout.text() != self.leaf.lines[line]:
            layout = self._layouts[line] = self._make_layout(line)
        return layout

    def _make_layout(self, line: int) -> QTextLayout:
        if self._style is None:
            raise RuntimeError("the code block is not laid out")
        layout = QTextLayout(self.leaf.lines[line], self._style.mono)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setTabStopDistance(4 * self._style.mono_character)
        layout.setTextOption(option)
        layout.setFormats(list(self._formats(line, self._style)))
        layout.beginLayout()
        layout.createLine().setLineWidth(_UNBROKEN)
        layout.endLayout()
        self._widest = max(self._widest, layout.lineAt(0).naturalTextWidth())
        return layout

    def _formats(self, line: int, style: Style) -> Iterator[QTextLayout.FormatRange]:
        if line >= len(self._colours):
            return
        for piece in self._colours[line]:
            made = QTextLayout.FormatRange()
            made.start, made.length, made.format = piece.start, piece.length, style.code(piece.kind)
            yield made

    def _forget_far(self, first: int, last: int) -> None:
        """Keep the layouts of about three screens."""
        margin = 2 * (last - first + 1)
        if len(self._layouts) > 3 * margin:
            for line in [n for n in self._layouts if not first - margin <= n <= last + margin]:
                del self._layouts[line]

    # --- text -------------------------------------------------------------------------------------------------

    def visible(self) -> str:
        return "\n".join(self.leaf.lines)

    def _start(self, line: int) -> int:
        """The position at which a line begins."""
        starts, lines = self._starts, self.leaf.lines
        del starts[max(1, len(lines)) :]
        if not starts:
            starts.append(0)
        while len(starts) <= line:
            starts.append(starts[-1] + units(lines[len(starts) - 1]) + 1)
        return starts[line]

    @property
    def length(self) -> int:
        if not self.leaf.lines:
            return 0
        last = len(self.leaf.lines) - 1
        return self._start(last) + units(self.leaf.lines[last])

    def part(self, start: int, end: int) -> str:
        return cut(self.visible(), start, end)

    def hit(self, point: QPointF) -> int:
        if not self.leaf.lines:
            return 0
        row = int(point.y() - self.gap - self._header) // self._pitch
        if row < 0:
            return 0
        if row >= len(self.leaf.lines):
            return self.length
        x = point.x() - self.inset - PAD + self.scrolled
        return self._start(row) + self._layout(row).lineAt(0).xToCursor(x)

    def word_at(self, position: int) -> Span:
        if not self.leaf.lines:
            return position, position
        self._start(len(self.leaf.lines) - 1)
        line = bisect_right(self._starts, position) - 1
        start, layout = self._starts[line], self._layout(line)
        mode = QTextLayout.CursorMode.SkipWords
        end = layout.nextCursorPosition(position - start, mode)
        begin = layout.previousCursorPosition(min(position - start + 1, units(layout.text())), mode)
        word = cut(layout.text(), begin, end).rstrip()
        return start + begin, start + begin + units(word)

    def covers_text(self, point: QPointF) -> bool:
        return point.y() >= self.gap + self._header
