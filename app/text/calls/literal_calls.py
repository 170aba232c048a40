"""Calls written as in a programming language: `name(key=value, ...)` with its literals.  Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.text.calls.json_scan import MAX_DEPTH
from app.text.calls.names import tool_name
from app.text.calls.reading import NoCall

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
class Grammar:
    """What stands around the arguments and behind a key; `quote` is one around strings besides the usual two."""

    opening: str
    separator: str
    closing: str
    quote: str = ""


PYTHON = Grammar("(", "=", ")")


def literal_calls(text: str, grammar: Grammar) -> Iterator[tuple[str, str]]:
    """The calls in this text, in a list or not: names, and arguments as JSON.  Raises NoCall where it is anything else."""
    reader = _Literals(text, grammar)
    listed = reader.accept("[")
    while True:
        yield reader.call()
        if not reader.accept(","):
            break
    if listed:
        reader.expect("]")
    reader.end()


class _Literals:
    def __init__(self, text: str, grammar: Grammar) -> None:
        self._text = text
        self._grammar = grammar
        self._at = 0

    def call(self) -> tuple[str, str]:
        self._match(_SPACE)
        name = tool_name(self._match(_NAME))
        if not name:
            raise NoCall
        self.expect(self._grammar.opening)
        arguments = self._pairs(self._grammar.separator, self._grammar.closing, 1)
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
        return json.loads(self._match(_NUMBER))

    def _string(self) -> str | None:
        """A string, if one comes next."""
        quote = self._grammar.quote
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
                return "".join(letters)
            if letter == "\\" and self._text[self._at : self._at + 1] in _ESCAPES:
                letter = _ESCAPES[self._text[self._at]]
                self._at += 1
            letters.append(letter)
        raise NoCall
