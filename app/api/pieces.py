"""What of an answer waits for the client.  Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.chat.models import ToolCall
from app.chat.ports import CallBegun

_CALL_WEIGHT = 16
"""Characters that the beginning of a call counts for besides its own."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some text, of the answer or of what was thought before it."""

    text: str
    thought: bool = False

    @property
    def weight(self) -> int:
        """Its size, in characters."""
        return len(self.text)


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A call that has `begun`, or more of its arguments; with `broken`, what was written instead of the call."""

    index: int
    text: str
    begun: CallBegun | None = None
    broken: bool = False

    @property
    def weight(self) -> int:
        """Its size, in characters."""
        if self.begun is None:
            return len(self.text) + self.broken
        return len(self.text) + len(self.begun.id) + len(self.begun.name) + _CALL_WEIGHT


Piece = TextPiece | CallPiece


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of the same kind in one."""
    found: list[Piece] = []
    for piece in pieces:
        if found and _goes_on(found[-1], piece):
            found[-1] = replace(found[-1], text=found[-1].text + piece.text)
        else:
            found.append(piece)
    return found


def whole(pieces: Iterable[Piece]) -> tuple[str, str, list[ToolCall]]:
    """The answer, what was thought, and the calls of all these; a broken call is part of the answer."""
    said: list[str] = []
    thought: list[str] = []
    calls: dict[int, ToolCall] = {}
    for piece in pieces:
        if isinstance(piece, TextPiece):
            (thought if piece.thought else said).append(piece.text)
        elif piece.broken:
            calls.pop(piece.index, None)
            said.append(piece.text)
        elif piece.begun is not None:
            calls[piece.index] = ToolCall(piece.begun.id, piece.begun.name, piece.text)
        else:
            call = calls[piece.index]
            calls[piece.index] = replace(call, arguments=call.arguments + piece.text)
    return "".join(said), "".join(thought), [*calls.values()]


def _goes_on(before: Piece, piece: Piece) -> bool:
    if isinstance(before, TextPiece) or isinstance(piece, TextPiece):
        return (
            isinstance(before, TextPiece)
            and isinstance(piece, TextPiece)
            and before.thought == piece.thought
        )
    return before.index == piece.index and piece.begun is None and not piece.broken
