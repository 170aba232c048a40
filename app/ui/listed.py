"""A field of one line for a list: sequence breakers, or biases of tokens.

What is in it is read as it is typed; while it cannot be read, the field has the last value that could be, and says what
is wrong.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QLineEdit, QWidget

from app.sampling import Value, Wrong, checked

_ESCAPES = {"n": "\n", "t": "\t", "s": " ", "\\": "\\"}
_LETTERS = {text: letter for letter, text in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Notation:
    """How a list is written on one line.  `read` gives what JSON would have, or None."""

    write: Callable[[object], str]
    read: Callable[[str], object]
    example: str


class Listed(QLineEdit):
    """The list of the field `name` of a `Sampling`."""

    def __init__(self, name: str, value: object, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._notation = NOTATIONS[name]
        self._value = value
        self.problem = ""
        self.setPlaceholderText("None")
        self.show_value(value)
        self.textEdited.connect(self._read)

    def value(self) -> object:
        """The list; the last right one while what is typed is none."""
        return self._value

    def show_value(self, value: object) -> None:
        """Write this list into the field."""
        self.setText(self._notation.write(value))
        self._value, self.problem = value, ""

    def _read(self, text: str) -> None:
        found = self._notation.read(text)
        value: Value | Wrong = Wrong("", "") if found is None else checked(self._name, found)
        if isinstance(value, Wrong):
            # What stands there is told by an example, for places in a list mean nothing on a line.
            self.problem = f"This cannot be read. Write for example: {self._notation.example}"
        else:
            self._value, self.problem = value, ""


def _write_breakers(value: object) -> str:
    texts = value if isinstance(value, tuple) else ()
    return " ".join("".join(_escaped(letter) for letter in text) for text in texts)


def _escaped(letter: str) -> str:
    return f"\\{_LETTERS[letter]}" if letter in _LETTERS else letter


def _read_breakers(line: str) -> object:
    if any(letter not in _ESCAPES for letter in _ESCAPE.findall(line)):
        return None
    return [
        _ESCAPE.sub(lambda found: _ESCAPES[found[1]], word)
        for word in filter(None, line.split(" "))
    ]


def _write_biases(value: object) -> str:
    pairs = value if isinstance(value, tuple) else ()
    return ", ".join(f"{token}: {bias:g}" for token, bias in pairs)


def _read_biases(line: str) -> object:
    pairs: list[tuple[str, float]] = []
    for part in filter(None, (part.strip() for part in line.split(","))):
        token, found, bias = part.partition(":")
        try:
            pairs.append((token.strip(), float(bias)))
        except ValueError:
            return None
        if not found:
            return None
    return pairs


NOTATIONS = {
    "dry_sequence_breakers": Notation(_write_breakers, _read_breakers, r'\n : " *'),
    "logit_bias": Notation(_write_biases, _read_biases, "1234: -5, 99: 2.5"),
}
