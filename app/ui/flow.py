"""Where everything in the transcript stands: messages and their blocks as one column, seen through a window.

The place is an anchor (message, block, offset into it), never a scroll value: heights are estimates until a
block is in view, so a value would mean another line with every block that becomes exact.  A small move walks
from the anchor through blocks that are made exact on the way; only a far jump trusts the estimates.  While
`following`, the end is the anchor.  Nothing here walks through all blocks or all messages.
"""

from collections.abc import Iterable
from typing import NamedTuple

from app.chat.models import Role, Summary
from app.ui.blocks import Block
from app.ui.entry import Entry
from app.ui.offsets import Offsets
from app.ui.text_style import Style

KEPT = 160
"""Blocks out of view whose layouts are kept."""


class Spot(NamedTuple):
    """A block in view: which, and the y of its top."""

    entry: int
    block: int
    y: int


class Flow:
    """The column.  Set `entries`, `width`, `height` and `style`, then `place`; `spots` is what is in view."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.summary: Summary | None = None
        """What stands for the first messages, where anything does; `mark_cut` shows it."""
        self._cut: dict[int, str] = {}
        self.spots: list[Spot] = []
        self.fresh: set[int] = set()
        self.following = True
        self.width = 1
        self.height = 1
        self.style = Style()
        self.laid_out = 0
        self._offsets = Offsets()
        self._anchor = (0, 0, 0)
        self._alive: dict[int, Block] = {}

    # --- messages ---------------------------------------------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """Add a message at the end."""
        entry.estimate(self.width, self.style)
        self.entries.append(entry)
        self._offsets.append(entry.height)

    def truncate(self, length: int) -> None:
        """Keep the first `length` messages."""
        for entry in self.entries[length:]:
            self.forget(entry.blocks)
        del self.entries[length:]
        self._offsets.truncate(length)
        self.spots = []
        if self._anchor[0] >= length:
            self._to_end()

    def estimate_again(self) -> None:
        """The width is another one: guess anew for the messages not yet seen."""
        self._offsets = Offsets()
        for entry in self.entries:
            if not entry.is_open:
                entry.estimate(self.width, self.style)
            self._offsets.append(entry.height)

    def resized(self, index: int) -> None:
        """The height of this message is another one."""
        self._offsets.set(index, self.entries[index].height)

    def mark_cut(self) -> None:
        """A line above the first message that is still sent to the model: as the last answer has it, or, where a summary
        reaches as far, as that has it."""
        wanted = self._cuts()
        if wanted == self._cut:
            return
        for index, entry in enumerate(self.entries):
            number = entry.message.id
            if wanted.get(number) != self._cut.get(number):
                entry.set_cut(wanted.get(number), self.width, self.style)
                self.resized(index)
        self._cut = wanted

    def _cuts(self) -> dict[int, str]:
        """The messages with a line above, and the summary that it tells of ("": none)."""
        answers = (entry.message for entry in reversed(self.entries))
        first = next((m.sent_from for m in answers if m.role is Role.ASSISTANT), 0)
        cuts = {first: ""} if first else {}
        if self.summary is not None:
            upto = self.summary.message_id
            border = next((e.message.id for e in self.entries if e.message.id > upto), 0)
            if border:
                cuts = {border: self.summary.text, **(cuts if first > border else {})}
        return cuts

    def forget(self, blocks: Iterable[Block]) -> None:
        """These blocks are no more."""
        for block in blocks:
            self._alive.pop(id(block), None)

    def restyle(self, style: Style) -> None:
        """Drop all that was laid out with another style."""
        self.style = style
        for block in self._alive.values():
            block.release()
        self._alive.clear()

    @property
    def last(self) -> int:
        """The index of the last message, -1 for none."""
        return len(self.entries) - 1

    @property
    def total(self) -> int:
        """Height of the column, px, as far as it is known."""
        return self._offsets.total

    @property
    def alive(self) -> int:
        """The number of blocks that hold a layout."""
        return len(self._alive)

    def is_alive(self, block: Block) -> bool:
        return id(block) in self._alive

    # --- the window -------------------------------------------------------------------------------------------

    def place(self) -> None:
        """Find what is in view, and make it exact.  `fresh` then holds the ids of blocks laid out on the way.

        A window that has the end in view follows it, however the end came there.
        """
        self.fresh.clear()
        self._stay_inside()
        if self.following:
            self._to_end()
        if self._walk() < self.height and self._anchor != (0, 0, 0):
            self._to_end()
            self._walk()
        self.following = self.following or self.at_end
        self._evict()

    def _stay_inside(self) -> None:
        """The block at the anchor may be gone: its message became shorter."""
        entry, block, _ = self._anchor
        if entry < len(self.entries) and self.entries[entry].is_open:
            last = len(self.entries[entry].blocks) - 1
            if block > last:
                self._anchor = (entry, last, 0)

    @property
    def at_end(self) -> bool:
        """Whether the last line is in view."""
        if not self.spots:
            return True
        entry, block, y = self.spots[-1]
        last = self.entries[entry].blocks[block]
        return (entry, block) == self._last() and y + last.height <= self.height

    def offset(self) -> int:
        """How far the window is from the top, px, as far as heights are known."""
        entry, block, inside = self._anchor
        if entry >= len(self.entries):
            return 0
        return self._offsets.before(entry) + self.entries[entry].offsets.before(block) + inside

    def move(self, by: int) -> None:
        """Move the window by some pixels, exactly."""
        if not self.entries:
            return
        entry, block, inside = self._anchor
        inside += by
        while inside < 0 and (entry, block) != (0, 0):
            entry, block = self._previous(entry, block)
            inside += self._exact(entry, block)
        inside = max(0, inside)
        while (entry, block) != self._last() and inside >= self._exact(entry, block):
            inside -= self._exact(entry, block)
            entry, block = self._next(entry, block)
        self._anchor = (entry, block, inside)

    def jump(self, offset: int) -> None:
        """Move the window to about this offset."""
        if not self.entries:
            return
        entry, rest = self._offsets.find(offset)
        self._open(entry)
        block, inside = self.entries[entry].offsets.find(rest)
        height = self._exact(entry, block)
        self._anchor = (entry, block, min(inside, max(0, height - 1)))

    def reveal(self, entry: int) -> None:
        """Move the window so that a message begins at its top."""
        self._anchor = (entry, 0, 0)

    def _last(self) -> tuple[int, int]:
        entry = self.last
        self._open(entry)
        return entry, len(self.entries[entry].blocks) - 1

    def _previous(self, entry: int, block: int) -> tuple[int, int]:
        if block:
            return entry, block - 1
        self._open(entry - 1)
        return entry - 1, len(self.entries[entry - 1].blocks) - 1

    def _next(self, entry: int, block: int) -> tuple[int, int]:
        if block + 1 < len(self.entries[entry].blocks):
            return entry, block + 1
        return entry + 1, 0

    def _to_end(self) -> None:
        """Anchor so that the end is at the bottom of the window."""
        self._anchor = (0, 0, 0)
        if not self.entries:
            return
        entry, block = self._last()
        room = self.height - self._exact(entry, block)
        while room > 0 and (entry, block) != (0, 0):
            entry, block = self._previous(entry, block)
            room -= self._exact(entry, block)
        self._anchor = (entry, block, max(0, -room))

    def _walk(self) -> int:
        """Collect the spots from the anchor down; return the y below the last."""
        self.spots = []
        entry, block, inside = self._anchor
        y = -inside
        while entry < len(self.entries) and y < self.height:
            height = self._exact(entry, block)
            self.spots.append(Spot(entry, block, y))
            y += height
            entry, block = self._next(entry, block)
        return y

    def _open(self, index: int) -> None:
        entry = self.entries[index]
        if not entry.is_open:
            entry.open(self.width, self.style)
            self.resized(index)

    def _exact(self, index: int, number: int) -> int:
        """The height of a block, laid out for this width and style."""
        self._open(index)
        entry = self.entries[index]
        block = entry.blocks[number]
        self._alive.pop(id(block), None)
        self._alive[id(block)] = block
        if not block.is_exact(self.width, self.style):
            block.make_exact(self.width, self.style)
            self.laid_out += 1
            self.fresh.add(id(block))
            entry.offsets.set(number, block.height)
            self.resized(index)
        return block.height

    def _evict(self) -> None:
        """Drop the layouts that were needed longest ago."""
        while len(self._alive) > KEPT + len(self.spots):
            oldest = next(iter(self._alive))
            self._alive.pop(oldest).release()
