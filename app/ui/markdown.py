"""Markdown that grows: text goes in piece by piece, leaves come out, and what is closed is never parsed again.

Sans-IO and without Qt.  After every `append` the leaves equal those of parsing the whole text at once.  Only the
tail is parsed: a top-level block is closed once the next one surely begins.  Three kinds of block can be long
themselves, so their closed parts leave the tail too: the items of a list, the rows of a table, and the lines of
a code fence, which are not parsed at all.  Whatever else grows into one huge block (a paragraph, a quote, what
stands in one item of a list) is closed where it is once parsing it again would take too long; what follows is then
read on its own.  Inline markup is not touched here (see `inline`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from app.ui.leaves import NESTING, Code, Leaf, Origin, Place, Plain, flatten, slices, verbatim
from app.ui.pieces import Block, Fence, Piece, Table, blocks_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LINE_LIMIT = 20_000
"""A message with a longer line is shown without any markup, in slices."""
TAIL_LIMIT = 40_000
"""Weight of the tail, in characters, from which on it is closed by force: about 20 ms of parsing."""
_TOKEN_WEIGHT = 15
"""A token of the parser takes as long as so many characters."""

References = dict[str, dict[str, Any]]
"""Link definitions as markdown-it keeps them: label -> title, href, map."""

_LISTS = ("ordered_list_open", "bullet_list_open")


class Dialect(Enum):
    """How a message is written: a model's Markdown, or a person's text in which only code fences count."""

    MARKDOWN = "markdown"
    TYPED = "typed"


@cache
def parser(dialect: Dialect = Dialect.MARKDOWN) -> MarkdownIt:
    """The one parser of this dialect (made at first use: loading markdown-it takes a while)."""
    from markdown_it import MarkdownIt

    if dialect is Dialect.TYPED:
        return MarkdownIt("zero", {"maxNesting": NESTING}).enable("fence")
    options = {"html": False, "maxNesting": NESTING}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])


class Markdown:
    """The leaves of a text that may still grow.

    `leaves` changes in place, and only from the index on that `append` returns.  `references` are the link
    definitions seen so far, for the inline phase.  `parsed` counts the characters given to the parser.
    """

    def __init__(self, dialect: Dialect = Dialect.MARKDOWN) -> None:
        self.leaves: list[Leaf] = []
        self.references: References = {}
        self.parsed = 0
        self._dialect = dialect
        self._pieces: list[str] = []
        self._column = 0
        self._plain = False
        self._tail = ""
        self._line = 0
        self._closed = 0
        self._closed_references: References = {}
        self._number: int | None = None
        self._table: Table | None = None
        self._fence: Fence | None = None
        self._cut = 0
        self._goes_on = False

    @property
    def source(self) -> str:
        """The whole text."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def append(self, text: str) -> int:
        """Add text; return the index of the first leaf that is new or changed (the number of leaves if none)."""
        self._pieces.append(text)
        if self._plain:
            return self._grow_plain(text)
        if self._too_long(text):
            return self._become_plain()
        if self._fence is not None:
            first = self._closed
            self._grow_fence(self._fence, text)
            return first
        self._tail += text
        return self._parse()

    def finish(self) -> int:
        """The text is complete: the first leaf to draw again (a link defined late changes what stands before it)."""
        return 0 if self.references else len(self.leaves)

    # --- a message with a line that is too long ---------------------------------------------------------------

    def _too_long(self, text: str) -> bool:
        first, *rest = text.split("\n")
        longest = max(map(len, rest), default=0)
        reached = self._column + len(first)
        self._column = len(rest[-1]) if rest else reached
        return max(longest, reached) > LINE_LIMIT

    def _become_plain(self) -> int:
        self._plain = True
        self._fence, self._table, self.references = None, None, {}
        self.leaves[:] = slices(self.source, Place(0, 0))
        return 0

    def _grow_plain(self, text: str) -> int:
        last = self.leaves.pop()
        assert isinstance(last, Plain)
        first = len(self.leaves)
        grown = list(slices(last.text + text, last.place))
        self.leaves.append(replace(grown[0], joint=last.joint))
        self.leaves.extend(grown[1:])
        return first

    # --- the tail ---------------------------------------------------------------------------------------------

    def _parse(self) -> int:
        """Parse the tail, replace its leaves, close what can be closed."""
        piece = Piece(self._table.header + self._tail if self._table is not None else self._tail)
        blocks = blocks_of(self._tokens(piece.source))
        leaves = self._flatten(blocks, piece)
        changed = self._replace([leaf for part in leaves for leaf in part])
        self._close(blocks, leaves, piece)
        if self._fence is None and self._table is None and self._is_heavy(blocks):
            changed = min(changed, self._let_go())
        return changed

    def _is_heavy(self, blocks: Sequence[Block]) -> bool:
        """Whether parsing the tail takes long; `blocks` are those of the piece that it is the end of."""
        if len(self._tail) * _TOKEN_WEIGHT < TAIL_LIMIT:
            return False
        last = blocks[-1].tokens if blocks else ()
        opening = sum(token.map is not None and token.map[0] >= self._cut for token in last)
        return len(self._tail) + 2 * _TOKEN_WEIGHT * opening > TAIL_LIMIT

    def _let_go(self) -> int:
        """Close the complete lines of the tail as they stand; return the index of the first leaf that changed."""
        whole, newline, rest = self._tail.rpartition("\n")
        if not newline:
            return len(self.leaves)
        piece = Piece(f"{whole}\n")
        leaves = self._flatten(blocks_of(self._tokens(piece.source)), piece)
        changed = self._replace([leaf for part in leaves for leaf in part])
        self._closed = len(self.leaves)
        self._closed_references = self.references
        self._line += whole.count("\n") + 1
        self._number, self._tail = None, rest
        plain = bool(self.leaves) and isinstance(self.leaves[-1], Plain)
        self._goes_on = plain and bool(whole.rpartition("\n")[2].strip())
        return min(changed, self._parse()) if rest else changed

    def _tokens(self, source: str) -> list[Token]:
        md = parser(self._dialect)
        self.references = dict(self._closed_references)
        tokens: list[Token] = []
        md.block.parse(source, md, {"references": self.references}, tokens)
        self.parsed += len(source)
        return tokens

    @property
    def _above(self) -> int:
        """Lines of the parsed piece that stand before the tail: the header of an open table."""
        return 2 if self._table is not None else 0

    def _flatten(self, blocks: Sequence[Block], piece: Piece) -> list[list[Leaf]]:
        """The leaves of each block; the first may continue a list or a table whose beginning has left the tail."""
        make = verbatim if self._dialect is Dialect.TYPED else flatten
        origin = Origin(self._line - self._above)
        parts = [make(block.tokens, piece.cut, origin) for block in blocks]
        if self._number is not None:
            parts[0] = make(blocks[0].tokens, piece.cut, replace(origin, number=self._number))
        elif self._table is not None:
            parts[0] = make(blocks[0].tokens, piece.cut, replace(origin, table=self._table.line))[
                1:
            ]
        if self._goes_on and parts and parts[0]:
            parts[0][0] = self._joined(parts[0][0])
        return parts

    def _joined(self, leaf: Leaf) -> Leaf:
        """A slice of plain text that goes on where the tail was closed by force has no gap above it."""
        if isinstance(leaf, Plain) and leaf.place.start == self._line:
            return replace(leaf, joint="\n")
        return leaf

    def _replace(self, leaves: list[Leaf]) -> int:
        """Put these leaves behind the closed ones; return the index of the first that differs."""
        old = self.leaves[self._closed :]
        same = 0
        while same < min(len(old), len(leaves)) and old[same] == leaves[same]:
            same += 1
        self.leaves[self._closed :] = leaves
        return self._closed + same

    def _close(
        self, blocks: Sequence[Block], leaves: Sequence[Sequence[Leaf]], piece: Piece
    ) -> None:
        """Take what can no longer change out of the tail."""
        top, cut, table, fence = self._line - self._above, self._above, self._table, None
        closed = len(blocks) - 1
        while closed > 0 and not piece.settled(blocks[closed].start):
            closed -= 1
        if closed > 0:
            cut, table, self._number = blocks[closed - 1].end, None, None
            self._closed += sum(map(len, leaves[:closed]))
        if blocks and closed == len(blocks) - 1:
            last, own = blocks[-1], leaves[-1]
            if last.kind in _LISTS:
                cut = self._close_items(last, piece) or cut
            elif last.kind == "table_open" and last.start + 2 <= piece.complete:
                table = table or Table(
                    piece.cut(last.start, last.start + 2) + "\n", top + last.start
                )
                cut = min(last.end, piece.complete)
            elif last.kind == "fence" and self._is_open(last, piece):
                fence, cut = self._open_fence(last, own[0]), last.start + 1
            if fence is None:
                self._closed += sum(leaf.place.start < top + cut for leaf in own)
        self._settle_references(cut)
        self._goes_on = self._goes_on and cut == self._above
        self._cut = cut
        self._line, self._tail = top + cut, piece.cut(cut)
        self._table, self._fence = table, fence
        if fence is not None:
            self._grow_fence(fence, "")

    def _close_items(self, block: Block, piece: Piece) -> int:
        """The line on which the first item begins that may still change; 0 if that is the list's first."""
        items, head = block.items(), block.tokens[0]
        done = len(items) - 1
        while done and not piece.can_begin_tail(items[done]):
            done -= 1
        if done and head.type == "ordered_list_open":
            first = self._number if self._number is not None else int(head.attrs.get("start", 1))
            self._number = first + done
        return items[done] if done else 0

    def _settle_references(self, cut: int) -> None:
        for label, reference in self.references.items():
            if reference["map"][1] <= cut:
                self._closed_references.setdefault(label, reference)

    # --- an open code fence -----------------------------------------------------------------------------------

    def _is_open(self, block: Block, piece: Piece) -> bool:
        """Whether this fence's lines need no parser: an indented fence strips them, so it is left to it."""
        return piece.lines[block.start][0] in "`~" and piece.can_begin_tail(block.start)

    def _open_fence(self, block: Block, leaf: Leaf) -> Fence:
        assert isinstance(leaf, Code)
        indent = "[ \t]*" if self._dialect is Dialect.TYPED else " {0,3}"
        return Fence(leaf, block.tokens[0].markup, indent)

    def _grow_fence(self, fence: Fence, text: str) -> None:
        """Add lines to the fence without parsing; once its closing line is complete, parse what follows."""
        leaf = fence.leaf
        *whole, partial = (self._tail + text).split("\n")
        del leaf.lines[fence.complete :]
        for index, line in enumerate(whole):
            if fence.closer.fullmatch(line):
                self._end_fence(leaf, index + 1, "\n".join([*whole[index + 1 :], partial]))
                return
            leaf.lines.append(line)
        fence.complete = len(leaf.lines)
        self._line += len(whole)
        self._tail = partial
        closing = fence.closer.fullmatch(partial) is not None
        if not closing and partial.strip(" \t"):
            leaf.lines.append(partial)
        _stretch(leaf, closing)

    def _end_fence(self, leaf: Code, lines: int, rest: str) -> None:
        _stretch(leaf, closing=True)
        self._fence = None
        self._closed += 1
        self._line += lines
        self._tail = rest
        if rest:
            self._parse()


def _stretch(leaf: Code, closing: bool) -> None:
    end = leaf.place.start + 1 + len(leaf.lines) + closing
    leaf.place = replace(leaf.place, end=end)
