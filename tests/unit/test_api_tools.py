"""Tools in a request: what is accepted, and that everything wrong is named."""

import json
from dataclasses import replace
from typing import Any

import pytest

from app.api.schema import parse_chat
from app.api.tools import MAX_CHARACTERS, MAX_DEPTH, MAX_TOOLS
from app.chat.models import ChatMessage, Role, Tool, Toolbox, ToolCall
from app.errors import RequestError

HI = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "look", "description": "d", "parameters": SCHEMA}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}


def request(*messages: Any, **fields: Any) -> Any:
    body = {"messages": [HI, *messages], **fields}
    return parse_chat(json.dumps(body).encode()).request


def function(**fields: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "look", **fields}}]}


def test_definitions_and_the_choice_are_taken() -> None:
    look = Tool("look", "d", json.dumps(SCHEMA))
    assert request(tools=[TOOL]).toolbox == Toolbox((look,))
    assert request(tools=[TOOL], tool_choice="auto").toolbox == Toolbox((look,))
    assert request(tools=[TOOL], tool_choice="none").toolbox.closed
    assert request(tools=[TOOL], parallel_tool_calls=False).toolbox.single
    assert not request(tools=[TOOL], parallel_tool_calls=True).toolbox.single
    assert request(tools=[], tool_choice="none", parallel_tool_calls=None).toolbox.tools == ()
    (bare,) = request(**function()).toolbox.tools
    assert json.loads(bare.parameters) == {"type": "object", "properties": {}}
    for strict in (True, False, None):
        (tool,) = request(**function(strict=strict, description=None)).toolbox.tools
        assert tool == replace(bare, strict=bool(strict))
    formed = request(tools=[TOOL], tool_choice="none", response_format={"type": "json_object"})
    assert formed.toolbox.closed
    assert formed.form is not None


def test_a_call_may_be_demanded() -> None:
    other = {**TOOL, "function": {**TOOL["function"], "name": "find"}}
    box = request(tools=[TOOL, other], tool_choice="required").toolbox
    assert (box.demanded, box.single, box.callable) == (True, False, box.tools)
    named = {"type": "function", "function": {"name": "find"}}
    box = request(tools=[TOOL, other], tool_choice=named).toolbox
    assert (box.demanded, box.single, [tool.name for tool in box.callable]) == (
        True,
        True,
        ["find"],
    )
    box = request(tools=[TOOL, other]).toolbox
    assert not box.bound
    assert request(**function(strict=True)).toolbox.bound
    assert not request(**function(strict=True), tool_choice="none").toolbox.bound


def test_calls_and_results_are_taken() -> None:
    empty = {**CALL, "function": {"name": "other", "arguments": ""}, "id": "c2"}
    called = {**CALLED, "tool_calls": [CALL, empty], "content": "so", "reasoning_content": "hm"}
    other = {**RESULT, "tool_call_id": "c2", "content": [{"type": "text", "text": "x"}]}
    calls = (ToolCall("c1", "look", '{"a": 1}'), ToolCall("c2", "other", "{}"))
    assert request(called, RESULT, other).messages[1:] == (
        ChatMessage(Role.ASSISTANT, "so", reasoning="hm", calls=calls),
        ChatMessage(Role.TOOL, "sunny", call_id="c1", name="look"),
        ChatMessage(Role.TOOL, "x", call_id="c2", name="other"),
    )
    assert request(CALLED, RESULT).messages[1].content == ""
    assert request({"role": "assistant", "content": "x", "tool_calls": []}).messages[1].calls == ()


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def call(**fields: Any) -> dict[str, Any]:
    """A message with a call in which these fields are others."""
    inner = {name: fields.pop(name) for name in ("name", "arguments") if name in fields}
    whole = {**CALL, **fields}
    whole["function"] = (
        {**CALL["function"], **inner} if "function" not in fields else fields["function"]
    )  # type: ignore[dict-item]
    return {**CALLED, "tool_calls": [whole]}


