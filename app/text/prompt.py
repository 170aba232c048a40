"""A conversation as one string: rendered by the template, with every content's place in it.  No tokens yet.

Contents are data: each control token's text in them is broken while the template runs, so that nothing typed
reaches the template as anything but text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from app.dialogue import ChatLine, Tool, Wishes
from app.errors import TextError
from app.text.calls import shapes
from app.text.calls.folding import folded
from app.text.calls.shapes import Mark, Style
from app.text.control import ControlTokens
from app.text.marks import (
    Locator,
    Plain,
    break_borders,
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
_WORDS = re.compile(r"""[.]\s*(\w{1,64})|["']([^"'\\]{1,64})["']""")


@dataclass(frozen=True, slots=True)
class ToolTemplate:
    """The template for conversations with tools, and what it wants of them."""

    template: ChatTemplate
    style: Style


@dataclass(frozen=True, slots=True)
class Composed:
    """The rendered text, and whether the template refused and another format had to do.

    `lines` are those that it shows: the first `added` are new, for tools were folded into them where `folded`.
    """

    plain: Plain
    lines: tuple[ChatLine, ...]
    refused: bool = False
    folded: bool = False
    added: int = 0


class Composer:
    """Renders conversations with one template, and with `spare` those that it refuses.

    Where tools are spoken of, `with_tools` does that; without it they are folded into the messages.
    """

    def __init__(
        self,
        template: ChatTemplate,
        tokens: ControlTokens,
        spare: ChatTemplate | None = None,
        with_tools: ToolTemplate | None = None,
    ) -> None:
        self._template = template
        self._tokens = tokens
        self._spare = spare
        self._with_tools = with_tools
        used = (template, spare, with_tools.template if with_tools is not None else None)
        self._sources = "".join(one.source for one in used if one is not None)
        # What a template compares texts with, or looks for in a schema, must stay as it is.
        self._spoken = frozenset(
            word for found in _WORDS.finditer(self._sources) for word in found.groups() if word
        )

    def compose(
        self, lines: Sequence[ChatLine], wishes: Wishes = Wishes(), tools: Sequence[Tool] = ()
    ) -> Composed:
        """Render, in the first arrangement that the template accepts with all texts in it.

        Raises TemplateFailed when there is none, TemplateTooHeavy when the template takes too much time or
        memory, and TextError for a conversation that cannot be prepared at all.
        """
        _check(lines, tools)
        told = names(wishes)
        if tools or any(line.calls or line.role == "tool" for line in lines):
            return self._with_calls(lines, told, tools)
        return self._without_calls(lines, told)

    def _with_calls(
        self, lines: Sequence[ChatLine], told: Mapping[str, object], tools: Sequence[Tool]
    ) -> Composed:
        if self._with_tools is not None:
            native = partial(self._first_good, self._with_tools.template, told=told, tools=tools)
            # Some templates refuse reasoning beside a call.
            for one in dict.fromkeys((tuple(lines), tuple(map(_unreasoned, lines)))):
                try:
                    return Composed(native(one), one)
                except TemplateFailed:
                    continue
        plain = folded(lines, tools)
        composed = self._without_calls(plain.lines, told)
        return replace(composed, folded=True, added=plain.added)

    def _without_calls(self, lines: Sequence[ChatLine], told: Mapping[str, object]) -> Composed:
        try:
            return Composed(self._first_good(self._template, lines, told), tuple(lines))
        except TemplateFailed:
            if self._spare is None:
                raise
            plain = self._first_good(self._spare, lines, told)
            return Composed(plain, tuple(lines), refused=True)

    def _first_good(
        self,
        template: ChatTemplate,
        lines: Sequence[ChatLine],
        told: Mapping[str, object],
        tools: Sequence[Tool] = (),
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
        scene = _Scene(template, tuple(lines), told, tuple(tools), self._style)
        for turns in variants(lines):
            try:
                plain = self._arranged(scene, turns, texts)
            except TemplateFailed as error:
                failure = error
                continue
            if needed <= {place.line for place in plain.places if place.end > place.start}:
                return plain
            best = best or plain
        if best is None:
            raise failure
        return best

    def _arranged(self, scene: "_Scene", turns: Turns, texts: Sequence[str]) -> Plain:
        others = shapes.texts(scene.lines, scene.tools)
        characters = private_characters([self._sources, *self._tokens.texts(), *texts, *others])
        breaker = next(characters)
        broken = [break_control(text, self._tokens, breaker) for text in texts]
        render = partial(scene.render, turns, cache(partial(self._broken, breaker)))
        return remove_breakers(Locator(render, broken, characters).locate(), breaker)

    def _broken(self, breaker: str, text: str) -> str:
        """A text of a tool or a call; nobody knows where it comes out."""
        text = _SURROGATES.sub("\ufffd", text)
        if text in self._spoken:
            return break_control(text, self._tokens, breaker)
        return break_borders(text, self._tokens, breaker)

    @property
    def _style(self) -> Style:
        return Style() if self._with_tools is None else self._with_tools.style


@dataclass(frozen=True, slots=True)
class _Scene:
    """What does not change between the arrangements of a conversation."""

    template: ChatTemplate
    lines: tuple[ChatLine, ...]
    told: Mapping[str, object]
    tools: tuple[Tool, ...]
    style: Style

    def render(self, turns: Turns, mark: Mark, texts: Sequence[str]) -> str:
        """The prompt with these texts in the messages, and `mark` over all others."""
        told = dict(self.told)
        if self.tools:
            told["tools"] = shapes.tool_values(self.tools, mark)
        return self.template.render([self._message(turn, mark, texts) for turn in turns], told)

    def _message(self, turn: Turn, mark: Mark, texts: Sequence[str]) -> dict[str, object]:
        """As templates want it; what was thought under each of the names that they have for it."""
        message: dict[str, object] = {
            "role": turn.role,
            "content": _joined(texts[content_of(line)] for line in turn.lines),
        }
        thought = _joined(texts[reasoning_of(line)] for line in turn.lines)
        if thought:
            message |= dict.fromkeys(_THOUGHT_NAMES, thought)
        for line in (self.lines[index] for index in turn.lines):
            if line.calls:
                message["tool_calls"] = shapes.call_values(line.calls, self.style, mark)
            if line.role == "tool":
                message["tool_call_id"] = shapes.call_id(line.call_id, self.style, mark)
                message |= {"name": mark(line.name)} if line.name else {}
        return message


def content_of(line: int) -> int:
    """The number of a line's content among the texts of a conversation, by which places are named."""
    return 2 * line + 1


def reasoning_of(line: int) -> int:
    """The number of a line's reasoning; it goes before its content."""
    return 2 * line


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _unreasoned(line: ChatLine) -> ChatLine:
    return replace(line, reasoning="", reasoning_ids=()) if line.calls else line


def _check(lines: Sequence[ChatLine], tools: Sequence[Tool]) -> None:
    length = sum(len(line.content) + len(line.reasoning) for line in lines)
    length += sum(len(call.arguments) for line in lines for call in line.calls)
    length += sum(len(tool.description) + len(tool.parameters) for tool in tools)
    if length > MAX_CHARACTERS:
        raise TextError(
            f"This conversation has {length:,} characters, more than {MAX_CHARACTERS:,}.",
            "Shorten it, or begin a new chat.",
        )
    for line in lines:
        if not _ROLE.fullmatch(line.role):
            raise TextError("A message has a role that no model knows.")
