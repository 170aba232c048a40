"""What a model thinks, apart from what it answers.  Pure and sans-IO.

`ThoughtSplit` takes the text of one answer as it comes and says which part is which.  Reasoning stands at the
beginning, between two tags; tags that occur later are text like any other.  Promises: what was given out is never
taken back, the parts do not depend on how the text was cut into pieces, and nothing is held back but what may still
become a tag, and white space beside one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from app.dialogue import ThoughtTags

_FIRST_SYMBOL, _LAST_SYMBOL = 0xFDD0, 0xFDEF
_NO_SYMBOLS = dict.fromkeys(range(_FIRST_SYMBOL, _LAST_SYMBOL + 1))


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of text, of the reasoning or of the answer."""

    text: str
    thought: bool = False


class _State(Enum):
    BEGINNING = auto()
    THINKING = auto()
    BETWEEN = auto()
    ANSWERING = auto()


class ThoughtSplit:
    """`opened` are the tags that the prompt has opened already, if it has.

    `calls` are texts with which calls of tools begin: they end reasoning that is still open, and what comes after the
    reasoning keeps the characters that stand for control tokens, for whoever reads the calls.  None: nobody does.
    """

    def __init__(
        self,
        tags: Iterable[ThoughtTags] = (),
        opened: ThoughtTags | None = None,
        calls: Iterable[str] | None = None,
    ) -> None:
        self._tags = tuple(tags)
        self._calls = tuple(calls or ())
        self._kept = calls is not None
        self._closing = opened.closing if opened is not None else ""
        self._held = ""
        self._thought = False
        self._state = _State.ANSWERING
        if opened is not None:
            self._state = _State.THINKING
        elif self._tags:
            self._state = _State.BEGINNING

    def feed(self, text: str) -> list[Part]:
        """The parts that are certain now; neighbours are never of the same kind."""
        self._held += text
        parts: list[Part] = []
        before = None
        while before is not self._state:
            before = self._state
            self._step(parts)
        return _joined(parts, kept=self._kept)

    @property
    def answering(self) -> bool | None:
        """Whether what comes now is the answer; None while that is not decided."""
        return None if self._state is _State.BEGINNING else self._state is _State.ANSWERING

    @property
    def reasoned(self) -> bool:
        """Whether there was reasoning before."""
        return bool(self._closing)

    def flush(self) -> list[Part]:
        """What was held back; to be called when the answer is over, for whatever reason."""
        held, self._held = self._held, ""
        if self._state is _State.BETWEEN or (self._state is _State.THINKING and not held.strip()):
            return []
        return _joined([Part(held, thought=self._state is _State.THINKING)], kept=self._kept)

    def _step(self, parts: list[Part]) -> None:
        match self._state:
            case _State.BEGINNING:
                self._begin()
            case _State.THINKING:
                self._think(parts)
            case _State.BETWEEN:
                self._held = self._held.lstrip()
                if self._held:
                    self._state = _State.ANSWERING
            case _State.ANSWERING:
                parts.append(Part(self._held))
                self._held = ""

    def _begin(self) -> None:
        body = self._held.lstrip()
        for tags in self._tags:
            if body.startswith(tags.opening):
                self._closing = tags.closing
                self._held = body[len(tags.opening) :]
                self._state = _State.THINKING
                return
            if tags.answer and body.startswith(tags.answer):
                self._held = body[len(tags.answer) :]
                self._state = _State.ANSWERING
                return
        openings = (text for tags in self._tags for text in (tags.opening, tags.answer))
        if not any(text.startswith(body) for text in openings if text):
            self._state = _State.ANSWERING

    def _think(self, parts: list[Part]) -> None:
        if not self._thought:
            self._held = self._held.lstrip()
        places = ((self._held.find(end), end) for end in (*self._calls, self._closing))
        place, end = min(((at, end) for at, end in places if at >= 0), default=(-1, ""))
        if place >= 0:
            thought = self._held[:place].rstrip()
            called = end in self._calls
            self._held = self._held[place + (0 if called else len(end)) :]
            self._state = _State.ANSWERING if called else _State.BETWEEN
        else:
            held = max(begun(self._held, end) for end in (*self._calls, self._closing))
            thought = self._held[: len(self._held) - held].rstrip()
            self._held = self._held[len(thought) :]
        self._thought = self._thought or bool(thought)
        parts.append(Part(thought, thought=True))


def symbols(
    tags: Sequence[ThoughtTags], marks: Sequence[tuple[int, str]]
) -> tuple[tuple[ThoughtTags, ...], Mapping[int, str]]:
    """The tags with a character that no text has in place of each control token in them, and the character of each.

    A control token stands in a text as that character, so that its text is never taken for it.
    """
    letters = {
        text: chr(_FIRST_SYMBOL + index)
        for index, (_, text) in enumerate(marks)
        if _FIRST_SYMBOL + index <= _LAST_SYMBOL
    }
    told = tuple(
        replace(
            pair,
            opening=lettered(pair.opening, letters),
            closing=lettered(pair.closing, letters),
            answer=lettered(pair.answer, letters),
        )
        for pair in tags
    )
    return told, {token: letters[text] for token, text in marks if text in letters}


def lettered(text: str, letters: Mapping[str, str]) -> str:
    for name in sorted(letters, key=len, reverse=True):
        text = text.replace(name, letters[name])
    return text


def begun(text: str, tag: str) -> int:
    """The length of the longest end of `text` that begins `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0


def without_symbols(text: str) -> str:
    """The text without the characters that stand for control tokens."""
    return text.translate(_NO_SYMBOLS)


def _joined(parts: Iterable[Part], *, kept: bool = False) -> list[Part]:
    """Without empty parts and, but for an answer where they are `kept`, symbols; neighbours of the same kind in one."""
    joined: list[Part] = []
    for part in parts:
        text = part.text if kept and not part.thought else without_symbols(part.text)
        if not text:
            continue
        if joined and joined[-1].thought == part.thought:
            joined[-1] = Part(joined[-1].text + text, part.thought)
        else:
            joined.append(Part(text, part.thought))
    return joined
