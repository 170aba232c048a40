"""One sequence id of the pool, what is evaluated in it, and where the beginning of a prompt comes from."""

from dataclasses import dataclass

from app.engine.backend import TokenArray
from app.engine.blob import Segment, Tip
from app.engine.cells import Handles
from app.engine.prefix import Held
from app.engine.token_buffer import TokenBuffer


class Slot:
    """One sequence id and what is evaluated in it: positions [0, len(tokens))."""

    __slots__ = (
        "busy",
        "cells",
        "cuttable",
        "id",
        "idle_since",
        "last_used",
        "owner",
        "tips",
        "tokens",
        "worth",
    )

    def __init__(self, sequence_id: int, *, cuttable: bool) -> None:
        self.id = sequence_id
        self.tokens = TokenBuffer()
        self.cells = TokenBuffer()
        self.busy = True
        self.cuttable = cuttable
        self.last_used = 0
        self.worth = 0.0
        self.idle_since = 0.0
        self.tips: list[Tip] = []
        self.owner = 0

    @property
    def held(self) -> Held:
        return Held(self.tokens.view, self.cuttable, tuple(tip.at for tip in self.tips))

    @property
    def length(self) -> int:
        return self.tokens.length

    @property
    def handles(self) -> Handles:
        return self.cells.view

    def extend(self, tokens: TokenArray, handles: Handles) -> None:
        """These tokens were evaluated at the end, into these cells."""
        if len(tokens) == 1:
            # Every row of every step: putting in a number is quicker than putting in an array.
            self.tokens.append(int(tokens[0]))
            self.cells.append(int(handles[0]))
        else:
            self.tokens.extend(tokens)
            self.cells.extend(handles)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the beginning of a prompt comes from: `live` tokens of `slot`, then saved `segments`."""

    slot: Slot | None = None
    live: int = 0
    segments: tuple[Segment, ...] = ()

    @property
    def length(self) -> int:
        return self.segments[-1].end if self.segments else self.live
