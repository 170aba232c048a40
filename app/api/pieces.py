"""What of an answer waits for the client.  Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from app.chat.models import ToolCall
from app.chat.ports import CallBegun, Likelihood

_TOKEN_WEIGHT = 16
"""Characters that a log-probability counts for: about a hundred bytes of JSON."""
_CALL_WEIGHT = 16
"""Characters that the beginning of a call counts for besides its own."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some text, of the answer or of what was thought before it, with the likelihoods of its tokens."""

    text: str
    thought: bool = False
    likelihoods: tuple[Likelihood, ...] = ()

    @property
    def weight(self) -> int:
        """Its size, in characters; nothing without text."""
        tokens = sum(1 + len(one.best) for one in self.likelihoods) if self.text else 0
        return len(self.text) + _TOKEN_WEIGHT * tokens


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


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that is not streamed."""

    text: str
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    likelihoods: tuple[Likelihood, ...] = ()


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of the same kind in one."""
    runs: list[list[Piece]] = []
    for piece in pieces:
        if runs and _goes_on(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [_one(run) for run in runs]


def whole(pieces: Iterable[Piece]) -> Whole:
    """All these together; a broken call is part of the text."""
    said: list[str] = []
    thought: list[str] = []
    likelihoods: list[Likelihood] = []
    calls: dict[int, ToolCall] = {}
    for piece in joined(pieces):
        if isinstance(piece, TextPiece):
            (thought if piece.thought else said).append(piece.text)
            likelihoods += piece.likelihoods
        elif piece.broken:
            calls.pop(piece.index, None)
            said.append(piece.text)
        elif piece.begun is not None:
            calls[piece.index] = ToolCall(piece.begun.id, piece.begun.name, piece.text)
        else:
            call = calls[piece.index]
            calls[piece.index] = replace(call, arguments=call.arguments + piece.text)
    return Whole("".join(said), "".join(thought), tuple(calls.values()), tuple(likelihoods))


def _one(run: Sequence[Piece]) -> Piece:
    """A run of pieces as one: all that is in them is taken once, however many they are."""
    first, text = run[0], "".join(piece.text for piece in run)
    if isinstance(first, CallPiece):
        return replace(first, text=text)
    likelihoods = (one.likelihoods for one in run if isinstance(one, TextPiece))
    return replace(first, text=text, likelihoods=tuple(chain.from_iterable(likelihoods)))


def _goes_on(before: Piece, piece: Piece) -> bool:
    if isinstance(before, TextPiece) or isinstance(piece, TextPiece):
        return (
            isinstance(before, TextPiece)
            and isinstance(piece, TextPiece)
            and before.thought == piece.thought
        )
    return before.index == piece.index and piece.begun is None and not piece.broken
