"""Calls written as JSON objects that hold the name and the arguments."""

import json
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from app.text.calls.json_scan import JsonScan
from app.text.calls.names import tool_name
from app.text.calls.reading import (
    CallBegun,
    CallDone,
    CallMore,
    Input,
    NoCall,
    Reading,
    ahead,
    space,
    value,
)

_NAME_KEYS = frozenset({"name", "tool_name", "function"})
_ARGUMENT_KEYS = frozenset({"arguments", "parameters"})
_SILENT_KEYS = frozenset({"id", "type", "tool_call_id", "index"})
_BETWEEN = frozenset(" \t\r\n,;[]}")
"""What may stand between calls; models also close braces that they never opened."""


@dataclass
class _Call:
    """What is known of the object that is read.  `only` are the names that it may have, None: any.

    `kept` are arguments that came before the name.
    """

    only: Container[str] | None
    name: str = ""
    kept: list[str] = field(default_factory=list)
    told: bool = False
    whole: bool = False


def objects(
    source: Input, closings: Sequence[str], only: Container[str] | None = None
) -> Reading[None]:
    """Read calls that follow each other, in a list or not, up to one of `closings` or to what is no call.

    Raises NoCall where not even one follows.
    """
    first = True
    while True:
        yield from _skip_between(source)
        if source.held.startswith("{"):
            yield from one(source, only)
            first = False
            continue
        closing = yield from ahead(source, closings)
        source.take(len(closing))
        if first:
            raise NoCall
        return


def one(source: Input, only: Container[str] | None = None) -> Reading[None]:
    """Read one object; raises NoCall where it is no call."""
    call = _Call(only)
    try:
        yield from _members(source, call)
    except NoCall:
        # What is wrong behind the arguments changes nothing.
        if not call.whole:
            raise
    if not call.name:
        raise NoCall
    if not call.told:
        yield CallBegun(call.name)
        yield CallMore("".join(call.kept) or "{}")
    yield CallDone()


def _skip_between(source: Input) -> Reading[None]:
    while True:
        count = next(
            (index for index, letter in enumerate(source.held) if letter not in _BETWEEN),
            len(source.held),
        )
        source.take(count)
        if source.held or source.ended:
            return
        yield None


def _members(source: Input, call: _Call, *, inner: bool = False) -> Reading[None]:
    """Read an object, from its brace on; the `inner` one is the function that it holds."""
    source.take(1)
    while True:
        yield from space(source)
        letter = source.held[:1]
        if letter in ("}", ","):
            source.take(1)
            if letter == "}":
                return
        elif letter == '"':
            key = json.loads((yield from value(source)))
            yield from space(source)
            if source.take(1) != ":":
                raise NoCall
            yield from space(source)
            yield from _member(source, call, key, inner=inner)
        else:
            raise NoCall


def _member(source: Input, call: _Call, key: str, *, inner: bool) -> Reading[None]:
    letter = source.held[:1]
    if key in _NAME_KEYS and letter == '"':
        name = tool_name(json.loads((yield from value(source))))
        if not name or (call.only is not None and name not in call.only):
            raise NoCall
        call.name = name
    elif key == "function" and letter == "{" and not inner:
        yield from _members(source, call, inner=True)
    elif key in _ARGUMENT_KEYS and not call.whole:
        yield from _arguments(source, call, letter)
    elif key in _SILENT_KEYS or call.only is None:
        yield from value(source)
    else:
        raise NoCall


def _arguments(source: Input, call: _Call, letter: str) -> Reading[None]:
    if letter == "{" and call.name:
        call.told = True
        yield CallBegun(call.name)
        yield from value(source, tell=True)
        call.whole = True
        return
    text = yield from value(source)
    if letter == '"':
        text = _inner(json.loads(text))
    elif text == "null":
        text = "{}"
    elif letter != "{":
        raise NoCall
    call.kept = [text]
    call.whole = True


def _inner(text: str) -> str:
    """Arguments that were written as a string that holds JSON."""
    text = text.strip() or "{}"
    scan = JsonScan()
    found, used = scan.feed(text)
    if not scan.done or used < len(text) or not found.startswith("{"):
        raise NoCall
    return found
