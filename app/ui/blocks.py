"""A block: what the transcript lays out, draws, selects and drops as one piece.

A block has an estimated height until it is first in view, and an exact one from then on.  What it laid out may be
dropped at any time (`release`); the height stays.  Positions inside a block are UTF-16 units of its visible text.
"""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QPainter, QTextCharFormat

from app.ui import inline, theme
from app.ui.inline import Run
from app.ui.leaves import LIST, QUOTE, Leaf, Paragraph, Place, Plain, Row, Rule
from app.ui.markdown import Markdown
from app.ui.rich_text import RichText, units
from app.ui.text_style import Style

LIST_INSET = 24
QUOTE_INSET = 16
"""How far a list and a quote push their content in, px at the usual scale."""
_BAR = 3
_MARKER_GAP = 8

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where and with what a block draws: its column's left edge and width, its top, what is selected of it."""

    painter: QPainter
    style: Style
    left: int
    top: int
    width: int
    clip: QRect
    selected: Span | None = None
    on_card: bool = False


class Block:
    """Base of all blocks: the bookkeeping of heights, and the answers of a block that has no text."""

    selectable = False
    """Whether the block has text that can be selected."""

    def __init__(self, gap: int = 0, place: Place | None = None) -> None:
        self.gap = gap
        self.place = place
        self.height = gap
        self._made_for: tuple[int, Style] | None = None

    def is_exact(self, width: int, style: Style) -> bool:
        """Whether the block is laid out for this width and style."""
        return self._made_for == (width, style)

    def make_exact(self, width: int, style: Style) -> None:
        """Lay out, and set the exact height."""
        self.height = self.gap + self.lay_out(width, style)
        self._made_for = (width, style)

    def release(self) -> None:
        """Drop what was laid out; the height stays."""
        self._made_for = None
        self.drop()

    def lay_out(self, width: int, style: Style) -> int:
        """Make what `paint` needs; return the height without the gap above."""
        return self.height - self.gap

    def estimate(self, width: int, style: Style) -> None:
        """Guess the height without laying out."""

    def drop(self) -> None:
        """Forget what `lay_out` made."""

    def paint(self, canvas: Canvas) -> None:
        """Draw; `canvas.top` is the top of the gap."""

    def visible(self) -> str:
        """The text that a reader sees."""
        return ""

    @property
    def length(self) -> int:
        """The number of selection positions."""
        return units(self.visible())

    def part(self, start: int, end: int) -> str:
        """The visible text between two positions."""
        return ""

    def hit(self, point: QPointF) -> int:
        """The position nearest to this point of the column, y from the block's top."""
        return 0

    def word_at(self, position: int) -> Span:
        return position, position

    def link_at(self, point: QPointF) -> str:
        return ""

    def covers_text(self, point: QPointF) -> bool:
        return False


def inset(path: str) -> int:
    """How far the containers of this path push their content in."""
    return sum(_step(letter) for letter in path)


def _step(letter: str) -> int:
    return theme.px(LIST_INSET if letter == LIST else QUOTE_INSET)


def gap_between(above: Leaf | None, leaf: Leaf) -> int:
    """The space between two leaves of a message."""
    if above is None:
        return 0
    if isinstance(leaf, Plain) and leaf.joint is not None:
        return 0
    if isinstance(leaf, Row) and not leaf.head:
        return 0
    if isinstance(leaf, Paragraph) and leaf.level:
        return theme.GAP_5 if leaf.level < 3 else theme.GAP_4
    if isinstance(above, Paragraph) and above.level:
        return theme.GAP_2
    if isinstance(leaf, Rule) or isinstance(above, Rule):
        return theme.GAP_4
    if leaf.place.markers and above.place.path[: len(leaf.place.path)].endswith(LIST):
        return theme.GAP_1 + 2
    return theme.GAP_3


