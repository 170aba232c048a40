"""Private-use characters that travel through a template inside the contents. Pure.

One of them breaks the texts of control tokens inside contents, so that typed text neither becomes a control
token nor steers a template that looks for one.  The others mark where each content begins and ends, to find
out where it comes out.  None occurs in any text of the request, and none reaches the tokeniser.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

from app.errors import TextError
from app.text.control import ControlTokens
from app.text.template import TemplateFailed

_PRIVATE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
_ANY_PRIVATE = re.compile("[" + "".join(f"{chr(r[0])}-{chr(r[-1])}" for r in _PRIVATE) + "]")

Render = Callable[[Sequence[str]], str]
"""Renders the conversation with these texts in place of its own."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where text number `line` of the conversation came out: [start, end)."""

    start: int
    end: int
    line: int


def private_characters(texts: Iterable[str]) -> Iterator[str]:
    """Characters for private use that occur in none of `texts`; raises TextError when there are no more."""
    used = set(chain.from_iterable(map(set, texts)))
    for code in chain.from_iterable(_PRIVATE):
        if chr(code) not in used:
            yield chr(code)
    raise TextError("This conversation is too long, or holds too many unusual characters.")


def break_control(text: str, tokens: ControlTokens, breaker: str) -> str:
    """Put `breaker` after the first character of every control token's text."""
    places = sorted({start + 1 for start, _ in tokens.occurrences(text)})
    ends = [*places, len(text)]
    return breaker.join(text[start:end] for start, end in zip([0, *places], ends, strict=True))


def break_borders(text: str, tokens: ControlTokens, breaker: str) -> str:
    """The same, and at either end where what stands beside the text could complete a control token; for texts whose
    places in the prompt nobody knows."""
    before, after = tokens.completed_by(text)
    broken = break_control(text, tokens, breaker)
    return f"{breaker if before else ''}{broken}{breaker if after else ''}"


@dataclass(frozen=True, slots=True)
class Located:
    """What a template wrote, with breakers, and where the contents are in it, in order of place."""

    text: str
    places: tuple[Place, ...]


@dataclass(slots=True)
class _Half:
    """A content of which a template left out the beginning (then this is its `tail`) or the end: up to `at`, or from there,
    `size` characters of it came out."""

    line: int
    at: int
    size: int
    tail: bool

    @property
    def border(self) -> int:
        """Where what came out of it begins, or ends."""
        return self.at - self.size if self.tail else self.at + self.size

    @property
    def place(self) -> Place:
        return Place(min(self.at, self.border), max(self.at, self.border), self.line)

    def cut(self, content: str, mark: str) -> str:
        """The content with the mark at this border."""
        index = len(content) - self.size if self.tail else self.size
        return f"{content[:index]}{mark}{content[index:]}"


