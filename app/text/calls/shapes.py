"""Tools and calls as chat templates want them, with every text of theirs passed through `mark`.  Pure.

What a client writes into a tool's description or into the arguments of a call is data like any message.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.dialogue import ChatLine, Tool, ToolCall

Mark = Callable[[str], str]

_SHORT_ID = 9
_SHORT = re.compile(rf"[A-Za-z0-9]{{{_SHORT_ID}}}")


@dataclass(frozen=True, slots=True)
class Style:
    """What a template wants: the arguments of a call `as_text`, or as an object; ids of nine letters and figures."""

    as_text: bool = False
    short_ids: bool = False


def tool_values(tools: Iterable[Tool], mark: Mark) -> list[object]:
    """The definitions in the shape of the OpenAI API."""
    return [
        {
            "type": "function",
            "function": {
                "name": mark(tool.name),
                "description": mark(tool.description),
                "parameters": _marked(json.loads(tool.parameters), mark),
            },
        }
        for tool in tools
    ]


def call_values(calls: Iterable[ToolCall], style: Style, mark: Mark) -> list[object]:
    """The calls of one message."""
    return [
        {
            "id": call_id(call.id, style, mark),
            "type": "function",
            "function": {
                "name": mark(call.name),
                "arguments": mark(call.arguments)
                if style.as_text
                else _marked(json.loads(call.arguments), mark),
            },
        }
        for call in calls
    ]


def call_id(identity: str, style: Style, mark: Mark) -> str:
    """What a call is known by in the prompt."""
    if not style.short_ids or _SHORT.fullmatch(identity):
        return mark(identity)
    return hashlib.blake2b(identity.encode("utf-8", "replace")).hexdigest()[:_SHORT_ID]


def texts(lines: Sequence[ChatLine], tools: Iterable[Tool]) -> Iterator[str]:
    """All that tools, calls and results hold besides the contents of messages."""
    for tool in tools:
        yield from (tool.name, tool.description, tool.parameters)
        yield from _strings(json.loads(tool.parameters))
    for line in lines:
        yield from (line.call_id, line.name)
        for call in line.calls:
            yield from (call.id, call.name, call.arguments)
            yield from _strings(json.loads(call.arguments))


def _marked(value: object, mark: Mark) -> object:
    if isinstance(value, str):
        return mark(value)
    if isinstance(value, list):
        return [_marked(item, mark) for item in value]
    if isinstance(value, dict):
        return {mark(key): _marked(item, mark) for key, item in value.items()}
    return value


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _strings(item)