WRONG: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((), {"tools": {}}, "tools"),
    ((), {"tools": [TOOL] * (MAX_TOOLS + 1)}, "tools"),
    ((), function(description="x" * (MAX_CHARACTERS + 1)), "tools"),
    ((), {"tools": [TOOL, TOOL]}, "tools[1].function.name"),
    ((), {"tools": ["look"]}, "tools[0]"),
    ((), {"tools": [{"type": "custom", "custom": {}}]}, "tools[0].type"),
    ((), {"tools": [{"type": "function"}]}, "tools[0].function"),
    ((), function(name=""), "tools[0].function.name"),
    ((), function(name="a b"), "tools[0].function.name"),
    ((), function(name="x" * 65), "tools[0].function.name"),
    ((), function(name=5), "tools[0].function.name"),
    ((), function(description=5), "tools[0].function.description"),
    ((), function(parameters=[]), "tools[0].function.parameters"),
    ((), function(parameters=deep(MAX_DEPTH + 1)), "tools[0].function.parameters"),
    ((), function(strict="yes"), "tools[0].function.strict"),
    ((), {"tools": [TOOL], "tool_choice": "any"}, "tool_choice"),
    ((), {"tools": [TOOL], "tool_choice": []}, "tool_choice"),
    ((), {"tool_choice": "required"}, "tool_choice"),
    ((), {"tools": [TOOL], "tool_choice": {"type": "function"}}, "tool_choice.function"),
    ((), {"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}}, "tool_choice.type"),
    ((), {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice.function.name"),
    ((), {"tools": [TOOL], "tool_choice": "required", "ignore_eos": True}, "ignore_eos"),
    ((), {**function(strict=True), "ignore_eos": True}, "ignore_eos"),
    ((), {"tools": [TOOL], "tool_choice": "required", "response_format": {"type": "json_object"}}, "response_format"),
    ((), {"parallel_tool_calls": "no"}, "parallel_tool_calls"),
    ((), {"tools": [TOOL], "logprobs": True}, "logprobs"),
    ((), {"tools": [TOOL], "response_format": {"type": "json_object"}}, "response_format"),
    ((), {"tools": [TOOL], "grammar": 'root ::= "x"', "tool_choice": "auto"}, "grammar"),
    (({"role": "tool", "content": "x"},), {}, "messages[1].tool_call_id"),
    ((RESULT,), {}, "messages[1].tool_call_id"),
    ((CALLED, {**RESULT, "tool_call_id": 5}), {}, "messages[2].tool_call_id"),
    ((CALLED, {**RESULT, "content": None}), {}, "messages[2].content"),
    (({**CALLED, "tool_calls": 5},), {}, "messages[1].tool_calls"),
    (({**CALLED, "tool_calls": [1]},), {}, "messages[1].tool_calls[0]"),
    (({**CALLED, "tool_calls": [CALL, CALL]},), {}, "messages[1].tool_calls[1].id"),
    ((call(id=""),), {}, "messages[1].tool_calls[0].id"),
    ((call(id="x" * 257),), {}, "messages[1].tool_calls[0].id"),
    ((call(type="custom"),), {}, "messages[1].tool_calls[0].type"),
    ((call(function=5),), {}, "messages[1].tool_calls[0].function"),
    ((call(name="a b"),), {}, "messages[1].tool_calls[0].function.name"),
    ((call(arguments="[1]"),), {}, "messages[1].tool_calls[0].function.arguments"),
    ((call(arguments='{"a": NaN}'),), {}, "messages[1].tool_calls[0].function.arguments"),
    ((call(arguments="{a"),), {}, "messages[1].tool_calls[0].function.arguments"),
    ((call(arguments="[" * 100_000),), {}, "messages[1].tool_calls[0].function.arguments"),
    ((call(arguments=json.dumps(deep(MAX_DEPTH + 1))),), {}, "messages[1].tool_calls[0].function.arguments"),
    ((call(arguments={"a": 1}),), {}, "messages[1].tool_calls[0].function.arguments"),
    (({"role": "assistant", "content": None},), {}, "messages[1].content"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "fields", "param"), WRONG)
def test_what_is_wrong_is_named(
    messages: tuple[Any, ...], fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(RequestError) as caught:
        request(*messages, **fields)
    assert caught.value.param == param
    assert param in caught.value.what
    assert caught.value.status == 400


def test_depth_up_to_the_limit_is_fine() -> None:
    assert request(**function(parameters=deep(MAX_DEPTH))).toolbox.tools
    assert request(call(arguments=json.dumps(deep(MAX_DEPTH))), RESULT).messages[1].calls
