"""JSON as it comes, character by character.  Pure and sans-IO.

`JsonScan` reads one value and says how far it is; what it gives out is always the beginning of valid JSON.  One thing is
put right on the way: a line feed (or another control character) inside a string, which models write and JSON wants escaped.
"""

import json
import math
from enum import Enum, auto

MAX_DEPTH = 64
"""Arrays and objects within each other; deeper ones count as broken."""

MAX_FIGURES = 400
"""Characters of a number; longer ones count as broken, for not everybody can read them."""

_SPACE = " \t\n\r"
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_ESCAPES = frozenset('"\\/bfnrt')
_LITERALS = {"t": "true", "f": "false", "n": "null"}


class _Want(Enum):
    """What may come next outside a string, a number or a word."""

    VALUE = auto()
    FIRST_VALUE = auto()
    FIRST_KEY = auto()
    KEY = auto()
    COLON = auto()
    MORE = auto()


class _Number(Enum):
    """Where in a number the last character stood."""

    MINUS = auto()
    ZERO = auto()
    WHOLE = auto()
    POINT = auto()
    FRACTION = auto()
    E = auto()
    SIGN = auto()
    EXPONENT = auto()


_WHOLE_NUMBERS = (_Number.ZERO, _Number.WHOLE, _Number.FRACTION, _Number.EXPONENT)
_BEGINNINGS = {"-": _Number.MINUS, "0": _Number.ZERO}
_DIGIT_AFTER = {
    _Number.MINUS: _Number.WHOLE,
    _Number.WHOLE: _Number.WHOLE,
    _Number.POINT: _Number.FRACTION,
    _Number.FRACTION: _Number.FRACTION,
    _Number.E: _Number.EXPONENT,
    _Number.SIGN: _Number.EXPONENT,
    _Number.EXPONENT: _Number.EXPONENT,
}


class JsonScan:
    """Reads one JSON value.  `done` when it is complete, `broken` when it never can be.

    A number that is too large to be told from infinity is broken too.
    """

    def __init__(self) -> None:
        self.done = False
        self.broken = False
        self._closers: list[str] = []
        self._want = _Want.VALUE
        self._number: _Number | None = None
        self._figures = ""
        self._word = ""
        self._in_string = False
        self._is_key = False
        self._escaped = False
        self._hex_left = 0

    def feed(self, text: str) -> tuple[str, int]:
        """What of `text` belongs to the value, as valid JSON, and how many characters of `text` that is."""
        given: list[str] = []
        used = 0
        while used < len(text) and not self.done and not self.broken:
            taken = self._step(text[used])
            # None: a number ended before this character, which is looked at again.
            if taken is not None and self._can_go_on():
                given.append(taken)
                used += 1
        return "".join(given), used

    def finish(self) -> None:
        """Nothing comes any more: a number is complete now, anything else that is open is broken."""
        if not self._closers and self._is_number():
            self._number = None
            self.done = True
        elif not self.done:
            self.broken = True

    def _is_number(self) -> bool:
        """Whether what was read of a number is one."""
        return self._number in _WHOLE_NUMBERS and math.isfinite(float(self._figures))

    def _can_go_on(self) -> bool:
        """Whether all that was read can be the beginning of JSON."""
        return not self.broken

    def _step(self, character: str) -> str | None:
        if self._in_string:
            return self._string(character)
        if self._word:
            return self._literal(character)
        if self._number is not None:
            return self._digit(character)
        if character in _SPACE:
            return character
        self._outside(character)
        return character

    def _string(self, character: str) -> str:
        if self._hex_left:
            self.broken = character not in _HEX
            self._hex_left -= 1
        elif self._escaped:
            self._escaped = False
            self._hex_left = 4 if character == "u" else 0
            self.broken = character != "u" and character not in _ESCAPES
        elif character == "\\":
            self._escaped = True
        elif character == '"':
            self._in_string = False
            if self._is_key:
                self._want = _Want.COLON
            else:
                self._close_value()
        elif character < " ":
            return json.dumps(character)[1:-1]
        return character

    def _literal(self, character: str) -> str:
        self.broken = character != self._word[0]
        self._word = self._word[1:]
        if not self._word and not self.broken:
            self._close_value()
        return character

    def _digit(self, character: str) -> str | None:
        after = self._after(character)
        if after is None:
            whole = self._is_number()
            self._number = None
            if not whole:
                self.broken = True
                return character
            self._close_value()
            return None
        self._number = after
        self._figures += character
        self.broken = len(self._figures) > MAX_FIGURES
        return character

    def _after(self, character: str) -> _Number | None:
        """Where in the number `character` would stand; None where it is no part of it."""
        number = self._number
        if character in _DIGITS:
            if number is _Number.MINUS and character == "0":
                return _Number.ZERO
            return None if number is None else _DIGIT_AFTER.get(number)
        if character == "." and number in (_Number.ZERO, _Number.WHOLE):
            return _Number.POINT
        if character in "eE" and number in (_Number.ZERO, _Number.WHOLE, _Number.FRACTION):
            return _Number.E
        if character in "+-" and number is _Number.E:
            return _Number.SIGN
        return None

    def _outside(self, character: str) -> None:
        """A character that opens, closes or parts values."""
        want = self._want
        if want in (_Want.VALUE, _Want.FIRST_VALUE) and self._opens(character):
            return
        if want in (_Want.KEY, _Want.FIRST_KEY) and character == '"':
            self._in_string = self._is_key = True
        elif want is _Want.COLON and character == ":":
            self._want = _Want.VALUE
        elif want is _Want.MORE and character == ",":
            self._want = _Want.KEY if self._closers[-1] == "}" else _Want.VALUE
        elif self._closes(character):
            self._closers.pop()
            self._close_value()
        else:
            self.broken = True

    def _closes(self, character: str) -> bool:
        """Whether it closes what is open, where that may be closed here."""
        if not self._closers or character != self._closers[-1]:
            return False
        return self._want in (_Want.MORE, _Want.FIRST_KEY, _Want.FIRST_VALUE)

    def _opens(self, character: str) -> bool:
        """Begin a value; False where none begins so."""
        if character == '"':
            self._in_string, self._is_key = True, False
        elif character in "{[":
            self._closers.append("}" if character == "{" else "]")
            self._want = _Want.FIRST_KEY if character == "{" else _Want.FIRST_VALUE
            self.broken = len(self._closers) > MAX_DEPTH
        elif character in _LITERALS:
            self._word = _LITERALS[character][1:]
        elif character == "-" or character in _DIGITS:
            self._number = _BEGINNINGS.get(character, _Number.WHOLE)
            self._figures = character
        else:
            return False
        return True

    def _close_value(self) -> None:
        self._want = _Want.MORE
        self.done = not self._closers
