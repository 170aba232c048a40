"""Builds a grammar out of characters, texts, choices and repetitions, and keeps it within its limits."""

from collections.abc import Iterable, Sequence

from app.errors import FormError
from app.grammar.model import MARKS, Alternative, Grammar, Range
from app.text.grammar import characters
from app.text.grammar.analysis import check
from app.text.grammar.factor import factored

MAX_REPEATS = 2_000
"""Times that anything may be repeated, where there is a limit to it at all."""

MAX_ITEMS = 20_000
"""Items of all rules together: a schema of some hundred fields, and some milliseconds to take in."""

Row = tuple[int, ...]
"""Items one after the other."""


class Builder:
    """Rules, made one after the other.  `root` is the number of the first: the whole answer."""

    def __init__(self) -> None:
        self.root = 0
        self._names = ["root"]
        self._rules: list[list[Alternative]] = [[]]
        self._classes: dict[tuple[Range, ...], int] = {}
        self._marks: dict[int, int] = {}
        self._characters: dict[characters.Ranges, int] = {}
        self._items = 0

    def reserve(self, name: str) -> int:
        """A rule that is defined later; `name` is for errors."""
        self._names.append(name)
        self._rules.append([])
        return len(self._rules) - 1

    def define(self, rule: int, *alternatives: Iterable[int]) -> None:
        """Give a rule its alternatives; raises FormError where all of it grows too large."""
        rows = [tuple(row) for row in alternatives]
        self._items += sum(map(len, rows)) + len(rows)
        if self._items > MAX_ITEMS:
            raise FormError(
                f"It is too large: with all repetitions written out it has more than {MAX_ITEMS:,} items."
            )
        self._rules[rule] = rows

    def choice(self, name: str, *alternatives: Iterable[int]) -> int:
        """A rule of these alternatives."""
        rule = self.reserve(name)
        self.define(rule, *alternatives)
        return rule

    def text(self, text: str) -> Row:
        """Exactly this text; raises FormError where it alone is too large."""
        if len(text) > MAX_ITEMS:
            raise FormError(
                f"It is too large: a text alone has more than {MAX_ITEMS:,} characters."
            )
        return tuple(self.symbols([(byte, byte)]) for byte in text.encode())

    def mark(self, token: int) -> int:
        """The number of the symbol that stands for a control token."""
        return MARKS + self._marks.setdefault(token, len(self._marks))

    def symbols(self, ranges: Iterable[Range]) -> int:
        """One symbol of these, as an item."""
        key = characters.joined(ranges)
        return ~self._classes.setdefault(key, len(self._classes))

    def characters(self, ranges: Iterable[Range]) -> int:
        """One character of these, as an item; raises FormError where there is none."""
        key = characters.joined(ranges)
        known = self._characters.get(key)
        if known is None:
            rows = characters.byte_rows(key)
            if not rows:
                raise FormError("A set of characters is empty.")
            known = self._characters[key] = self._bytes(rows)
        return known

    def repeat(self, row: Row, least: int, most: int | None, name: str) -> Row:
        """`row` at least and at most so many times (None: without end); raises FormError beyond `MAX_REPEATS`."""
        if max(least, most or 0) > MAX_REPEATS:
            raise FormError(
                f"Something is to be repeated {max(least, most or 0):,} times; at most {MAX_REPEATS:,} are possible."
            )
        if least * len(row) > MAX_ITEMS:
            raise FormError(
                f"It is too large: a repetition alone has more than {MAX_ITEMS:,} items."
            )
        if most is None:
            again = self.reserve(name)
            self.define(again, (*row, again), ())
            return (*row * least, again)
        more: Row = ()
        for _ in range(most - least):
            more = (self.choice(name, (*row, *more), ()),)
        return row * least + more

    def separated(self, row: Row, comma: Row, least: int, most: int | None, name: str) -> Row:
        """As `repeat`, with `comma` between each two."""
        if most == 0:
            return ()
        more = self.repeat(comma + row, max(least - 1, 0), None if most is None else most - 1, name)
        some = row + more
        return some if least else (self.choice(name, some, ()),)

    def finish(self) -> Grammar:
        """The grammar, checked: no rule begins with itself, each can end; raises FormError."""
        grammar = check(self._rules, self._names)
        classes = tuple(self._classes)
        rules = factored(grammar)
        return Grammar(rules, classes, tuple(self._marks))

    def _bytes(self, rows: Sequence[tuple[Range, ...]]) -> int:
        short = [row[0] for row in rows if len(row) == 1]
        long = [tuple(self.symbols([byte]) for byte in row) for row in rows if len(row) > 1]
        if not long:
            return self.symbols(short)
        alternatives = [(self.symbols(short),)] if short else []
        return self.choice("character", *alternatives, *long)