class LeafBlock(Block):
    """A block of a message's body: stands in containers, and draws their bars and markers."""

    def __init__(self, leaf: Leaf, above: Leaf | None) -> None:
        super().__init__(gap_between(above, leaf), leaf.place)
        self._path = leaf.place.path
        self._joined = _shared_quotes(above, leaf)
        self._markers: list[tuple[int, RichText]] = [
            (index, RichText([Run(text)])) for index, text in leaf.place.markers
        ]
        self.right_to_left = False

    @property
    def inset(self) -> int:
        """How far the content stands in."""
        return inset(self._path)

    def left(self, canvas: Canvas) -> int:
        """Where the content begins."""
        return canvas.left + (0 if self.right_to_left else self.inset)

    def lay_out_markers(self, style: Style, pitch: int) -> None:
        for _, marker in self._markers:
            marker.lay_out(400, style, style.body, pitch, style.format(inline.Look.QUIET))

    def paint_surroundings(self, canvas: Canvas) -> None:
        """The bars of quotes and the markers of lists."""
        at = 0
        for index, letter in enumerate(self._path):
            if letter == QUOTE:
                top = canvas.top if index < self._joined else canvas.top + self.gap
                x = self._mirrored(canvas, at + 2, _BAR)
                bottom = canvas.top + self.height
                canvas.painter.fillRect(QRect(x, top, _BAR, bottom - top), canvas.style.line)
            at += _step(letter)
        for index, marker in self._markers:
            end = inset(self._path[: index + 1]) - _MARKER_GAP
            width = round(marker.natural_width)
            x = self._mirrored(canvas, end - width, width)
            marker.draw(canvas.painter, QPointF(x, canvas.top + self.gap), canvas.style)

    def _mirrored(self, canvas: Canvas, offset: int, width: int) -> int:
        if self.right_to_left:
            return canvas.left + canvas.width - offset - width
        return canvas.left + offset


def _shared_quotes(above: Leaf | None, leaf: Leaf) -> int:
    """How many of the outer containers of `leaf` go on from the leaf above, so that bars meet."""
    if above is None:
        return 0
    shared = 0
    for mine, other in zip(leaf.place.path, above.place.path, strict=False):
        if mine != other:
            break
        shared += 1
    return shared


class TextBlock(LeafBlock):
    """A paragraph, a heading, or a slice of plain text."""

    selectable = True

    def __init__(self, leaf: Paragraph | Plain, above: Leaf | None, document: Markdown) -> None:
        super().__init__(leaf, above)
        self.leaf = leaf
        self._document = document
        self._rich: RichText | None = None

    def estimate(self, width: int, style: Style) -> None:
        characters = len(self.leaf.text)
        breaks = self.leaf.text.count("\n")
        per_line = max(1.0, (width - self.inset) / style.character)
        self.height = self.gap + round(1 + breaks + characters / per_line) * style.pitch

    def lay_out(self, width: int, style: Style) -> int:
        rich = self.rich
        self.right_to_left = rich.right_to_left
        font, pitch = style.body, style.pitch
        if isinstance(self.leaf, Paragraph) and self.leaf.level:
            font, pitch = style.heading(self.leaf.level)
        self.lay_out_markers(style, pitch)
        return rich.lay_out(width - self.inset, style, font, pitch, self._base(style))

    def _base(self, style: Style) -> QTextCharFormat | None:
        return style.format(inline.Look.QUIET) if QUOTE in self._path else None

    def drop(self) -> None:
        self._rich = None

    @property
    def rich(self) -> RichText:
        """The text with its looks; made when first asked for."""
        if self._rich is None:
            if isinstance(self.leaf, Plain):
                runs = [Run(self.leaf.text)] if self.leaf.text else []
            else:
                runs = inline.runs(self.leaf.text, self._document.references)
            self._rich = RichText(runs)
        return self._rich

    def paint(self, canvas: Canvas) -> None:
        self.paint_surroundings(canvas)
        at = QPointF(self.left(canvas), canvas.top + self.gap)
        self.rich.draw(canvas.painter, at, canvas.style, canvas.selected, QRectF(canvas.clip))

    def visible(self) -> str:
        return self.rich.visible()

    @property
    def length(self) -> int:
        return self.rich.length

    def part(self, start: int, end: int) -> str:
        return self.rich.visible(start, end)

    def _inside(self, point: QPointF) -> QPointF:
        return QPointF(point.x() - (0 if self.right_to_left else self.inset), point.y() - self.gap)

    def hit(self, point: QPointF) -> int:
        return self.rich.hit(self._inside(point))

    def word_at(self, position: int) -> Span:
        return self.rich.word_at(position)

    def link_at(self, point: QPointF) -> str:
        return self.rich.link_at(self._inside(point))

    def covers_text(self, point: QPointF) -> bool:
        return self.rich.covers(self._inside(point))


class RuleBlock(LeafBlock):
    """A thematic break."""

    def lay_out(self, width: int, style: Style) -> int:
        return theme.HAIRLINE

    def estimate(self, width: int, style: Style) -> None:
        self.height = self.gap + theme.HAIRLINE

    def paint(self, canvas: Canvas) -> None:
        self.paint_surroundings(canvas)
        line = QRect(
            self.left(canvas), canvas.top + self.gap, canvas.width - self.inset, theme.HAIRLINE
        )
        canvas.painter.fillRect(line, canvas.style.line)