class Locator:
    """Finds out where contents come out of a template by marking them.

    Marks may change what a template does (it trims, or looks how a content begins): whatever they change is
    noticed, and then fewer lines are marked, or only searched for.
    """

    def __init__(self, render: Render, texts: Sequence[str], characters: Iterator[str]) -> None:
        self._render = render
        self._texts = texts
        self._marks = [(next(characters), next(characters)) for _ in texts]
        self._lines = {mark: line for line, marks in enumerate(self._marks) for mark in marks}

    def locate(self) -> Located:
        """Render, and find the contents; raises TemplateFailed when the template refuses."""
        text = self._render(self._texts)
        lines = [line for line, content in enumerate(self._texts) if content]
        places = self._try(text, lines, trimmed=False)
        if places is None:
            places = self._divide(text, lines)
            places = self._search(text, places)
            places = self._widen(text, places)
        return Located(text, tuple(sorted(places, key=lambda place: (place.start, place.end))))

    def _try(self, text: str, lines: Sequence[int], *, trimmed: bool) -> list[Place] | None:
        """Mark these lines and read the places; None when that changes the text."""
        if not lines:
            return []
        marked = list(self._texts)
        for line in lines:
            marked[line] = self._mark(line, trimmed=trimmed)
        try:
            rendered = self._render(marked)
        except TemplateFailed:
            return None
        if _ANY_PRIVATE.sub(self._unless_mark, rendered) != text:
            return None
        return self._read(text, rendered)

    # One pattern for all characters of the kind: with thousands of marks, a pattern of these alone goes through all of
    # them at each character.
    def _unless_mark(self, found: re.Match[str]) -> str:
        return "" if found.group() in self._lines else found.group()

    def _found_marks(self, rendered: str) -> Iterator[re.Match[str]]:
        return (one for one in _ANY_PRIVATE.finditer(rendered) if one.group() in self._lines)

    def _mark(self, line: int, *, trimmed: bool) -> str:
        text = self._texts[line]
        start, end = self._marks[line]
        core = text.strip() if trimmed else text
        return text.replace(core, f"{start}{core}{end}", 1) if core else text

    def _read(self, text: str, rendered: str) -> list[Place]:
        places: list[Place] = []
        halves: list[_Half] = []
        opened: dict[int, int] = {}
        for count, found in enumerate(self._found_marks(rendered)):
            line = self._lines[found.group()]
            position = found.start() - count
            if found.group() == self._marks[line][0]:
                opened[line] = position
            elif line in opened:
                places.append(Place(opened.pop(line), position, line))
            else:
                size = _common_end(text[:position], self._texts[line])
                core = text[position - size : position].lstrip()
                halves.append(_Half(line, position, len(core), tail=True))
        for line, position in opened.items():
            size = common_start(text[position:], self._texts[line])
            core = text[position : position + size].rstrip()
            halves.append(_Half(line, position, len(core), tail=False))
        self._settle(text, halves)
        return places + [half.place for half in halves]

    def _settle(self, text: str, halves: Sequence["_Half"]) -> None:
        """Take from these what the template wrote and only looks like the content: a mark at the border tells."""
        step = 1
        doubtful = [half for half in halves if half.size]
        while doubtful:
            marked = list(self._texts)
            for half in doubtful:
                mark, _ = self._marks[half.line]
                marked[half.line] = half.cut(self._texts[half.line], mark)
            shown = self._shown(text, marked)
            doubtful = [half for half in doubtful if (half.line, half.border) not in shown]
            for half in doubtful:
                half.size = max(0, half.size - step)
            doubtful = [half for half in doubtful if half.size]
            step *= 2

    def _shown(self, text: str, marked: Sequence[str]) -> set[tuple[int, int]]:
        """Which marks came out, and where in `text`; none where they change it."""
        try:
            rendered = self._render(marked)
        except TemplateFailed:
            return set()
        if _ANY_PRIVATE.sub(self._unless_mark, rendered) != text:
            return set()
        return {
            (self._lines[found.group()], found.start() - count)
            for count, found in enumerate(self._found_marks(rendered))
        }

    def _divide(self, text: str, lines: Sequence[int]) -> list[Place]:
        """Mark as many of these lines as can be marked without changing the text."""
        places = self._try(text, lines, trimmed=True)
        if places is not None:
            return places
        if len(lines) <= 1:
            return []
        half = len(lines) // 2
        return self._divide(text, lines[:half]) + self._divide(text, lines[half:])

    def _search(self, text: str, places: list[Place]) -> list[Place]:
        """Add the lines that no mark told of, where their text stands between their neighbours."""
        known = {place.line: place for place in places}
        low = 0
        for line, content in enumerate(self._texts):
            core = content.strip()
            if line in known:
                low = max(low, known[line].end)
            elif core:
                later = (place.start for place in places if place.line > line)
                start = text.find(core, low, min(later, default=len(text)))
                if start >= 0:
                    low = start + len(core)
                    known[line] = Place(start, low, line)
                    places = [*places, known[line]]
        return places

    def _widen(self, text: str, places: list[Place]) -> list[Place]:
        """Take in a content's own white space where it came out, too."""
        wide: list[Place] = []
        low = 0
        for place in sorted(places, key=lambda place: place.start):
            content = self._texts[place.line]
            start, end = place.start, place.end
            if text[start:end] == content.strip():
                lead = len(content) - len(content.lstrip())
                tail = len(content) - len(content.rstrip())
                if start - lead >= low and text[start - lead : start] == content[:lead]:
                    start -= lead
                if tail and text[end : end + tail] == content[-tail:]:
                    end += tail
            wide.append(Place(start, end, place.line))
            low = end
        return wide


def _common_end(left: str, right: str) -> int:
    return common_start(left[::-1], right[::-1])


def common_start(left: str, right: str) -> int:
    """How many characters both begin with."""
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    )


@dataclass(frozen=True, slots=True)
class Plain:
    """A rendered text without breakers: the places of contents in it, and where a breaker stood."""

    text: str
    places: tuple[Place, ...]
    breaks: tuple[int, ...]

    def is_broken(self, start: int, end: int) -> bool:
        """Whether a breaker stood within text[start:end]."""
        after = bisect_right(self.breaks, start)
        return after < len(self.breaks) and self.breaks[after] < end

    def is_template(self, start: int, end: int) -> bool:
        """Whether the template itself wrote text[start:end]."""
        before = bisect_left(self.places, end, key=lambda place: place.start)
        inside = before > 0 and self.places[before - 1].end > start
        return not inside and not self.is_broken(start, end)


def remove_breakers(located: Located, breaker: str) -> Plain:
    """The same without breakers."""
    at = [found.start() for found in re.finditer(breaker, located.text)]

    def moved(position: int) -> int:
        return position - bisect_left(at, position)

    return Plain(
        located.text.replace(breaker, ""),
        tuple(Place(moved(p.start), moved(p.end), p.line) for p in located.places),
        tuple(position - index for index, position in enumerate(at)),
    )
