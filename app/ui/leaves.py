"""What a message's text falls into: a flat list of leaves, each small enough to be laid out on its own.

Lists and quotes are not leaves: a leaf knows the containers it stands in (`Place.path`).  A list is therefore a
row of paragraphs and a table a row of `Row`s, so that whatever is long is long in leaves, never inside one.
`flatten` turns the block tokens of markdown-it into leaves.  Nothing of the source is dropped: what lies deeper
than the parser looks is shown as it was written, and so is a paragraph too long for inline markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

INLINE_LIMIT = 4_000
"""A paragraph longer than this is shown without inline markup: markdown-it's inline rules are quadratic."""
SLICE = 4_000
"""Characters of plain text laid out at once: laying out an unbroken line is quadratic."""
NESTING = 20
"""Levels of containers that the parser looks into."""

QUOTE, LIST = "q", "l"
_BULLETS = "•◦▪"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a leaf stands: source lines [start, end), containers from the outside in, list markers.

    `path` has one letter for each container (`QUOTE` or `LIST`).  `markers` are drawn beside this leaf: pairs of
    the index of the list in `path` and the marker's text.
    """

    start: int
    end: int
    path: str = ""
    markers: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text with inline markup; `level` 1 to 6 is a heading, 0 body text."""

    place: Place
    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Plain:
    """Text as it was written.  `joint` None begins a block; else it stood between the slice before and this one."""

    place: Place
    text: str
    joint: str | None = None


@dataclass(slots=True)
class Code:
    """A code block.  The one leaf that changes in place: the lines of an open fence grow."""

    place: Place
    language: str
    lines: list[str]

    def text(self) -> str:
        """The block's content exactly, with its last newline."""
        return "\n".join(self.lines) + "\n" if self.lines else ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table that begins on source line `table`; `aligns` are "", "left", "center" or "right"."""

    place: Place
    cells: tuple[str, ...]
    aligns: tuple[str, ...]
    table: int
    head: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A thematic break."""

    place: Place


Leaf = Paragraph | Plain | Code | Row | Rule


@dataclass(frozen=True, slots=True)
class Origin:
    """How the lines of the parsed piece relate to the whole message.

    `line` is the source line of the piece's first line; `number` continues an ordered list; `table` is the line
    of the table whose header was put in front of the piece again.
    """

    line: int = 0
    number: int | None = None
    table: int | None = None


def flatten(
    tokens: Sequence[Token], lines: Callable[[int, int], str], origin: Origin
) -> list[Leaf]:
    """The leaves of these block tokens; `lines(a, b)` gives lines [a, b) of the parsed piece."""
    return _Flattener(lines, origin).run(tokens)


def verbatim(
    tokens: Sequence[Token], lines: Callable[[int, int], str], origin: Origin
) -> list[Leaf]:
    """As `flatten`, for text typed by a person: paragraphs stay as they were written, only code is set apart."""
    leaves: list[Leaf] = []
    for token in tokens:
        if token.map is None or token.type == "inline":
            continue
        place = Place(origin.line + token.map[0], origin.line + token.map[1])
        if token.type == "fence":
            leaves.append(_code(token, place))
        else:
            leaves.extend(slices(lines(*token.map), place))
    return leaves


def slices(text: str, place: Place) -> Iterator[Plain]:
    """Plain text in pieces of at most `SLICE` characters, cut at newlines where there are any."""
    line, joint, start = place.start, None, 0
    while True:
        end, skip = _cut(text, start)
        piece = text[start:end]
        stop = line + piece.count("\n")
        yield Plain(
            Place(line, stop + 1, place.path, place.markers if joint is None else ()), piece, joint
        )
        if end >= len(text):
            return
        line, joint, start = stop + skip, "\n" if skip else "", end + skip


def _cut(text: str, start: int) -> tuple[int, int]:
    """Where the slice from `start` ends, and how many characters (a newline) fall between it and the next."""
    if len(text) - start <= SLICE:
        return len(text), 0
    newline = text.rfind("\n", start, start + SLICE)
    return (newline, 1) if newline > start else (start + SLICE, 0)


def _code(token: Token, place: Place) -> Code:
    language, _, _ = token.info.strip().partition(" ")
    lines = token.content.split("\n")
    if not lines[-1]:
        lines.pop()
    return Code(place, language, lines)


def _align(token: Token) -> str:
    return str(token.attrs.get("style", "")).removeprefix("text-align:")


@dataclass(slots=True)
class _Container:
    letter: str
    first_leaf: int
    number: int | None = None


