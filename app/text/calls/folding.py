"""Tools for templates that know none: their definitions, calls and results as text in ordinary messages.  Pure.

The definitions go into the system message, with the request to write calls in the form that most models have seen
(`known.BLOCK`); results are spoken by the user.  Without this such a template would leave the tools out, and
the model could not know of them.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.dialogue import ChatLine, Tool, ToolCall

_BEFORE = (
    "You may call these functions. Each line describes one, with a JSON schema of its arguments:"
)
_AFTER = (
    "To call a function, write for each call exactly this, with the name and the arguments filled in, and nothing behind "
    "it:\n"
    '<tool_call>\n{"name": "NAME", "arguments": {}}\n</tool_call>\n'
    "You are then given the result between <tool_response> and </tool_response>. Where no call is needed, answer as usual."
)


@dataclass(frozen=True, slots=True)
class Folded:
    """Lines without tools; the first `added` of them are new."""

    lines: tuple[ChatLine, ...]
    added: int = 0


def folded(lines: Sequence[ChatLine], tools: Sequence[Tool]) -> Folded:
    """These lines, with all that concerns tools as text."""
    plain = tuple(map(_plain, lines))
    if not tools:
        return Folded(plain)
    text = _definitions(tools)
    if plain and plain[0].role == "system":
        first = replace(plain[0], content=f"{plain[0].content}\n\n{text}", ids=())
        return Folded((first, *plain[1:]))
    return Folded((ChatLine("system", text), *plain), added=1)


def _definitions(tools: Iterable[Tool]) -> str:
    described = [
        json.dumps(
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": json.loads(tool.parameters),
            },
            ensure_ascii=False,
        )
        for tool in tools
    ]
    return "\n".join((_BEFORE, *described, "", _AFTER))


def _plain(line: ChatLine) -> ChatLine:
    if line.calls:
        blocks = "\n".join(map(_block, line.calls))
        content = f"{line.content}\n{blocks}" if line.content else blocks
        return replace(line, content=content, ids=line.call_ids, calls=(), call_ids=())
    if line.role == "tool":
        named = f' name="{line.name}"' if line.name else ""
        content = f"<tool_response{named}>\n{line.content}\n</tool_response>"
        return ChatLine("user", content)
    return line


def _block(call: ToolCall) -> str:
    arguments = json.dumps(json.loads(call.arguments), ensure_ascii=False)
    return (
        f'<tool_call>\n{{"name": {json.dumps(call.name)}, "arguments": {arguments}}}\n</tool_call>'
    )
