"""Arguments written as tags, one pair for each parameter, and the names before them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.text.calls.kinds import Kind, as_json
from app.text.calls.names import tool_name
from app.text.calls.reading import (
    CallBegun,
    CallDone,
    CallMore,
    Input,
    NoCall,
    Reading,
    accept,
    space,
    until,
    value,
)
from app.text.thoughts import begun

MOST_NAME = 200
"""Characters within which the name of a tool or of a parameter ends."""
MOST_VALUE = 4_000_000

_HEADER = re.compile(r'\s*([^"]*?)"?(?:\s+string="(true|false)")?\s*')
_SAID = {"true": Kind.TEXT, "false": Kind.ANY, None: None}


@dataclass(frozen=True, slots=True)
class Tags:
    """How a parameter stands: `opening` name `opened` value `closing`; one of `ends` ends the call.

    `apart` stands between the name and the value where they have tags of their own.  `padded`: a line feed at either
    side of a value is no part of it.
    """

    opening: str
    opened: str
    closing: str
    ends: tuple[str, ...]
    apart: str = ""
    padded: bool = False


NO_TAGS = Tags("", "", "", ())


def tag_arguments(
    source: Input, name: str, tags: Tags, declared: Mapping[str, Kind]
) -> Reading[None]:
    """Read the parameters of a call of the tool `name`; raises NoCall where they are none."""
    told = False
    while True:
        found = yield from accept(source, (tags.opening, *tags.ends))
        if found != tags.opening:
            # An answer that was cut off may lack parameters; one that ended by itself only lacks the end.
            if not found and (source.cut or not source.ended or source.held):
                raise NoCall
            if not told:
                yield CallBegun(name)
            yield CallMore("}" if told else "{}")
            yield CallDone()
            return
        header, _ = yield from until(source, (tags.opened,), MOST_NAME)
        source.take(len(tags.opened))
        key, kind = _parameter(header, declared)
        if not told:
            yield CallBegun(name)
        yield CallMore(f"{', ' if told else '{'}{json.dumps(key, ensure_ascii=False)}: ")
        told = True
        yield from _value(source, tags, kind)


def json_arguments(source: Input, name: str, *, empty: bool = True) -> Reading[None]:
    """Read the arguments of a call of the tool `name` as one JSON object; there may be none at all where `empty`."""
    yield from space(source)
    if not source.held.startswith("{"):
        if not empty or source.cut:
            raise NoCall
        yield CallBegun(name)
        yield CallMore("{}")
        yield CallDone()
        return
    yield CallBegun(name)
    yield from value(source, tell=True)
    yield CallDone()


def called(text: str) -> str:
    """The name of a tool; raises NoCall where it is none."""
    name = tool_name(text.strip().strip('"'))
    if not name:
        raise NoCall
    return name


def _parameter(header: str, declared: Mapping[str, Kind]) -> tuple[str, Kind]:
    found = _HEADER.fullmatch(header)
    if found is None or not found.group(1):
        raise NoCall
    key = found.group(1)
    return key, _SAID[found.group(2)] or declared.get(key, Kind.ANY)


def _value(source: Input, tags: Tags, kind: Kind) -> Reading[None]:
    if tags.apart and not (yield from accept(source, (tags.apart,))):
        raise NoCall
    if tags.padded:
        while not source.held and not source.ended:
            yield None
        source.take(1 if source.held.startswith("\n") else 0)
    if kind is Kind.TEXT:
        yield from _text(source, tags)
        return
    text, _ = yield from until(source, (tags.closing,), MOST_VALUE)
    source.take(len(tags.closing))
    text = text.removesuffix("\n") if tags.padded else text
    yield CallMore(as_json(text, kind))


def _text(source: Input, tags: Tags) -> Reading[None]:
    """A string, told while it comes."""
    yield CallMore('"')
    closing = f"\n{tags.closing}" if tags.padded else tags.closing
    while True:
        place = source.held.find(tags.closing)
        if place >= 0:
            text = source.take(place)
            source.take(len(tags.closing))
            yield _escaped(text.removesuffix("\n") if tags.padded else text)
            yield CallMore('"')
            return
        if source.ended:
            raise NoCall
        sure = len(source.held) - max(begun(source.held, closing), begun(source.held, tags.closing))
        if sure:
            yield _escaped(source.take(sure))
        yield None


def _escaped(text: str) -> CallMore:
    return CallMore(json.dumps(text, ensure_ascii=False)[1:-1])
