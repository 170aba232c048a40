"""What is selected in the transcript: two positions, which survive whatever is appended.

Closed blocks never change their index or their text, so a selection in them stays as it is; in the block that is
being written it is cut to the block's length.
"""

from collections.abc import Sequence
from typing import NamedTuple

from app.ui.blocks import Span
from app.ui.entry import Entry


class Position(NamedTuple):
    """A place between two characters: index of the message, of the block in it, UTF-16 offset in the block."""

    entry: int
    block: int
    offset: int


_END = 2**31 - 1


class Selection:
    """From `anchor`, where it began, to `head`, where the mouse is.  Empty when both are the same."""

    def __init__(self) -> None:
        self.anchor = Position(0, 0, 0)
        self.head = self.anchor
        self._words: tuple[Position, Position] | None = None

    @property
    def is_empty(self) -> bool:
        return self.anchor == self.head

    @property
    def ordered(self) -> tuple[Position, Position]:
        """Both ends, the earlier one first."""
        return min(self.anchor, self.head), max(self.anchor, self.head)

    def clear(self) -> None:
        """Select nothing."""
        self.begin(Position(0, 0, 0))

    def begin(self, at: Position) -> None:
        """Begin an empty selection here."""
        self.anchor = self.head = at
        self._words = None

    def begin_with(self, start: Position, end: Position) -> None:
        """Begin with a word or a paragraph, which stays selected while the selection grows."""
        self.anchor, self.head = start, end
        self._words = (start, end)

    def extend(self, to: Position) -> None:
        """Move the head."""
        if self._words is None:
            self.head = to
            return
        start, end = self._words
        self.anchor, self.head = (end, to) if to < start else (start, max(end, to))

    def select_all(self, entries: Sequence[Entry]) -> None:
        """Select everything."""
        self.begin_with(Position(0, 0, 0), Position(len(entries), 0, 0))

    def truncate(self, length: int) -> None:
        """Only the first `length` messages are left."""
        if self.ordered[1].entry >= length:
            self.clear()

    def span(self, entry: int, block: int, length: int) -> Span | None:
        """What is selected of a block of this length; None if nothing."""
        if self.is_empty:
            return None
        (start, end), here = self.ordered, (entry, block)
        if here < start[:2] or here > end[:2]:
            return None
        first = start.offset if here == start[:2] else 0
        last = end.offset if here == end[:2] else length + 1
        return (first, last) if first < last else None

    def text(self, entries: Sequence[Entry]) -> str:
        """What is copied: the source of whole messages and blocks, else what is seen."""
        if self.is_empty:
            return ""
        start, end = self.ordered
        parts: list[str] = []
        for index in range(start.entry, min(end.entry + 1, len(entries))):
            low = start[1:] if index == start.entry else (0, 0)
            high = end[1:] if index == end.entry else (_END, _END)
            part = _part(entries[index], low, high)
            if part:
                parts.append(part)
        return "\n\n".join(parts)


def _part(entry: Entry, low: tuple[int, int], high: tuple[int, int]) -> str:
    if not entry.is_open:
        return entry.text if high == (_END, _END) else ""
    if (
        low[0] == high[0]
    ):  # in one block: whoever marks a piece of code wants the code, not its fence
        return entry.blocks[low[0]].part(low[1], high[1])
    last = len(entry.blocks) - 2
    if last < 1:
        return ""
    if low[0] < 1:
        low = (1, 0)
    if high[0] > last:
        high = (last, entry.blocks[last].length)
    if low > high:
        return ""
    if low == (1, 0) and high >= (last, entry.blocks[last].length):
        return entry.text
    return entry.selected(low, high)
