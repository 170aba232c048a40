"""What the incremental parser reads at once, and what it knows of blocks that are still open.  Without Qt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.ui.leaves import Code

if TYPE_CHECKING:
    from markdown_it.token import Token

_DELIMITER = re.compile(r"[ \t|:-]+")


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block of a piece: its tokens and its lines [start, end) in the piece."""

    tokens: Sequence[Token]
    start: int
    end: int

    @property
    def kind(self) -> str:
        return self.tokens[0].type

    def items(self) -> list[int]:
        """The lines on which the items of a list begin."""
        return [
            token.map[0]
            for token in self.tokens
            if token.type == "list_item_open" and token.level == 1 and token.map
        ]


class Piece:
    """What the parser reads at once: the tail, below the header of an open table if there is one."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.split("\n")
        self.complete = len(self.lines) - 1

    def cut(self, start: int, end: int | None = None) -> str:
        return "\n".join(self.lines[start:end])

    def settled(self, line: int) -> bool:
        """Whether what begins on this line surely does: it is complete, and so is the next if that may be a table."""
        return line + ("|" in self.lines[line]) < self.complete

    def can_begin_tail(self, line: int) -> bool:
        """Whether what begins here is settled, and would not become a table if nothing stood before it."""
        if not self.settled(line):
            return False
        return "|" not in self.lines[line] or _DELIMITER.fullmatch(self.lines[line + 1]) is None


class Fence:
    """An open code fence: what closes it, and how many of its lines are complete."""

    def __init__(self, leaf: Code, markup: str, indent: str) -> None:
        self.leaf = leaf
        self.closer = re.compile(f"{indent}{markup[0]}{{{len(markup)},}}[ \\t]*")
        self.complete = 0


@dataclass(frozen=True, slots=True)
class Table:
    """An open table: its two header lines, read again before the tail, and its source line."""

    header: str
    line: int


def blocks_of(tokens: Sequence[Token]) -> list[Block]:
    """The top-level blocks of a parse."""
    found: list[Block] = []
    begin = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            start, end = tokens[begin].map or [0, 0]
            found.append(Block(tokens[begin : index + 1], start, end))
            begin = index + 1
    return found
