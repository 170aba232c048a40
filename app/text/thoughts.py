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
    """`opened` are the tags that the prompt has opened already, if it has."""

    def __init__(self, tags: Iterable[ThoughtTags] = (), opened: ThoughtTags | None = None) -> None:
        self._tags = tuple(tags)
        self._closing = opened.closing if opened is not None else ""
        self._held = ""
        self._thought = False
        self._state = _State.ANSWERING
        if opened is not None:
            self._state = _State.THINKING
        elif self._tags:
            self._state = _State.BEGINNING

    @property
    def answering(self) -> bool | None:
        """Whether what comes now is the answer; None while that is not decided."""
        return None if self._state is _State.BEGINNING else self._state is _State.ANSWERING

    def feed(self, text: str) -> list[Part]:
        """The parts that are certain now; neighbours are never of the same kind."""
        self._held += text
        parts: list[Part] = []
        before = None
        while before is not self._state:
            before = self._state
            self._step(parts)
        return _joined(parts)

    def flush(self) -> list[Part]:
        """What was held back; to be called when the answer is over, for whatever reason."""
        held, self._held = self._held, ""
        if self._state is _State.BETWEEN or (self._state is _State.THINKING and not held.strip()):
            return []
        return _joined([Part(held, thought=self._state is _State.THINKING)])

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
        end = self._held.find(self._closing)
        if end >= 0:
            thought = self._held[:end].rstrip()
            self._held = self._held[end + len(self._closing) :]
            self._state = _State.BETWEEN
        else:
            certain = len(self._held) - _begun(self._held, self._closing)
            thought = self._held[:certain].rstrip()
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
            opening=_lettered(pair.opening, letters),
            closing=_lettered(pair.closing, letters),
            answer=_lettered(pair.answer, letters),
        )
        for pair in tags
    )
    return told, {token: letters[text] for token, text in marks if text in letters}


def _lettered(text: str, letters: Mapping[str, str]) -> str:
    for name in sorted(letters, key=len, reverse=True):
        text = text.replace(name, letters[name])
    return text


def _begun(text: str, tag: str) -> int:
    """The length of the longest end of `text` that begins `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0


def _joined(parts: Iterable[Part]) -> list[Part]:
    """Without symbols and empty parts; neighbours of the same kind in one."""
    joined: list[Part] = []
    for part in parts:
        text = part.text.translate(_NO_SYMBOLS)
        if not text:
            continue
        if joined and joined[-1].thought == part.thought:
            joined[-1] = Part(joined[-1].text + text, part.thought)
        else:
            joined.append(Part(text, part.thought))
    return joined
