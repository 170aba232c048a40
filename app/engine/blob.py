"""A saved state: the bytes, what they stand for, and what is taken of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.engine.backend import TokenArray

_RESTORED_FOR_ONE_READ = 32
"""Cells that are put back for less than it costs to read one token."""


@dataclass(frozen=True, slots=True)
class Tip:
    """The state at a position of a sequence, besides its cells."""

    at: int
    data: bytes


@dataclass(eq=False, slots=True)
class Blob:
    """Saved cells of positions [start, end) of a chat of `owner` (0: nobody's, kept in memory only, until a chat goes on
    from it; negative: a deleted chat's, which goes with the last of its requests).

    `data` is None while the bytes are only in `file`.  `tokens` are those of positions [0, end).
    """

    start: int
    end: int
    data: bytes | None
    tokens: TokenArray
    owner: int = 0
    users: int = 1
    tips: tuple[Tip, ...] = ()
    file: Path | None = None
    ordered: bool = False
    """Whether it was given to the thread that writes files."""

    @property
    def unwritten(self) -> bool:
        """Whether its bytes are in memory only."""
        return self.file is None and self.data is not None

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return len(self.data or b"") + sum(len(tip.data) for tip in self.tips)


@dataclass(frozen=True, slots=True)
class Segment:
    """Positions [start, end), to be taken from `blob`; with `tip` where the blob goes on beyond `end`."""

    blob: Blob
    start: int
    end: int
    tip: bytes | None = None


def worth_restoring(segments: Sequence[Segment], live: int) -> bool:
    """Whether the tokens beyond `live` are worth the cells that have to be put back for them."""
    blobs = {id(segment.blob): segment.blob for segment in segments}
    cells = sum(blob.end - blob.start for blob in blobs.values())
    return (segments[-1].end - live) * _RESTORED_FOR_ONE_READ >= cells
