"""Calls of tools in a prompt that are exactly what the engine wrote: they keep the ids that it wrote them with.

A template writes a call with markup around it, so that its text alone says nothing of its place: the whole text of an
answer, control tokens and all, is looked for between the messages beside it.
"""

from collections.abc import Sequence

from app.text.control import Match
from app.text.marks import Plain
from app.text.prompt import content_of, reasoning_of
from app.text.tokenizer import Tokenizer


class CalledText:
    """Finds what was written in what a template wrote."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._vocabulary = tokenizer.vocabulary
        control = tokenizer.control
        self._control: dict[int | None, str] = {control.id(text): text for text in control.texts()}

    def find(
        self, plain: Plain, line: int, ids: tuple[int, ...], matches: Sequence[Match]
    ) -> tuple[int, int, tuple[int, ...]] | None:
        """Where the answer of `line` stands as these ids: [start, end), and the ids; None where it does not.

        White space that it began with counts as the template's.  `matches` are the control tokens of the whole prompt.
        """
        if not all(0 <= token < len(self._vocabulary) for token in ids):
            return None
        while ids and ids[0] not in self._control and self._vocabulary.piece(ids[0]).isspace():
            ids = ids[1:]
        try:
            text, controls = self._read(ids)
        except UnicodeDecodeError:
            return None
        low, high = _between(plain, line)
        start = plain.text.find(text, low, high)
        end = start + len(text)
        there = [(m.start - start, m.token) for m in matches if start <= m.start < end]
        if not text or start < 0 or there != controls:
            return None
        return start, end, ids

    def _read(self, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
        """Their text as a template writes it, and (place, token) of the control tokens in it."""
        text, pending = "", b""
        controls: list[tuple[int, int]] = []
        for token in ids:
            name = self._control.get(token)
            if name is None:
                pending += self._vocabulary.piece(token)
                continue
            text += pending.decode()
            pending = b""
            controls.append((len(text), token))
            text += name
        return text + pending.decode(), controls


def _between(plain: Plain, line: int) -> tuple[int, int]:
    """The part of the prompt that is this line's, or the template's beside it."""
    first, last = reasoning_of(line), content_of(line)
    before = (place.end for place in plain.places if place.line <= first)
    after = (place.start for place in plain.places if place.line > last)
    return max(before, default=0), min(after, default=len(plain.text))
