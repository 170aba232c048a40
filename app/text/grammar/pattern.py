"""A regular expression (the `pattern` of a JSON schema) as rules.

Characters, sets, groups, choices and repetitions; what looks around, back or at borders cannot be followed forwards
and is refused.  Within a JSON string some characters are written as escapes; `Letters` says how.
"""

import re
from collections.abc import Callable, Iterable

from app.errors import FormError
from app.text.grammar.builder import Builder, Row
from app.text.grammar.characters import Ranges, joined, others
from app.text.grammar.notation import HEX_LENGTHS, REPEATS, hex_code

MAX_DEPTH = 50

_DIGITS: Ranges = ((48, 57),)
_WORD: Ranges = joined([(48, 57), (65, 90), (95, 95), (97, 122)])
_SPACE: Ranges = joined([(9, 13), (32, 32)])
_SETS = {
    "d": _DIGITS,
    "w": _WORD,
    "s": _SPACE,
    "D": others(_DIGITS),
    "W": others(_WORD),
    "S": others(_SPACE),
}
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_HEX_KINDS = frozenset("xu")
_REPEAT = re.compile(r"\{([0-9]{1,6})(,([0-9]{0,6}))?\}")
_ANYTHING = others([(10, 10), (13, 13), (0x2028, 0x2029)])

Letters = Callable[[Iterable[tuple[int, int]]], int]
"""One character of these ranges, as an item."""


def read(pattern: str, builder: Builder, letters: Letters) -> Row:
    """The items for every text in which the pattern is found; raises FormError."""
    reader = _Reader(pattern, builder, letters)
    return reader.read()


class _Reader:
    def __init__(self, source: str, builder: Builder, letters: Letters) -> None:
        self._source = source
        self._builder = builder
        self._letters = letters
        self._at = 0
        self._depth = 0

    def read(self) -> Row:
        begins = self._source.startswith("^")
        ends = self._source.endswith("$") and not re.search(
            r"(?:^|[^\\])(?:\\\\)*\\\$$", self._source
        )
        self._at = int(begins)
        self._end = len(self._source) - int(ends)
        rows = self._alternatives()
        if self._at < self._end:
            raise self._wrong(f"'{self._here()}' stands where it means nothing")
        if len(rows) > 1 and (begins or ends):
            raise self._wrong(
                "'^' and '$' beside '|' hold for one side only; put the choice in parentheses"
            )
        free = self._builder.repeat((self._letters(others(())),), 0, None, "pattern")
        found = self._one(rows)
        return (() if begins else free) + found + (() if ends else free)

    def _one(self, rows: list[Row]) -> Row:
        return rows[0] if len(rows) == 1 else (self._builder.choice("pattern", *rows),)

    def _alternatives(self) -> list[Row]:
        rows = [self._sequence()]
        while self._here() == "|":
            self._at += 1
            rows.append(self._sequence())
        return rows

    def _sequence(self) -> Row:
        row: Row = ()
        while (sign := self._here()) and sign not in "|)":
            row += self._repeated(self._piece(sign))
        return row

    def _repeated(self, piece: Row) -> Row:
        sign = self._here()
        found = _REPEAT.match(self._source, self._at, self._end)
        if sign and sign in "*+?":
            self._at += 1
            least, most = REPEATS[sign]
        elif found is not None:
            self._at = found.end()
            least = int(found[1])
            most = least if found[2] is None else int(found[3]) if found[3] else None
            if most is not None and most < least:
                raise self._wrong("a repetition runs backwards")
        else:
            return piece
        if self._here() and self._here() in "*+{":
            raise self._wrong("a repetition is repeated")
        if self._here() == "?":  # lazy: the texts are the same
            self._at += 1
        return self._builder.repeat(self._single(piece), least, most, "pattern")

    def _single(self, piece: Row) -> Row:
        return piece if len(piece) == 1 else (self._builder.choice("pattern", piece),)

    def _piece(self, sign: str) -> Row:
        match sign:
            case "(":
                return self._group()
            case "[":
                return (self._set(),)
            case ".":
                self._at += 1
                return (self._letters(_ANYTHING),)
            case "^" | "$":
                raise self._wrong(f"'{sign}' is only possible at the border of the pattern")
            case "*" | "+" | "?":
                raise self._wrong(f"there is nothing that '{sign}' could repeat")
        return (self._letters(self._character()),)

    def _group(self) -> Row:
        self._at += 1
        if self._source.startswith("?:", self._at):
            self._at += 2
        elif self._here() == "?":
            raise self._wrong("'(?' with anything but ':' is not supported")
        if self._depth == MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} parentheses lie within each other")
        self._depth += 1
        rows = self._alternatives()
        self._depth -= 1
        if self._here() != ")":
            raise self._wrong("a parenthesis is not closed")
        self._at += 1
        return (self._builder.choice("pattern", *rows),)

    def _set(self) -> int:
        self._at += 1
        negated = self._here() == "^"
        self._at += negated
        ranges: list[tuple[int, int]] = []
        while self._here() != "]":
            low = self._character()
            if self._here() == "-" and self._source[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                high = self._character()
                if not _is_one(low) or not _is_one(high) or low > high:
                    raise self._wrong("a range of characters runs backwards, or from a set")
                low = ((low[0][0], high[0][1]),)
            ranges += low
        self._at += 1
        return self._letters(others(ranges) if negated else ranges)

    def _character(self) -> Ranges:
        sign = self._here()
        if not sign:
            raise self._wrong("it ends too soon")
        self._at += 1
        if sign != "\\":
            return ((ord(sign), ord(sign)),)
        kind = self._here()
        if not kind:
            raise self._wrong("it ends too soon")
        self._at += 1
        if kind in _SETS:
            return _SETS[kind]
        if kind in _HEX_KINDS:
            number = hex_code(self._source, self._at, HEX_LENGTHS[kind])
            if number is None:
                raise self._wrong(f"'\\{kind}' wants {HEX_LENGTHS[kind]} hexadecimal digits")
            self._at += HEX_LENGTHS[kind]
            return ((number, number),)
        if kind.isalnum() and kind not in _CONTROL:
            raise self._wrong(f"'\\{kind}' is not supported")
        code = ord(_CONTROL.get(kind, kind))
        return ((code, code),)

    def _here(self) -> str:
        return self._source[self._at : self._at + 1] if self._at < self._end else ""

    def _wrong(self, what: str) -> FormError:
        return FormError(f"'pattern' {self._source[:80]!r}: {what}.")


def _is_one(ranges: Ranges) -> bool:
    """Whether this is a single character."""
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]
