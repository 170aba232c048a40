"""A conversation as one string: rendered by the template, with every content's place in it.  No tokens yet.

Contents are data: each control token's text in them is broken while the template runs, so that nothing typed
reaches the template as anything but text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from app.dialogue import ChatLine, Wishes
from app.errors import TextError
from app.text.control import ControlTokens
from app.text.marks import (
    Locator,
    Plain,
    Render,
    break_control,
    private_characters,
    remove_breakers,
)
from app.text.names import names
from app.text.roles import Turn, Turns, variants
from app.text.template import ChatTemplate, TemplateFailed

MAX_CHARACTERS = 8_000_000
"""Longest conversation that is prepared; the largest contexts hold about half of it."""

_THOUGHT_NAMES = ("reasoning_content", "reasoning", "thinking")
_ROLE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Composed:
    """The rendered text, and whether the template refused and another format had to do."""

    plain: Plain
    refused: bool = False


class Composer:
    """Renders conversations with one template, and with `spare` those that it refuses."""

    def __init__(
        self, template: ChatTemplate, tokens: ControlTokens, spare: ChatTemplate | None = None
    ) -> None:
        self._template = template
        self._tokens = tokens
        self._spare = spare
        self._sources = template.source + (spare.source if spare is not None else "")

    def compose(self, lines: Sequence[ChatLine], wishes: Wishes = Wishes()) -> Composed:
        """Render, in the first arrangement that the template accepts with all texts in it.

        Raises TemplateFailed when there is none, TemplateTooHeavy when the template takes too much time or
        memory, and TextError for a conversation that cannot be prepared at all.
        """
        _check(lines)
        told = names(wishes)
        try:
            return Composed(self._first_good(self._template, lines, told))
        except TemplateFailed:
            if self._spare is None:
                raise
            return Composed(self._first_good(self._spare, lines, told), refused=True)

    def _first_good(
        self, template: ChatTemplate, lines: Sequence[ChatLine], told: Mapping[str, object]
    ) -> Plain:
        """The first arrangement that holds every text that was not written by the model, else the first at all."""
        best: Plain | None = None
        failure = TemplateFailed("It refuses every conversation.")
        texts = [
            _SURROGATES.sub("\ufffd", text)
            for line in lines
            for text in (line.reasoning, line.content)
        ]
        needed = {
            content_of(index)
            for index, line in enumerate(lines)
            if line.role != "assistant" and line.content.strip()
        }
        for turns in variants(lines):
            try:
                plain = self._arranged(partial(_rendered, template, turns, told), texts)
            except TemplateFailed as error:
                failure = error
                continue
            if needed <= {place.line for place in plain.places if place.end > place.start}:
                return plain
            best = best or plain
        if best is None:
            raise failure
        return best

    def _arranged(self, render: Render, texts: Sequence[str]) -> Plain:
        characters = private_characters([self._sources, *self._tokens.texts(), *texts])
        breaker = next(characters)
        broken = [break_control(text, self._tokens, breaker) for text in texts]
        return remove_breakers(Locator(render, broken, characters).locate(), breaker)


def content_of(line: int) -> int:
    """The number of a line's content among the texts of a conversation, by which places are named."""
    return 2 * line + 1


def reasoning_of(line: int) -> int:
    """The number of a line's reasoning; it goes before its content."""
    return 2 * line


def _rendered(
    template: ChatTemplate, turns: Turns, told: Mapping[str, object], texts: Sequence[str]
) -> str:
    return template.render([_message(turn, texts) for turn in turns], told)


def _message(turn: Turn, texts: Sequence[str]) -> dict[str, object]:
    """As templates want it; what was thought under each of the names that they have for it."""
    message: dict[str, object] = {
        "role": turn.role,
        "content": _joined(texts[content_of(line)] for line in turn.lines),
    }
    thought = _joined(texts[reasoning_of(line)] for line in turn.lines)
    if thought:
        message |= dict.fromkeys(_THOUGHT_NAMES, thought)
    return message


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _check(lines: Sequence[ChatLine]) -> None:
    length = sum(len(line.content) + len(line.reasoning) for line in lines)
    if length > MAX_CHARACTERS:
        raise TextError(
            f"This conversation has {length:,} characters, more than {MAX_CHARACTERS:,}.",
            "Shorten it, or begin a new chat.",
        )
    for line in lines:
        if not _ROLE.fullmatch(line.role):
            raise TextError("A message has a role that no model knows.")
