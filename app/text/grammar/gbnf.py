"""GBNF, the grammar notation of llama.cpp, read into rules.

The same notation as llama-server's, but for what names tokens instead of text (`<think>`, `<[12]>`, `!<...>`): a
grammar of a client writes no control token.  What llama.cpp lets pass and cannot mean anything is refused: an empty
set of characters, a range or a repetition that runs backwards, a rule that is defined twice.
"""

import re

from app.errors import FormError
from app.text.grammar.builder import MAX_ITEMS, Builder, Row
from app.text.grammar.characters import LAST, others
from app.text.grammar.notation import HEX_LENGTHS, REPEATS, hex_code

MAX_DEPTH = 100
"""Parentheses within each other."""

_NAME = re.compile(r"[A-Za-z0-9-]+")
_BLANK = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NUMBER = re.compile(r"[0-9]+")
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", **{sign: sign for sign in '\\"[]-'}}
_MANY_DIGITS = 9


def read(source: str, builder: Builder) -> int:
    """The rule for a whole text of this grammar; raises FormError with the line of what is wrong."""
    return _Reader(source, builder).read()


class _Reader:
    def __init__(self, source: str, builder: Builder) -> None:
        self._source = source
        self._builder = builder
        self._at = 0
        self._depth = 0
        self._rules: dict[str, int] = {}
        self._defined: set[str] = set()

    def read(self) -> int:
        self._skip(_BLANK_LINES)
        while self._at < len(self._source):
            self._rule()
        if "root" not in self._defined:
            raise FormError("There is no rule 'root'; it is the one that an answer begins with.")
        missing = next((name for name in self._rules if name not in self._defined), None)
        if missing is not None:
            raise FormError(f"Rule '{missing[:80]}' is used but not defined.")
        return self._rules["root"]

    # --- rules -----------------------------------------------------------------------------------------------

    def _rule(self) -> None:
        name = self._name()
        if name in self._defined:
            raise self._wrong(f"rule '{name[:80]}' is defined twice")
        self._skip(_BLANK)
        self._expect("::=")
        self._skip(_BLANK_LINES)
        self._defined.add(name)
        self._builder.define(self._number_of(name), *self._alternatives(name, nested=False))
        if self._at < len(self._source) and not self._take(_LINE_END):
            raise self._wrong(f"a line end was expected, not '{self._here()}'")
        self._skip(_BLANK_LINES)

    def _alternatives(self, name: str, *, nested: bool) -> list[Row]:
        rows = [self._sequence(name, nested=nested)]
        while self._here() == "|":
            self._at += 1
            self._skip(_BLANK_LINES)
            rows.append(self._sequence(name, nested=nested))
        return rows

    def _sequence(self, name: str, *, nested: bool) -> Row:
        blank = _BLANK_LINES if nested else _BLANK
        row: Row = ()
        last: Row = ()
        while True:
            sign = self._here()
            if sign and sign in "*+?{":
                if not last:
                    raise self._wrong(f"there is nothing that '{sign}' could repeat")
                least, most = self._times(blank)
                last = self._builder.repeat(self._as_one(last, name), least, most, name)
            else:
                item = self._item(sign, name)
                if item is None:
                    return row + last
                row, last = row + last, item
            self._skip(blank)

    def _as_one(self, row: Row, name: str) -> Row:
        return row if len(row) == 1 else (self._builder.choice(name, row),)

    def _item(self, sign: str, name: str) -> Row | None:
        """What stands here; None where nothing does that belongs to a sequence."""
        match sign:
            case '"':
                return self._literal()
            case "[":
                return (self._set(),)
            case ".":
                self._at += 1
                return (self._builder.characters(others(())),)
            case "(":
                return (self._group(name),)
            case "<" | "!":
                raise self._wrong("tokens cannot be named here; write the text instead")
        if sign and _NAME.match(sign):
            return (self._number_of(self._name()),)
        return None

    def _group(self, name: str) -> int:
        if self._depth == MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} parentheses lie within each other")
        self._depth += 1
        self._at += 1
        self._skip(_BLANK_LINES)
        rows = self._alternatives(name, nested=True)
        self._expect(")")
        self._depth -= 1
        return self._builder.choice(name, *rows)

    # --- characters ------------------------------------------------------------------------------------------

    def _literal(self) -> Row:
        self._at += 1
        text = ""
        begin = self._at
        while self._here() != '"' and len(text) <= MAX_ITEMS:  # more is refused, whatever it is
            text += self._character(begin)
        self._at += 1
        return self._builder.text(text)

    def _set(self) -> int:
        self._at += 1
        begin = self._at
        negated = self._here() == "^"
        self._at += negated
        ranges: list[tuple[int, int]] = []
        while self._here() != "]":
            low = high = ord(self._character(begin))
            if self._here() == "-" and self._source[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                high = ord(self._character(begin))
            if low > high:
                raise self._wrong("a range of characters runs backwards")
            ranges.append((low, high))
        self._at += 1
        if not ranges:
            raise self._wrong("a set of characters is empty")
        return self._builder.characters(others(ranges) if negated else ranges)

    def _character(self, begin: int) -> str:
        sign = self._here()
        if not sign:
            self._at = begin
            raise self._wrong("this text or set of characters has no end")
        self._at += 1
        if sign != "\\":
            return self._checked(ord(sign))
        kind = self._here()
        self._at += 1
        if kind in HEX_LENGTHS:
            code = hex_code(self._source, self._at, HEX_LENGTHS[kind])
            if code is None:
                raise self._wrong(f"'\\{kind}' wants {HEX_LENGTHS[kind]} hexadecimal digits")
            self._at += HEX_LENGTHS[kind]
            return self._checked(code)
        if kind not in _ESCAPES:
            raise self._wrong(f"there is no escape '\\{kind}'")
        return _ESCAPES[kind]

    def _checked(self, code: int) -> str:
        if not 0 < code <= LAST or 0xD800 <= code <= 0xDFFF:
            raise self._wrong(f"there is no character {code:X}")
        return chr(code)

    # --- repetitions -----------------------------------------------------------------------------------------

    def _times(self, blank: re.Pattern[str]) -> tuple[int, int | None]:
        sign = self._here()
        self._at += 1
        if sign in REPEATS:
            return REPEATS[sign]
        self._skip(blank)
        least = self._number()
        most: int | None = least
        self._skip(blank)
        if self._here() == ",":
            self._at += 1
            self._skip(blank)
            most = self._number() if self._here() != "}" else None
            self._skip(blank)
        self._expect("}")
        if most is not None and most < least:
            raise self._wrong(f"a repetition runs backwards, from {least} to {most}")
        return least, most

    def _number(self) -> int:
        digits = self._take(_NUMBER)
        if not digits:
            raise self._wrong("a number was expected")
        return int(digits) if len(digits) <= _MANY_DIGITS else 10**_MANY_DIGITS

    # --- signs -----------------------------------------------------------------------------------------------

    def _name(self) -> str:
        name = self._take(_NAME)
        if not name:
            raise self._wrong(f"the name of a rule was expected, not '{self._here()}'")
        return name

    def _number_of(self, name: str) -> int:
        if name not in self._rules:
            self._rules[name] = self._builder.reserve(name[:80])
        return self._rules[name]

    def _here(self) -> str:
        return self._source[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._take(pattern)

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._source, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _expect(self, text: str) -> None:
        if not self._source.startswith(text, self._at):
            raise self._wrong(f"'{text}' was expected, not '{self._here()}'")
        self._at += len(text)

    def _wrong(self, what: str) -> FormError:
        line = self._source.count("\n", 0, self._at) + 1
        return FormError(f"Line {line}: {what}.")
