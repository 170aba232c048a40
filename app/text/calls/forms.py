"""The forms in which models write calls of tools.

A form names the texts that begin a call, and reads what follows one.  Which form a model has is found out from its
template (`learning`); its texts may be control tokens, which stand in an answer as characters that no text has
(`thoughts.symbols`): `with_symbols` gives the form with these.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from app.text.calls import json_calls
from app.text.calls.literal_calls import PYTHON, Signs, literal_calls
from app.text.calls.reading import (
    CallBegun,
    CallDone,
    CallMore,
    Input,
    NoCall,
    Reading,
    accept,
    ahead,
    space,
    until,
)
from app.text.calls.tag_calls import (
    MOST_NAME,
    NO_TAGS,
    Tags,
    called,
    json_arguments,
    tag_arguments,
)
from app.text.thoughts import Part, lettered

_FUNCTION = re.compile(r"functions\.([A-Za-z0-9_-]{1,64})")


@dataclass(frozen=True, slots=True)
class Form(ABC):
    """`openings` begin a call, in the answer's text; `around` stand beside calls and are never shown.

    `at_start` says that an answer may also begin as a call without any of them.  `in_thoughts` are texts that end
    reasoning which was never closed.
    """

    openings: tuple[str, ...]
    around: tuple[str, ...] = ()
    at_start: bool = False
    in_thoughts: tuple[str, ...] = ()

    @abstractmethod
    def read(self, source: Input) -> Reading[None]:
        """Read the calls that have begun; raises NoCall where there are none."""


@dataclass(frozen=True, slots=True)
class JsonForm(Form):
    """Objects with a name and arguments, one by one or in a list."""

    closings: tuple[str, ...] = ()

    def read(self, source: Input) -> Reading[None]:
        yield from json_calls.objects(source, self.closings)


@dataclass(frozen=True, slots=True)
class BareForm(Form):
    """The answer is nothing but such an object, so that only names of tools count."""

    def read(self, source: Input) -> Reading[None]:
        yield from json_calls.objects(source, (), only=source.tools)


@dataclass(frozen=True, slots=True)
class HeadedForm(Form):
    """A header with the name, then the arguments as JSON.

    The header ends where the arguments begin, and `separators` part it; the name is in its first part, or the `last`.
    """

    separators: tuple[str, ...] = ()
    closings: tuple[str, ...] = ()
    last: bool = False
    lists: bool = False

    def read(self, source: Input) -> Reading[None]:
        yield from space(source)
        if self.lists and source.held[:1] in ("[", "{"):
            # The same opening once stood before a list of objects.
            yield from json_calls.objects(source, self.closings)
            return
        header, _ = yield from until(source, ("{", *self.closings), MOST_NAME)
        yield from json_arguments(source, self._name(header))
        if self.closings:
            yield from accept(source, ("```",))
            yield from accept(source, self.closings)

    def _name(self, header: str) -> str:
        parts = [header]
        for separator in self.separators:
            parts = [piece for part in parts for piece in part.split(separator)]
        named = [text for part in parts if (text := part.replace("```json", "").strip())]
        if not named:
            raise NoCall
        return called(named[-1 if self.last else 0])


@dataclass(frozen=True, slots=True)
class LineForm(Form):
    """A line with the name of a tool, or with `all` before what everybody may read; then the arguments as JSON."""

    def read(self, source: Input) -> Reading[None]:
        name, _ = yield from until(source, ("\n",), MOST_NAME)
        source.take(1)
        if name.strip() == "all":
            return
        if called(name) not in source.tools:
            raise NoCall
        yield from json_arguments(source, called(name), empty=False)


@dataclass(frozen=True, slots=True)
class TagForm(Form):
    """A name, then parameters as tags."""

    named: str = ""
    tags: Tags = NO_TAGS

    def read(self, source: Input) -> Reading[None]:
        header, _ = yield from until(source, (self.named,), MOST_NAME)
        source.take(len(self.named))
        name = called(header)
        yield from tag_arguments(source, name, self.tags, source.tools.get(name, {}))


@dataclass(frozen=True, slots=True)
class BlockForm(Form):
    """A block that holds objects, or a name and tags, or a function tag: families of models differ in that only.

    `begins` is how a function tag begins.
    """

    closing: str = ""
    begins: str = ""
    function: Tags = NO_TAGS
    pairs: Tags = NO_TAGS

    def read(self, source: Input) -> Reading[None]:
        if source.opening != self.begins:
            yield from space(source)
            if source.held[:1] in ("{", "["):
                yield from json_calls.objects(source, (self.closing,))
                return
            if not (yield from ahead(source, (self.begins,))):
                ends = (self.pairs.opening, *self.pairs.ends)
                header, _ = yield from until(source, ends, MOST_NAME)
                name = called(header)
                if name not in source.tools:
                    raise NoCall  # a word between two tags is no call yet
                yield from tag_arguments(source, name, self.pairs, source.tools[name])
                return
            source.take(len(self.begins))
        header, _ = yield from until(source, (">",), MOST_NAME)
        source.take(1)
        name = called(header)
        yield from space(source)
        if source.held.startswith("{"):
            yield from json_arguments(source, name)
            yield from accept(source, self.function.ends)
        else:
            yield from tag_arguments(source, name, self.function, source.tools.get(name, {}))
        yield from accept(source, (self.closing,))


@dataclass(frozen=True, slots=True)
class LiteralForm(Form):
    """Calls as in a programming language, in a block; told when the block is whole."""

    closing: str = ""
    signs: Signs = PYTHON

    def read(self, source: Input) -> Reading[None]:
        while self.closing not in source.held and not source.ended:
            yield None
        place = source.held.find(self.closing)
        if place < 0 and source.cut:
            raise NoCall
        text = source.take(place if place >= 0 else len(source.held))
        source.take(len(self.closing) if place >= 0 else 0)
        for name, arguments in [*literal_calls(text, self.signs)]:
            yield CallBegun(name)
            yield CallMore(arguments)
            yield CallDone()


@dataclass(frozen=True, slots=True)
class ChannelForm(Form):
    """Messages on channels, each with a header; a call is a message to a function.

    `openings` begin a header, `message` ends it, `ends` end the message.
    """

    message: str = ""
    ends: tuple[str, ...] = ()

    def read(self, source: Input) -> Reading[None]:
        if not source.opening and not (yield from accept(source, ("to=",))):
            raise NoCall
        header, _ = yield from until(source, (self.message,), MOST_NAME)
        source.take(len(self.message))
        recipient = header if not source.opening else header.partition("to=")[2]
        function = _FUNCTION.match(recipient)
        if function is not None:
            yield from json_arguments(source, function.group(1))
            yield from accept(source, self.ends)
        elif "analysis" in header:
            yield from self._thought(source)

    def _thought(self, source: Input) -> Reading[None]:
        """Reasoning between calls."""
        while True:
            found = yield from ahead(source, self.ends)
            if found:
                source.take(len(found))
                return
            if source.ended and not source.held:
                return
            letter = source.take(1)
            if letter:
                yield Part(letter, thought=True)


def with_symbols(form: Form, letters: Mapping[str, str]) -> Form:
    """The same form with a character in place of each control token's text."""
    changed: Form = _changed(form, letters)
    return changed


def _changed(value: Any, letters: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return lettered(value, letters)
    if isinstance(value, tuple):
        return tuple(_changed(item, letters) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _changed(getattr(value, f.name), letters) for f in fields(value)}
        return replace(value, **changed)
    return value


def texts(form: Form) -> set[str]:
    """Every text that a form speaks of, for the control tokens in them."""
    return set(_texts(form))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if is_dataclass(value) and not isinstance(value, type):
        value = tuple(getattr(value, f.name) for f in fields(value))
    return [text for item in value for text in _texts(item)] if isinstance(value, tuple) else []
