"""What a model thought before it answered: one line that says how long, and the text once it is unfolded.

The text is shown as it was written, in slices that are laid out once: it may be long, and it grows while it is read.
"""

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF

from app.chat.models import Message, Status
from app.ui import theme
from app.ui.blocks import Block, Canvas, Span
from app.ui.inline import Look, Run
from app.ui.rich_text import RichText
from app.ui.text_style import Style

translate = QCoreApplication.translate

ROW = 28
"""Height of the line, px at the usual scale."""
_SLICE = 2_000
_BAR = 3
_INSET = 16


def words_of(message: Message) -> str:
    """What the line says."""
    if message.status is Status.STREAMING and not message.text:
        return translate("Transcript", "Thinking…")
    seconds = message.thought_seconds
    if seconds <= 0:
        return translate("Transcript", "Thoughts")
    shown = f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
    return translate("Transcript", "Thought for {0} s").format(shown)


class _Slice:
    """Some lines of the text, laid out on its own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.rich = RichText([Run(text)])
        self.height = 0
        self._made_for: tuple[int, Style] | None = None

    def lay_out(self, width: int, style: Style) -> int:
        if self._made_for != (width, style):
            look = style.format(Look.QUIET)
            self.height = self.rich.lay_out(width, style, style.body, style.pitch, look)
            self._made_for = (width, style)
        return self.height


class ThoughtBlock(Block):
    """Folded until somebody looks."""

    def __init__(self, message: Message) -> None:
        super().__init__()
        self.folded = True
        self.label = words_of(message)
        self._pieces: list[str] = []
        self._slices: list[_Slice] = []

    @property
    def selectable(self) -> bool:  # type: ignore[override]
        return not self.folded and bool(self._slices)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece.text for piece in self._slices) + "".join(self._pieces)

    def append(self, text: str) -> None:
        """More text; nothing is laid out."""
        self._pieces.append(text)
        if not self.folded:
            self._made_for = None

    def update(self, message: Message) -> None:
        """Take over text and state of this message."""
        if message.reasoning != self.text:
            self._slices, self._pieces = [], [message.reasoning]
            self._made_for = None
        self.label = words_of(message)

    def end(self) -> None:
        """The answer has begun; how long it took is told when the answer is complete."""
        self.label = translate("Transcript", "Thoughts")

    def toggle(self) -> None:
        """Show the text, or hide it."""
        self.folded = not self.folded
        self.release()

    def row(self, left: int, top: int, width: int) -> QRect:
        """Where the line is, for a block painted there."""
        return QRect(left, top, width, theme.px(ROW))

    # --- layout -----------------------------------------------------------------------------------------------

    def estimate(self, width: int, style: Style) -> None:
        self.height = theme.px(ROW) + theme.GAP_1

    def lay_out(self, width: int, style: Style) -> int:
        height = theme.px(ROW) + theme.GAP_1
        if self.folded:
            return height
        self._cut()
        inside = max(1, width - theme.px(_INSET))
        return height + sum(piece.lay_out(inside, style) for piece in self._slices) + theme.GAP_3

    def _cut(self) -> None:
        """Put what has arrived into slices that end at the ends of lines where they can."""
        text, self._pieces = "".join(self._pieces), []
        if text and self._slices:
            text = self._slices.pop().text + text
        while text:
            end = len(text)
            if end > _SLICE:
                end = text.rfind("\n", 0, _SLICE) + 1 or _SLICE
            self._slices.append(_Slice(text[:end]))
            text = text[end:]

    def drop(self) -> None:
        self._slices, self._pieces = [], [self.text]

    def paint(self, canvas: Canvas) -> None:
        if self.folded:
            return
        left, top = canvas.left + theme.px(_INSET), canvas.top + theme.px(ROW)
        bar = QRect(canvas.left, top, theme.px(_BAR), self.height - theme.px(ROW) - theme.GAP_3)
        canvas.painter.fillRect(bar, canvas.style.line)
        for start, y, piece in self._placed():
            at = QPointF(left, top + y)
            chosen = _part_of(canvas.selected, start, piece.rich.length)
            piece.rich.draw(canvas.painter, at, canvas.style, chosen, QRectF(canvas.clip))

    def _placed(self) -> Iterator[tuple[int, int, _Slice]]:
        """Each slice with its first position and its top below the line."""
        start = y = 0
        for piece in self._slices:
            yield start, y, piece
            start += piece.rich.length
            y += piece.height

    # --- text -------------------------------------------------------------------------------------------------

    def visible(self) -> str:
        return self.label if self.folded else f"{self.label}\n{self.text}"

    @property
    def length(self) -> int:
        return sum(piece.rich.length for piece in self._slices)

    def part(self, start: int, end: int) -> str:
        parts = []
        for first, _, piece in self._placed():
            low, high = max(0, start - first), min(piece.rich.length, end - first)
            if low < high:
                parts.append(piece.rich.visible(low, high))
        return "".join(parts)

    def _under(self, point: QPointF) -> tuple[int, _Slice, QPointF] | None:
        """The slice nearest to this point, its first position, and the point in it."""
        found = None
        for start, y, piece in self._placed():
            inside = point - QPointF(theme.px(_INSET), theme.px(ROW) + y)
            if found is None or inside.y() >= 0:
                found = (start, piece, inside)
        return found

    def hit(self, point: QPointF) -> int:
        under = self._under(point)
        return 0 if under is None else under[0] + under[1].rich.hit(under[2])

    def word_at(self, position: int) -> Span:
        for start, _, piece in self._placed():
            if position < start + piece.rich.length:
                low, high = piece.rich.word_at(position - start)
                return start + low, start + high
        return position, position

    def covers_text(self, point: QPointF) -> bool:
        under = self._under(point)
        return self.selectable and under is not None and under[1].rich.covers(under[2])


def _part_of(selected: Span | None, start: int, length: int) -> Span | None:
    """What of a selection lies in the `length` positions from `start` on."""
    if selected is None:
        return None
    low, high = max(0, selected[0] - start), min(length + 1, selected[1] - start)
    return (low, high) if low < high else None
