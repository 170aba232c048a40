"""Calls written as in a programming language: `name(key=value, ...)` with its literals.  Pure."""

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.text.calls.json_scan import MAX_DEPTH, MAX_FIGURES
from app.text.calls.names import tool_name
from app.text.calls.reading import NoCall
from app.text.grammar.notation import HEX_LENGTHS, hex_code

_SPACE = re.compile(r"[\s;]*")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Mapping[str, object] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


@dataclass(frozen=True, slots=True)
class Signs:
    """What stands around the arguments and behind a key; `quote` is one around strings besides the usual two."""

    opening: str
    separator: str
    closing: str
    quote: str = ""


PYTHON = Signs("(", "=", ")")


def literal_calls(text: str, signs: Signs) -> Iterator[tuple[str, str]]:
    """The calls in this text, in a list or not: names, and arguments as JSON.  Raises NoCall where it is anything else."""
    reader = _Literals(text, signs)
    listed = reader.accept("[")
    while True:
        yield reader.call()
        if not reader.accept(","):
            break
    if listed:
        reader.expect("]")
    reader.end()


class _Literals:
    def __init__(self, text: str, signs: Signs) -> None:
        self._text = text
        self._signs = signs
        self._at = 0

    def call(self) -> tuple[str, str]:
        self._match(_SPACE)
        name = tool_name(self._match(_NAME))
        if not name:
            raise NoCall
        self.expect(self._signs.opening)
        arguments = self._pairs(self._signs.separator, self._signs.closing, 1)
        return name, json.dumps(arguments, ensure_ascii=False)

    def accept(self, text: str) -> bool:
        """Read white space and this, if it comes next."""
        self._match(_SPACE)
        found = self._text.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise NoCall

    def end(self) -> None:
        self._match(_SPACE)
        if self._at < len(self._text):
            raise NoCall

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise NoCall
        self._at = found.end()
        return found.group()

    def _pairs(self, separator: str, closing: str, depth: int) -> dict[str, object]:
        pairs: dict[str, object] = {}
        while not self.accept(closing):
            string = self._string()
            key = self._match(_NAME) if string is None else string
            self.expect(separator)
            pairs[key] = self._value(depth + 1)
            if not self.accept(","):
                self.expect(closing)
                break
        return pairs

    def _items(self, depth: int) -> list[object]:
        items: list[object] = []
        while not self.accept("]"):
            items.append(self._value(depth + 1))
            if not self.accept(","):
                self.expect("]")
                break
        return items

    def _value(self, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise NoCall
        string = self._string()
        if string is not None:
            return string
        if self.accept("["):
            return self._items(depth)
        if self.accept("{"):
            return self._pairs(":", "}", depth)
        for word, value in _WORDS.items():
            if self.accept(word):
                return value
        return self._number()

    def _number(self) -> object:
        literal = self._match(_NUMBER)
        if len(literal) > MAX_FIGURES:
            raise NoCall
        if not math.isfinite(float(literal)):
            raise NoCall  # JSON has no number for it
        return json.loads(literal)

    def _string(self) -> str | None:
        """A string, if one comes next."""
        quote = self._signs.quote
        if quote and self.accept(quote):
            end = self._text.find(quote, self._at)
            if end < 0:
                raise NoCall
            text, self._at = self._text[self._at : end], end + len(quote)
            return text
        for quote in ('"', "'"):
            if self.accept(quote):
                return self._quoted(quote)
        return None

    def _quoted(self, quote: str) -> str:
        letters: list[str] = []
        while self._at < len(self._text):
            letter = self._text[self._at]
            self._at += 1
            if letter == quote:
                return _whole("".join(letters))
            letters.append(self._escaped() if letter == "\\" else letter)
        raise NoCall

    def _escaped(self) -> str:
        """What stands behind a backslash; where that is no escape, it is a backslash like any other."""
        kind = self._text[self._at : self._at + 1]
        size = HEX_LENGTHS.get(kind, 0)
        code = hex_code(self._text, self._at + 1, size) if size else None
        if code is not None and code <= sys.maxunicode:
            self._at += 1 + size
            return chr(code)
        if kind not in _ESCAPES:
            return "\\"
        self._at += 1
        return _ESCAPES[kind]


def _whole(text: str) -> str:
    """With half surrogates put together; one that is alone is no character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
