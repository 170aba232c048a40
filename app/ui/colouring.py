"""Colours of a code block, found in slices: Pygments takes 2 to 6 ms for a thousand characters.

A lexer is a generator, so it can be left and taken up again; nothing here blocks longer than one of its tokens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.ui.rich_text import units
from app.ui.text_style import CodeKind

if TYPE_CHECKING:
    from pygments.lexer import Lexer

SIZE_LIMIT = 200_000
"""Characters of a block that is still coloured."""
LINE_LIMIT = 2_000
"""Characters of the longest line of a block that is still coloured."""
SLICE_SECONDS = 0.003

_KINDS = (
    ("Keyword", CodeKind.KEYWORD),
    ("Operator.Word", CodeKind.KEYWORD),
    ("Literal.String", CodeKind.STRING),
    ("Literal.Number", CodeKind.NUMBER),
    ("Comment", CodeKind.COMMENT),
    ("Name.Function", CodeKind.NAME),
    ("Name.Class", CodeKind.NAME),
    ("Name.Tag", CodeKind.KEYWORD),
    ("Name.Attribute", CodeKind.NUMBER),
    ("Name.Decorator", CodeKind.NUMBER),
    ("Generic.Deleted", CodeKind.DELETED),
    ("Generic.Inserted", CodeKind.STRING),
    ("Generic.Heading", CodeKind.NAME),
)


@dataclass(frozen=True, slots=True)
class Coloured:
    """A piece of one line: UTF-16 position, length and kind."""

    start: int
    length: int
    kind: CodeKind


def is_colourable(language: str, lines: Sequence[str]) -> bool:
    """Whether it is worth starting: a language is named, and the block is within the limits."""
    if not language or max(map(len, lines), default=0) > LINE_LIMIT:
        return False
    return sum(map(len, lines)) <= SIZE_LIMIT


class Colouring:
    """The colouring of one finished block; call `step` until it returns True, then read `lines`."""

    def __init__(self, language: str, lines: Sequence[str]) -> None:
        self.lines: list[list[Coloured]] = [[] for _ in lines]
        self._texts = tuple(lines)
        self._pieces = self._lex(language)

    def step(self, seconds: float = SLICE_SECONDS) -> bool:
        """Go on for about this long; True when all is done."""
        until = time.perf_counter() + seconds
        for line, piece in self._pieces:
            self.lines[line].append(piece)
            if time.perf_counter() >= until:
                return False
        return True

    def _lex(self, language: str) -> Iterator[tuple[int, Coloured]]:
        lexer = find_lexer(language)
        if lexer is None:
            return
        line, begin = 0, 0
        for place, kind, value in lexer.get_tokens_unprocessed("\n".join(self._texts)):
            at, colour = place, _kind_of(str(kind))
            for part in value.splitlines(keepends=True) if "\n" in value else [value]:
                while line + 1 < len(self._texts) and at > begin + len(self._texts[line]):
                    begin += len(self._texts[line]) + 1
                    line += 1
                if colour is not None and part.strip():
                    yield line, self._piece(line, at - begin, part.rstrip("\n"), colour)
                at += len(part)

    def _piece(self, line: int, column: int, text: str, kind: CodeKind) -> Coloured:
        return Coloured(units(self._texts[line][:column]), units(text), kind)


def find_lexer(language: str) -> Lexer | None:
    """The lexer for the language that a fence names, if there is one."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.strip("{}.").lower())
    except ClassNotFound:
        return None


def _kind_of(token: str) -> CodeKind | None:
    name = token.removeprefix("Token.")
    for prefix, kind in _KINDS:
        if name.startswith(prefix):
            return kind
    return None
