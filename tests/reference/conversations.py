"""Conversations of every shape, for the comparison of prompts with llama-server's."""

import json
from dataclasses import dataclass

from app.dialogue import ChatLine, Tool, ToolCall, Wishes

NOON = 1796040000.0
"""The moment that templates take for the present; noon, so that it is the same day nearly everywhere."""

_SYSTEM = "You are a “careful” helper."
_TOOL = Tool(
    "get_weather",
    "The weather in a city <now>.",
    json.dumps(
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "A city"},
                "days": {"type": "integer", "enum": [1, 2]},
            },
            "required": ["city"],
        }
    ),
)
_CALL = ToolCall("call00001", "get_weather", '{"city":"Zürich","days":2}')
_OTHER = ToolCall("call00002", "get_weather", '{"city":"Bern","days":1}')
_RESULT = '{"sky": "clear", "degrees": 21}'


@dataclass(frozen=True, slots=True)
class Shape:
    """A conversation, the tools that it may use, and what the template is told besides."""

    name: str
    lines: tuple[ChatLine, ...] = ()
    wishes: Wishes = Wishes(now=NOON)
    tools: tuple[Tool, ...] = ()

    @property
    def sent(self) -> list[dict[str, object]]:
        """The messages in the form of the OpenAI API."""
        return [_message(line) for line in self.lines]

    @property
    def offered(self) -> list[dict[str, object]]:
        """The tools in that form."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": json.loads(tool.parameters),
                },
            }
            for tool in self.tools
        ]

    @property
    def arguments(self) -> dict[str, object]:
        """What the reference's template is to be told besides."""
        told: dict[str, object] = {}
        if self.wishes.thinking is not None:
            told |= {"enable_thinking": self.wishes.thinking, "thinking": self.wishes.thinking}
        if self.wishes.effort:
            told["reasoning_effort"] = self.wishes.effort
        return told


def _message(line: ChatLine) -> dict[str, object]:
    message: dict[str, object] = {"role": line.role, "content": line.content}
    if line.reasoning:
        message["reasoning_content"] = line.reasoning
    if line.calls:
        message["tool_calls"] = [_call(call) for call in line.calls]
    if line.role == "tool":
        message |= {"name": line.name, "tool_call_id": line.call_id}
    return message


def _call(call: ToolCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": json.loads(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _say(*texts: str) -> tuple[ChatLine, ...]:
    """Lines; the first letter of each text says whose it is."""
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return tuple(ChatLine(roles[text[0]], text[2:]) for text in texts)


_HARD = '  <b>"1 & 2"</b> é\u200d 你好 😀\t{{ x }}\n\n'

SHAPES = (
    Shape("one question", _say("u:Hello there")),
    Shape("system", _say(f"s:{_SYSTEM}", "u:Hello there")),
    Shape("turns", _say("u:Hello", "a:Hi!", "u:How are you?", "a:Fine.", "u:Good")),
    Shape("system and turns", _say(f"s:{_SYSTEM}", "u:Hello", "a:Hi!", "u:How are you?")),
    Shape("hard text", _say(f"s:{_HARD}x", f"u:{_HARD}", f"a:{_HARD}", f"u:x{_HARD}x")),
    Shape(
        "reasoning",
        (
            ChatLine("user", "What is 1+1?"),
            ChatLine("assistant", "It is 2.", reasoning="One and one\n\nmake two."),
            ChatLine("user", "And 2+2?"),
            ChatLine("assistant", "4", reasoning="Two and two."),
            ChatLine("user", "Thanks"),
        ),
    ),
    Shape("no thinking", _say("u:Hello", "a:Hi!", "u:Bye"), Wishes(thinking=False, now=NOON)),
    Shape("thinking", _say(f"s:{_SYSTEM}", "u:Hello"), Wishes(thinking=True, now=NOON)),
    Shape("effort", _say("u:Hello"), Wishes(thinking=True, effort="high", now=NOON)),
    Shape("two users", _say("u:Hello", "u:Still there?")),
    Shape("two assistants", _say("u:Hello", "a:Hi!", "a:How can I help?", "u:Bye")),
    Shape("assistant first", _say("a:Welcome!", "u:Hello")),
    Shape("system in the middle", _say("u:Hello", "a:Hi!", f"s:{_SYSTEM}", "u:Bye")),
    Shape("only system", _say(f"s:{_SYSTEM}")),
    Shape("tools", _say(f"s:{_SYSTEM}", "u:What is the weather?"), tools=(_TOOL,)),
    Shape(
        "tool called",
        (
            *_say("u:What is the weather in Zürich?"),
            ChatLine("assistant", "", calls=(_CALL,)),
            ChatLine("tool", _RESULT, call_id=_CALL.id, name=_CALL.name),
            *_say("a:It is clear, 21 degrees.", "u:Thanks"),
        ),
        tools=(_TOOL,),
    ),
    Shape(
        "tools called at once",
        (
            *_say("u:What is the weather in Zürich, and in Bern?"),
            ChatLine("assistant", "", calls=(_CALL, _OTHER)),
            ChatLine("tool", _RESULT, call_id=_CALL.id, name=_CALL.name),
            ChatLine("tool", "rain", call_id=_OTHER.id, name=_OTHER.name),
        ),
        tools=(_TOOL,),
    ),
    Shape(
        "tool called after reasoning",
        (
            *_say("u:What is the weather in Zürich?"),
            ChatLine("assistant", "", reasoning="I must look.", calls=(_CALL,)),
            ChatLine("tool", _RESULT, call_id=_CALL.id, name=_CALL.name),
        ),
        tools=(_TOOL,),
    ),
)
"""Every shape that a chat can have."""