@dataclass(slots=True)
class _Flattener:
    lines: Callable[[int, int], str]
    origin: Origin
    leaves: list[Leaf] = field(default_factory=list)
    stack: list[_Container] = field(default_factory=list)
    markers: list[tuple[int, str]] = field(default_factory=list)
    span: tuple[int, int] = (0, 0)
    level: int = 0
    table: int | None = None
    head: bool = False
    cells: list[str] = field(default_factory=list)
    aligns: list[str] = field(default_factory=list)

    def run(self, tokens: Sequence[Token]) -> list[Leaf]:
        spans: list[tuple[int, int]] = []
        for token in tokens:
            if token.map is not None and token.type != "inline":
                self.span = (token.map[0], token.map[1])
            if token.nesting > 0:
                spans.append(self.span)
            elif token.nesting < 0:
                self.span = spans.pop()
            handler = _HANDLERS.get(token.type)
            if handler is not None:
                handler(self, token)
        return self.leaves

    def place(self) -> Place:
        path = "".join(container.letter for container in self.stack)
        markers, self.markers = tuple(self.markers), []
        return Place(
            self.origin.line + self.span[0], self.origin.line + self.span[1], path, markers
        )

    def open_quote(self, token: Token) -> None:
        self.stack.append(_Container(QUOTE, len(self.leaves)))

    def open_list(self, token: Token) -> None:
        number = None
        if token.type == "ordered_list_open":
            number = int(token.attrs.get("start", 1))
            if self.origin.number is not None and token.level == 0:
                number = self.origin.number
        self.stack.append(_Container(LIST, len(self.leaves), number))

    def open_item(self, token: Token) -> None:
        container = self.stack[-1]
        container.first_leaf = len(self.leaves)
        if container.number is None:
            depth = sum(outer.letter == LIST for outer in self.stack) - 1
            marker = _BULLETS[min(depth, len(_BULLETS) - 1)]
        else:
            marker = f"{container.number}{token.markup}"
            container.number += 1
        self.markers.append((len(self.stack) - 1, marker))

    def close_item(self, token: Token) -> None:
        self._fill(token)

    def close_list(self, token: Token) -> None:
        self.stack.pop()

    def close_quote(self, token: Token) -> None:
        self._fill(token)
        self.stack.pop()

    def _fill(self, token: Token) -> None:
        """A container without a leaf still shows: as nothing but its marker, or raw where the parser gave up."""
        if self.stack[-1].first_leaf < len(self.leaves):
            return
        deep = token.level + 1 >= NESTING
        raw = self.lines(*self.span) if deep else ""
        if raw.strip():
            self.leaves.extend(slices(raw, self.place()))
        else:
            self.leaves.append(Paragraph(self.place(), ""))

    def inline(self, token: Token) -> None:
        if self.table is not None:
            self.cells.append(token.content)
            return
        text, level = token.content, self.level
        if len(text) > INLINE_LIMIT:
            self.leaves.extend(slices(text, self.place()))
            return
        checked = _task(text) if level == 0 and self.markers else None
        if checked is not None:
            self.markers[-1] = (self.markers[-1][0], checked)
            text = text[4:]
        self.leaves.append(Paragraph(self.place(), text, level))

    def open_heading(self, token: Token) -> None:
        self.level = int(token.tag[1:])

    def close_heading(self, token: Token) -> None:
        self.level = 0

    def code(self, token: Token) -> None:
        self.leaves.append(_code(token, self.place()))

    def rule(self, token: Token) -> None:
        self.leaves.append(Rule(self.place()))

    def open_table(self, token: Token) -> None:
        continued = self.origin.table is not None and self.span[0] == 0
        self.table = self.origin.table if continued else self.origin.line + self.span[0]

    def close_table(self, token: Token) -> None:
        self.table = None

    def open_head(self, token: Token) -> None:
        self.head = True

    def close_head(self, token: Token) -> None:
        self.head = False

    def open_cell(self, token: Token) -> None:
        self.aligns.append(_align(token))

    def close_row(self, token: Token) -> None:
        assert self.table is not None
        place = self.place()
        if self.head:  # the line of dashes belongs to the header
            place = replace(place, end=place.end + 1)
        row = Row(place, tuple(self.cells), tuple(self.aligns), self.table, self.head)
        self.leaves.append(row)
        self.cells, self.aligns = [], []


def _task(text: str) -> str | None:
    """The box of a task list item, if its text begins with one."""
    return {"[ ] ": "☐", "[x] ": "☑", "[X] ": "☑"}.get(text[:4])


_HANDLERS: dict[str, Callable[[_Flattener, Token], None]] = {
    "blockquote_open": _Flattener.open_quote,
    "blockquote_close": _Flattener.close_quote,
    "bullet_list_open": _Flattener.open_list,
    "bullet_list_close": _Flattener.close_list,
    "ordered_list_open": _Flattener.open_list,
    "ordered_list_close": _Flattener.close_list,
    "list_item_open": _Flattener.open_item,
    "list_item_close": _Flattener.close_item,
    "heading_open": _Flattener.open_heading,
    "heading_close": _Flattener.close_heading,
    "inline": _Flattener.inline,
    "fence": _Flattener.code,
    "code_block": _Flattener.code,
    "hr": _Flattener.rule,
    "table_open": _Flattener.open_table,
    "table_close": _Flattener.close_table,
    "thead_open": _Flattener.open_head,
    "thead_close": _Flattener.close_head,
    "th_open": _Flattener.open_cell,
    "td_open": _Flattener.open_cell,
    "tr_close": _Flattener.close_row,
}
