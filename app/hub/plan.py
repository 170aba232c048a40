"""Which bytes are still missing, and what arrives of them put together into blocks.  Sans I/O.

What has arrived of a block is kept when the connection breaks, so that the next one begins exactly there.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.hub.journal import BLOCK, block_count, block_length


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes of block `index`, whole."""

    index: int
    data: bytes


class Overrun(Exception):
    """More bytes arrived than were asked for."""


class Plan:
    """The missing blocks of a file of `size` bytes, of which those in `written` are there."""

    def __init__(self, size: int, written: Iterable[int] = ()) -> None:
        self._size = size
        self._missing = set(range(block_count(size))).difference(written)
        self._current: int | None = None
        self._buffer = bytearray()

    @property
    def missing_bytes(self) -> int:
        """Of all missing blocks, less what has arrived of the one that is being put together."""
        return sum(block_length(i, self._size) for i in self._missing) - len(self._buffer)

    def next_range(self) -> tuple[int, int] | None:
        """First and last byte to ask for; None when nothing is missing."""
        if self._current is None:
            self._current = min(self._missing, default=None)
        if self._current is None:
            return None
        end = self._current
        while end + 1 in self._missing:
            end += 1
        last = end * BLOCK + block_length(end, self._size) - 1
        return self._current * BLOCK + len(self._buffer), last

    def feed(self, data: bytes) -> list[Block]:
        """Take what came next in the asked range; gives the blocks that are whole now.  Raises Overrun."""
        whole: list[Block] = []
        view = memoryview(data)
        while view:
            if self._current is None or self._current not in self._missing:
                raise Overrun
            wanted = block_length(self._current, self._size) - len(self._buffer)
            self._buffer += view[:wanted]
            view = view[wanted:]
            if len(self._buffer) == block_length(self._current, self._size):
                whole.append(self._finish(self._current))
        return whole

    def _finish(self, index: int) -> Block:
        block = Block(index, bytes(self._buffer))
        self._buffer.clear()
        self._missing.discard(index)
        self._current = index + 1 if index + 1 in self._missing else None
        return block

    def lose(self, indexes: Iterable[int]) -> None:
        """These blocks are to be fetched after all: they are damaged."""
        self._missing.update(indexes)
