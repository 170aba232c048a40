"""JSON as rules: its values, strings, numbers, and the room between them.

Narrower than JSON where that keeps readers from trouble: a number has at most 16 digits and a two-digit exponent, so
that it is never infinite; a half surrogate is not written; white space is a blank, or a line with an indent; a value
that may be anything is at most `DEPTH` deep.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from app.errors import FormError
from app.text.grammar.builder import Builder, Row
from app.text.grammar.characters import Ranges, joined, others, without

DEPTH = 24
"""How deep lists and objects of a value lie within each other where nothing is said of it."""

_INDENT = 20
_ESCAPED: Ranges = ((0x01, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F), (0xD800, 0xDFFF))
"""What needs an escape; half surrogates are no characters."""
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_HALF = re.compile("[\ud800-\udfff]")
_LONGEST_KEY = 200
_HEX: Ranges = ((48, 57), (65, 70), (97, 102))


class JsonRules:
    """Each rule is made when it is first wanted.  The `barred` character stands in strings only by its number."""

    escapes = '"\\/bfnrt'
    """Signs that may follow a backslash."""

    def __init__(self, builder: Builder, barred: str = "") -> None:
        self.builder = builder
        self._barred = barred
        self._free = others([*_ESCAPED, *((ord(sign), ord(sign)) for sign in barred)])
        self._values: list[int] = []

    @cached_property
    def space(self) -> int:
        """Between any two parts."""
        indent = self.builder.repeat(
            (self.builder.characters([(9, 9), (32, 32)]),), 0, _INDENT, "space"
        )
        return self.builder.choice(
            "space", (), self.builder.text(" "), (*self.builder.text("\n"), *indent)
        )

    @property
    def comma(self) -> Row:
        return (*self.builder.text(","), self.space)

    @cached_property
    def digit(self) -> int:
        return self.builder.characters([(48, 57)])

    @cached_property
    def letter(self) -> int:
        """One character of a string, in any of the ways to write it."""
        build = self.builder
        if not self.escapes:
            return build.characters(self._free)
        digit = build.characters(_HEX)
        anything = build.characters([(48, 57), (65, 67), (69, 70), (97, 99), (101, 102)])
        d = build.characters([(68, 68), (100, 100)])
        high = (d, build.characters([(56, 57), (65, 66), (97, 98)]), digit, digit)
        low = (*build.text("\\u"), d, build.characters([(67, 70), (99, 102)]), digit, digit)
        code = build.choice(
            "letter",
            (anything, digit, digit, digit),
            (d, build.characters([(48, 55)]), digit, digit),
            (*high, *low),
        )
        sign = build.characters([(ord(sign),) * 2 for sign in self.escapes])
        escape = build.choice("letter", (sign,), (*build.text("u"), code))
        return build.choice("letter", (build.characters(self._free),), (*build.text("\\"), escape))

    @cached_property
    def string(self) -> int:
        return self.builder.choice("string", self.quoted(self.letters(0, None)))

    def letters(self, least: int, most: int | None) -> Row:
        return self.builder.repeat((self.letter,), least, most, "string")

    def quoted(self, row: Row) -> Row:
        quote = self.builder.text('"')
        return (*quote, *row, *quote)

    def one_of(self, ranges: Iterable[tuple[int, int]]) -> int:
        """One character of these in a string: as itself, or by its short escape where it needs one."""
        wanted = joined(ranges)
        plain = without(wanted, others(self._free))
        escaped = [
            self.builder.text(escape)
            for sign, escape in _SHORT.items()
            if escape[1] in self.escapes and any(low <= ord(sign) <= high for low, high in wanted)
        ]
        if not escaped:
            return self.builder.characters(plain)
        rows: list[Row] = [(self.builder.characters(plain),)] if plain else []
        return self.builder.choice("letter", *rows, *escaped)

    @cached_property
    def natural(self) -> int:
        """Digits without a leading nought."""
        more = self.builder.repeat((self.digit,), 0, 14, "number")
        first = self.builder.characters([(49, 57)])
        return self.builder.choice("number", self.builder.text("0"), (first, *more))

    @cached_property
    def integer(self) -> int:
        minus = self.builder.text("-")
        return self.builder.choice("integer", (self.natural,), (*minus, self.natural))

    @cached_property
    def fraction(self) -> int:
        """Nothing, or a point and figures."""
        figures = self.builder.repeat((self.digit,), 1, 16, "number")
        return self.builder.choice("number", (), (*self.builder.text("."), *figures))

    @cached_property
    def number(self) -> int:
        build = self.builder
        sign = build.choice("number", (), (build.characters([(43, 43), (45, 45)]),))
        power = (build.characters([(69, 69), (101, 101)]), sign)
        exponent = build.choice(
            "number", (), (*power, *build.repeat((self.digit,), 1, 2, "number"))
        )
        return build.choice("number", (self.integer, self.fraction, exponent))

    @cached_property
    def boolean(self) -> int:
        return self.builder.choice("boolean", self.builder.text("true"), self.builder.text("false"))

    @cached_property
    def null(self) -> int:
        return self.builder.choice("null", self.builder.text("null"))

    def any_value(self, depth: int = DEPTH) -> int:
        """Any value."""
        while len(self._values) <= depth:
            level = len(self._values)
            rows: list[Row] = [(self.string,), (self.number,), (self.boolean,), (self.null,)]
            if level:
                rows += [(self.any_object(level - 1),), (self.any_array(level - 1),)]
            self._values.append(self.builder.choice("value", *rows))
        return self._values[depth]

    def any_object(self, depth: int = DEPTH - 1) -> int:
        """Any object, of values that deep."""
        row = self.pair((self.string,), self.any_value(depth))
        return self.builder.choice("object", self.braced(self.listed(row, 0, None)))

    def any_array(self, depth: int = DEPTH - 1) -> int:
        """Any list, of values that deep."""
        row = (self.any_value(depth), self.space)
        return self.builder.choice("array", self.bracketed(self.listed(row, 0, None)))

    def listed(self, row: Row, least: int, most: int | None) -> Row:
        return self.builder.separated(row, self.comma, least, most, "list")

    def pair(self, key: Row, value: int) -> Row:
        return (*key, self.space, *self.builder.text(":"), self.space, value, self.space)

    def member(self, name: str, value: int) -> Row:
        """A member of an object."""
        return self.pair(self.key(name), value)

    def braced(self, row: Row) -> Row:
        return (*self.builder.text("{"), self.space, *row, *self.builder.text("}"))

    def bracketed(self, row: Row) -> Row:
        return (*self.builder.text("["), self.space, *row, *self.builder.text("]"))

    def constant(self, value: object) -> Row:
        """Exactly this value, written in one way."""
        text = json.dumps(value, ensure_ascii=False)
        if _HALF.search(text):
            text = json.dumps(value)
        for sign in self._barred:
            text = text.replace(sign, f"\\u{ord(sign):04x}")
        return self.builder.text(text)

    def key(self, name: str) -> Row:
        """The name of a member."""
        return self.constant(name)

    def other_key(self, names: Sequence[str]) -> Row:
        """A key that is none of these: without escapes, for with them a name can be written in many ways."""
        return self.quoted((self._not_these(sorted(set(names)), 0),))

    @cached_property
    def _plain(self) -> int:
        """Any characters that need no escape."""
        plain = self.builder.characters(self._free)
        again = self.builder.reserve("key")
        self.builder.define(again, (plain, again), ())
        return again

    def _not_these(self, names: Sequence[str], at: int) -> int:
        """What may follow the first `at` characters, which all of these names share."""
        if at > _LONGEST_KEY:
            raise FormError(
                f"'additionalProperties' beside a name of more than {_LONGEST_KEY} characters is not supported."
            )
        heads: dict[str, list[str]] = {}
        for name in names:
            if len(name) > at:
                heads.setdefault(name[at], []).append(name)
        taken = [(ord(sign), ord(sign)) for sign in heads]
        rows: list[Row] = [(self.builder.characters(without(self._free, taken)), self._plain)]
        if all(len(name) > at for name in names):
            rows.append(())
        for sign, some in heads.items():
            if without([(ord(sign),) * 2], others(self._free)):
                rows.append((*self.builder.text(sign), self._not_these(some, at + 1)))
        return self.builder.choice("key", *rows)
