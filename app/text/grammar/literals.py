"""Values in notations that are like JSON, as rules: what `literal_calls` and tags are read with."""

import json
import re
from functools import cached_property

from app.errors import FormError
from app.text.grammar.builder import Builder, Row
from app.text.grammar.characters import others, without
from app.text.grammar.json_rules import JsonRules

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_NO_TEXT = ((0x01, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x7F), (0xD800, 0xDFFF))


class Worded(JsonRules):
    """As in Python: keys are names, strings may have single quotes, and there are other words for true, false and null."""

    escapes = '"\\nrt'

    @cached_property
    def string(self) -> int:
        build = self.builder
        plain = without([*self._free, (34, 34)], [(39, 39)])
        sign = build.characters([(ord(sign), ord(sign)) for sign in "'\"\\nrt"])
        letter = build.choice("letter", (build.characters(plain),), (*build.text("\\"), sign))
        single = build.repeat((letter,), 0, None, "string")
        double = self.quoted(self.letters(0, None))
        return build.choice("string", double, (*build.text("'"), *single, *build.text("'")))

    @cached_property
    def boolean(self) -> int:
        words = ("true", "false", "True", "False")
        return self.builder.choice("boolean", *map(self.builder.text, words))

    @cached_property
    def null(self) -> int:
        return self.builder.choice("null", self.builder.text("null"), self.builder.text("None"))

    def key(self, name: str) -> Row:
        """The name of an argument; within an object it is a string."""
        return self.builder.text(name) if _NAME.fullmatch(name) else self.constant(name)

    def member(self, name: str, value: int) -> Row:
        return self.pair(self.constant(name), value)


class Unquoted(JsonRules):
    """A string is its characters, without quotes or escapes, and the `barred` one is not among them."""

    escapes = ""

    def __init__(self, builder: Builder, barred: str) -> None:
        super().__init__(builder, barred)
        self._free = others([*_NO_TEXT, *((ord(sign), ord(sign)) for sign in barred)])

    def quoted(self, row: Row) -> Row:
        return row

    def constant(self, value: object) -> Row:
        if not isinstance(value, str):
            return super().constant(value)
        if not value or without([(ord(sign), ord(sign)) for sign in value], self._free):
            raise FormError(f"The value {value[:80]!r} cannot be written without quotes.")
        return self.builder.text(value)


class Quoted(Unquoted):
    """Strings stand between signs of their own, names of members without any."""

    def __init__(self, builder: Builder, barred: str, quote: Row) -> None:
        super().__init__(builder, barred)
        self._quote = quote

    def quoted(self, row: Row) -> Row:
        return (*self._quote, *row, *self._quote)

    def constant(self, value: object) -> Row:
        if isinstance(value, str):
            return self.quoted(super().constant(value) if value else ())
        if isinstance(value, list):
            rows = [self.constant(one) for one in value]
            return self._between("[", rows, "]")
        if isinstance(value, dict):
            rows = [
                (*self.key(name), *self.builder.text(":"), *self.constant(one))
                for name, one in value.items()
            ]
            return self._between("{", rows, "}")
        return self.builder.text(json.dumps(value))

    def key(self, name: str) -> Row:
        return self.builder.text(name) if _NAME.fullmatch(name) else self.constant(name)

    def _between(self, opening: str, rows: list[Row], closing: str) -> Row:
        found: Row = self.builder.text(opening)
        for index, row in enumerate(rows):
            found = (*found, *(self.builder.text(",") if index else ()), *row)
        return (*found, *self.builder.text(closing))
