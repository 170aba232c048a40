"""Where the texts of control tokens stand in a string.

`ControlTokens` finds every occurrence, and picks those that become tokens as llama.cpp does: the longest text
first, each from left to right, without overlap.  Pure.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

_SPACE = " \t\n\v\f\r"


@dataclass(frozen=True, slots=True)
class ControlToken:
    """A token that is only ever written by a template.

    `eats_left` and `eats_right` say that white space beside its text vanishes.
    """

    id: int
    text: str
    eats_left: bool = False
    eats_right: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """`token` stands for text[start:end]; white space that it eats is within."""

    start: int
    end: int
    token: int


class ControlTokens:
    """The control tokens of one vocabulary.

    A single character is text, whatever type its token has: broken vocabularies declare line feeds as control.
    """

    def __init__(self, tokens: Iterable[ControlToken]) -> None:
        self._tokens = {token.text: token for token in tokens if len(token.text) > 1}
        self._lengths: dict[str, list[int]] = {}
        for text in self._tokens:
            lengths = self._lengths.setdefault(text[0], [])
            if len(text) not in lengths:
                lengths.append(len(text))
        self._first = re.compile("|".join(map(self._beginning, self._lengths)) or r"(?!)")
        self._starts = {text[:size] for text in self._tokens for size in range(1, len(text))}
        self._ends = {text[size:] for text in self._tokens for size in range(1, len(text))}
        self._longest = max(map(len, self._tokens), default=0)
        self._all = "\n".join(self._tokens)

    def _beginning(self, first: str) -> str:
        """A pattern for `first` where the character behind it is one with which a token goes on: a text that is full of
        `first` is not looked at in Python at each one."""
        behind = sorted({text[1] for text in self._tokens if text[0] == first})
        return f"{re.escape(first)}(?=[{''.join(map(re.escape, behind))}])"

    def __contains__(self, text: str) -> bool:
        return text in self._tokens

    def id(self, text: str) -> int | None:
        """The token with exactly this text."""
        token = self._tokens.get(text)
        return None if token is None else token.id

    def texts(self) -> Iterable[str]:
        """The texts of all control tokens."""
        return self._tokens.keys()

    def completed_by(self, text: str) -> tuple[bool, bool]:
        """Whether something written before `text`, and something behind it, could make a control token of it and parts of
        itself."""
        if 0 < len(text) < self._longest and text in self._all:
            return True, True
        sizes = range(1, min(len(text), self._longest) + 1)
        return (
            any(text[:size] in self._ends for size in sizes),
            any(text[-size:] in self._starts for size in sizes),
        )

    def occurrences(self, text: str) -> Iterator[tuple[int, ControlToken]]:
        """Every (start, token) in `text`, overlapping ones too, from left to right."""
        for found in self._first.finditer(text):
            start = found.start()
            for length in self._lengths[text[start]]:
                token = self._tokens.get(text[start : start + length])
                if token is not None and len(token.text) == length:
                    yield start, token

    def pick(self, text: str, allowed: Callable[[int, int], bool]) -> list[Match]:
        """The control tokens that `text` becomes, of those whose [start, end) is `allowed`, in order."""
        taken = _Taken()
        found = [
            (start, token)
            for start, token in self.occurrences(text)
            if allowed(start, start + len(token.text))
        ]
        found.sort(key=lambda item: (-len(item[1].text.encode()), item[0]))
        for start, token in found:
            taken.add(text, start, token)
        return taken.matches


class _Taken:
    """Matches without overlap, sorted by place."""

    def __init__(self) -> None:
        self.matches: list[Match] = []

    def add(self, text: str, start: int, token: ControlToken) -> None:
        end = start + len(token.text)
        place = bisect_left(self.matches, start, key=lambda match: match.start)
        low = self.matches[place - 1].end if place else 0
        high = self.matches[place].start if place < len(self.matches) else len(text)
        if start < low or end > high:
            return
        while token.eats_left and start > low and text[start - 1] in _SPACE:
            start -= 1
        while token.eats_right and end < high and text[end] in _SPACE:
            end += 1
        self.matches.insert(place, Match(start, end, token.id))
