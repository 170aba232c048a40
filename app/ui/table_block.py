"""A table: every row is a block of its own, and all rows of a table share their `Columns`.

So only the rows in view are laid out.  The widths come from the longest cell of each column; when one grows, the
rows laid out before are no longer exact and are made again as they come into view.
"""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from app.ui import inline, theme
from app.ui.blocks import Canvas, LeafBlock, Span
from app.ui.leaves import Leaf, Row
from app.ui.markdown import Markdown
from app.ui.rich_text import RichText, is_right_to_left
from app.ui.text_style import Style

PAD_X, PAD_Y = theme.GAP_3, 7
NARROWEST = 64
WIDEST = 420
_STEP = 16
"""Widths are multiples of this, so that a cell that is being written does not move the table with every letter."""


class Columns:
    """The columns of one table, shared by its rows.  `version` counts the changes of their widths."""

    def __init__(self) -> None:
        self.version = 0
        self.scrolled = 0
        self.right_to_left = False
        self._longest: list[str] = []
        self._made_for: tuple[int, Style, int] | None = None
        self._widths: list[int] = []
        self._wanted: list[int] = []
        self._dirty = True

    def add(self, row: Row) -> None:
        """Take the cells of a new or changed row into account."""
        if row.head:
            self.right_to_left = is_right_to_left(" ".join(row.cells))
        for index, cell in enumerate(row.cells):
            if index == len(self._longest):
                self._longest.append("")
            if _weight(cell) > _weight(self._longest[index]):
                self._longest[index] = cell
                self._dirty = True

    def widths(self, available: int, style: Style) -> Sequence[int]:
        """Widths that fit into `available` px if they can."""
        if self._dirty:
            wanted = [self._want(cell, style) for cell in self._longest]
            self.version += wanted != self._wanted
            self._wanted, self._dirty = wanted, False
        key = (available, style, self.version)
        if key != self._made_for:
            self._made_for = key
            self._widths = fit(self._wanted, available)
        return self._widths

    def _want(self, cell: str, style: Style) -> int:
        natural = QFontMetricsF(style.body).horizontalAdvance(cell[:400]) + 2 * PAD_X + 4
        return min(theme.px(WIDEST), -(-round(natural) // _STEP) * _STEP)

    @property
    def total(self) -> int:
        return sum(self._widths)

    def scroll_sideways(self, by: int, view: int) -> bool:
        """Move the table's rows; True if that changed anything."""
        before = self.scrolled
        self.scrolled = min(max(0, self.scrolled + by), max(0, self.total - view))
        return self.scrolled != before


def _weight(cell: str) -> int:
    """About how wide a cell is, in characters: those of the East count double."""
    return len(cell) if cell.isascii() else len(cell) + sum(letter > "\u2e7f" for letter in cell)


def fit(wanted: Sequence[int], available: int) -> list[int]:
    """Shrink the wide columns to an equal share of what the narrow ones leave, but never below `NARROWEST`."""
    if sum(wanted) <= available or not wanted:
        return list(wanted)
    share, left, open_columns = 0, available, len(wanted)
    for width in sorted(wanted):
        share = left // open_columns
        if width > share:
            break
        left -= width
        open_columns -= 1
    limit = max(share, theme.px(NARROWEST))
    return [min(width, limit) for width in wanted]


class RowBlock(LeafBlock):
    """One row."""

    selectable = True

    def __init__(self, leaf: Row, above: Leaf | None, document: Markdown, columns: Columns) -> None:
        super().__init__(leaf, above)
        self.leaf = leaf
        self.columns = columns
        self._document = document
        self._cells: list[RichText] | None = None
        self._version = 0
        self._width = 0

    def is_exact(self, width: int, style: Style) -> bool:
        self.columns.widths(width - self.inset, style)
        return self._version == self.columns.version and super().is_exact(width, style)

    def estimate(self, width: int, style: Style) -> None:
        self.height = self.gap + style.pitch + 2 * PAD_Y + theme.HAIRLINE

    def lay_out(self, width: int, style: Style) -> int:
        self._width = width - self.inset
        widths = self.columns.widths(self._width, style)
        self._version = self.columns.version
        self.lay_out_markers(style, style.pitch)
        tallest = style.pitch
        font = theme.body_font(bold=True) if self.leaf.head else style.body
        for cell, column, align in zip(self.cells, widths, self.leaf.aligns, strict=False):
            flag = _ALIGNS.get(align)
            height = cell.lay_out(column - 2 * PAD_X, style, font, style.pitch, align=flag)
            tallest = max(tallest, height)
        return tallest + 2 * PAD_Y + theme.HAIRLINE

    def scroll_sideways(self, by: int) -> bool:
        """Move the whole table; True if that changed anything."""
        return self.columns.scroll_sideways(by, self._width)

    def drop(self) -> None:
        self._cells = None

    @property
    def cells(self) -> Sequence[RichText]:
        """The cells' texts; made when first asked for."""
        if self._cells is None:
            references = self._document.references
            self._cells = [RichText(inline.runs(cell, references)) for cell in self.leaf.cells]
        return self._cells

    def _lefts(self) -> Iterator[tuple[int, int, RichText]]:
        """For each cell: its left edge and width from the row's left, and its text."""
        widths = self.columns.widths(self._width, self._style())
        x = -self.columns.scrolled
        if self.columns.right_to_left:
            x += max(sum(widths), self._width)
        for width, cell in zip(widths, self.cells, strict=False):
            if self.columns.right_to_left:
                x -= width
                yield x, width, cell
            else:
                yield x, width, cell
                x += width

    def _style(self) -> Style:
        if self._made_for is None:
            raise RuntimeError("the row is not laid out")
        return self._made_for[1]

    def paint(self, canvas: Canvas) -> None:
        self.paint_surroundings(canvas)
        painter, left, top = canvas.painter, self.left(canvas), canvas.top + self.gap
        bottom = canvas.top + self.height - theme.HAIRLINE
        shown = min(self._width, self.columns.total)
        start = left + self._width - shown if self.columns.right_to_left else left
        painter.save()
        row = QRect(start, top, shown, self.height - self.gap)
        painter.setClipRect(row, Qt.ClipOperation.IntersectClip)
        painter.fillRect(QRect(start, bottom, shown, theme.HAIRLINE), canvas.style.line)
        at = 0
        for x, _, cell in self._lefts():
            selected = _within(canvas.selected, at, cell.length)
            point = QPointF(left + x + PAD_X, top + PAD_Y)
            cell.draw(painter, point, canvas.style, selected, QRectF(canvas.clip))
            at += cell.length + 1
        painter.restore()

    def visible(self) -> str:
        return "\t".join(cell.visible() for cell in self.cells)

    @property
    def length(self) -> int:
        return sum(cell.length + 1 for cell in self.cells) - 1 if self.cells else 0

    def part(self, start: int, end: int) -> str:
        parts, at = [], 0
        for cell in self.cells:
            inside = _within((start, end), at, cell.length)
            if inside is not None:
                parts.append(cell.visible(*inside))
            at += cell.length + 1
        return "\t".join(parts)

    def _cell_under(self, point: QPointF) -> tuple[int, RichText, QPointF] | None:
        """Position of the cell's beginning, the cell, and the point inside it."""
        at, nearest = 0, None
        for x, width, cell in self._lefts():
            inside = QPointF(point.x() - self.inset - x - PAD_X, point.y() - self.gap - PAD_Y)
            distance = max(-inside.x() - PAD_X, inside.x() - width + PAD_X, 0)
            if nearest is None or distance < nearest[0]:
                nearest = (distance, at, cell, inside)
            at += cell.length + 1
        return nearest[1:] if nearest is not None else None

    def hit(self, point: QPointF) -> int:
        found = self._cell_under(point)
        return found[0] + found[1].hit(found[2]) if found is not None else 0

    def link_at(self, point: QPointF) -> str:
        found = self._cell_under(point)
        return found[1].link_at(found[2]) if found is not None else ""

    def covers_text(self, point: QPointF) -> bool:
        found = self._cell_under(point)
        return found is not None and found[1].covers(found[2])

    def word_at(self, position: int) -> Span:
        at = 0
        for cell in self.cells:
            if position <= at + cell.length:
                start, end = cell.word_at(position - at)
                return at + start, at + end
            at += cell.length + 1
        return position, position


_ALIGNS = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}


def _within(selected: Span | None, at: int, length: int) -> Span | None:
    """The part of a selection that falls on [at, at + length], counted from `at`."""
    if selected is None or selected[1] < at or selected[0] > at + length:
        return None
    return max(0, selected[0] - at), min(length, selected[1] - at)
