"""A conversation as one string: rendered by the template, with every content's place in it.  No tokens yet.

Contents are data: each control token's text in them is broken while the template runs, so that nothing typed
reaches the template as anything but text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import TextError
from app.text.control import ControlTokens
from app.text.marks import (
    Locator,
    Plain,
    break_control,
    private_characters,
    remove_breakers,
)
from app.text.roles import Turns, variants
from app.text.template import ChatTemplate, TemplateFailed
from app.wire import ChatLine

MAX_CHARACTERS = 8_000_000
"""Longest conversation that is prepared; the largest contexts hold about half of it."""

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

    def compose(self, lines: Sequence[ChatLine]) -> Composed:
        """Render, in the first arrangement that the template accepts with all texts in it.

        Raises TemplateFailed when there is none, TemplateTooHeavy when the template takes too much time or
        memory, and TextError for a conversation that cannot be prepared at all.
        """
        _check(lines)
        texts = [_SURROGATES.sub("\ufffd", line.content) for line in lines]
        try:
            return Composed(self._first_good(self._template, lines, texts))
        except TemplateFailed:
            if self._spare is None:
                raise
            return Composed(self._first_good(self._spare, lines, texts), refused=True)

    def _first_good(
        self, template: ChatTemplate, lines: Sequence[ChatLine], texts: Sequence[str]
    ) -> Plain:
        """The first arrangement that holds every text that was not written by the model, else the first at all."""
        best: Plain | None = None
        failure = TemplateFailed("It refuses every conversation.")
        needed = {
            index
            for index, line in enumerate(lines)
            if line.role != "assistant" and line.content.strip()
        }
        for turns in variants(lines):
            try:
                plain = self._arranged(template, turns, texts)
            except TemplateFailed as error:
                failure = error
                continue
            if needed <= {place.line for place in plain.places if place.end > place.start}:
                return plain
            best = best or plain
        if best is None:
            raise failure
        return best

    def _arranged(self, template: ChatTemplate, turns: Turns, texts: Sequence[str]) -> Plain:
        characters = private_characters([template.source, *self._tokens.texts(), *texts])
        breaker = next(characters)
        broken = [break_control(text, self._tokens, breaker) for text in texts]

        def render(contents: Sequence[str]) -> str:
            return template.render(
                [
                    (
                        turn.role,
                        "\n\n".join(contents[line] for line in turn.lines if contents[line]),
                    )
                    for turn in turns
                ]
            )

        return remove_breakers(Locator(render, broken, characters).locate(), breaker)


def _check(lines: Sequence[ChatLine]) -> None:
    length = sum(len(line.content) for line in lines)
    if length > MAX_CHARACTERS:
        raise TextError(
            f"This conversation has {length:,} characters, more than {MAX_CHARACTERS:,}.",
            "Shorten it, or begin a new chat.",
        )
    for line in lines:
        if not _ROLE.fullmatch(line.role):
            raise TextError("A message has a role that no model knows.")
