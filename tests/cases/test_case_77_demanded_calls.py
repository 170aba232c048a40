"""Case 77, of tools: a call that is demanded comes, names a tool and fits the schema of a strict one, also in a stream.

The models have random weights: by themselves they would write no call in a thousand years.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
import pytest

from tests import tiny_models, tool_templates
from tests.api.harness import HELLO
from tests.cases.whole import RealModel, served
from tests.json_schema import valid
from tests.tiny_text import CHATML

pytestmark = pytest.mark.slow

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"enum": ["small", "large"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 99},
        "at": {"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}$"},
    },
    "required": ["size", "count", "at"],
    "additionalProperties": False,
}
SMALL = {**SCHEMA, "properties": {"size": SCHEMA["properties"]["size"]}, "required": ["size"]}
STRICT = {"type": "function", "function": {"name": "order", "parameters": SCHEMA, "strict": True}}
LOOSE = {
    "type": "function",
    "function": {"name": "odd", "parameters": {"type": "object", "properties": {"x": {"not": {}}}}},
}
ORDER: dict[str, Any] = {"type": "function", "function": {"name": "order"}}
TEMPLATES = {
    "objects": tool_templates.HERMES,
    "tags": tool_templates.TAGGED,
    "folded": CHATML,
}
"""Each with calls written in another way."""


def check(message: Any, names: tuple[str, ...]) -> None:
    assert not message.content
    for call in message.tool_calls:
        assert call.function.name in names
        arguments = json.loads(call.function.arguments)
        assert isinstance(arguments, dict)
        assert call.function.name == "odd" or valid(arguments, SCHEMA), arguments


async def asked(client: openai.AsyncOpenAI, **options: Any) -> None:
    messages: Any = [{"role": "user", "content": "One, please."}]
    common: Any = {
        "model": "default",
        "messages": messages,
        "tools": [LOOSE, STRICT],
        "max_tokens": 250,
        **options,
    }
    whole = (await client.chat.completions.create(**common)).choices[0]
    names = ("order",) if options["tool_choice"] == ORDER else ("odd", "order")
    if whole.finish_reason == "tool_calls":
        check(whole.message, names)
        assert len(whole.message.tool_calls or ()) == 1
    else:  # a model without sense may write a string without end, but nothing else
        assert (whole.finish_reason, options["tool_choice"]) == ("length", "required")
    calls: list[list[str]] = []
    async for chunk in await client.chat.completions.create(**common, stream=True):
        for part in chunk.choices[0].delta.tool_calls or () if chunk.choices else ():
            if part.function.name:
                calls.append([part.function.name, ""])
            calls[-1][1] += part.function.arguments or ""
    if whole.finish_reason == "tool_calls":
        made = whole.message.tool_calls or ()
        assert calls == [[one.function.name, one.function.arguments] for one in made]


async def asked_of(model: RealModel) -> None:
    async with (
        served(model) as api,
        openai.AsyncOpenAI(base_url=f"{api.base}/v1", api_key="k", max_retries=0) as client,
    ):
        async with asyncio.TaskGroup() as tasks:
            for options in (
                {"tool_choice": ORDER, "temperature": 1.5, "seed": 4},
                {
                    "tool_choice": "required",
                    "parallel_tool_calls": False,
                    "temperature": 1.5,
                    "seed": 2,
                },
            ):
                tasks.create_task(asked(client, **options))
        body = {
            **HELLO,
            "tools": [{**STRICT, "function": {**STRICT["function"], "parameters": {"not": {}}}}],
        }
        refused = await api.post({**body, "tool_choice": "required"})
        assert (refused.status, refused.error["param"]) == (400, "tools")
        assert "'order'" in refused.error["message"]


@pytest.mark.parametrize("manner", TEMPLATES)
def test_a_call_that_is_demanded_comes(tmp_path: Path, manner: str) -> None:
    path = tiny_models.talker(tmp_path / "talker.gguf", template=TEMPLATES[manner], ends=True)

    async def scenario() -> None:
        async with RealModel(path) as model:
            await asked_of(model)

    asyncio.run(scenario())


@pytest.mark.parametrize("strict", [True, False])
def test_a_strict_tool_is_held_to_its_schema_once_a_call_has_begun(
    tmp_path: Path, strict: bool
) -> None:
    """With "auto": before that the answer is free."""
    wrong = '{"name": "order", "arguments": {"wrong": 1}}\n</tool_call>'
    recites = ("Well. ", "<tool_call>\n", wrong)
    path = tiny_models.talker(
        tmp_path / "reciter.gguf", template=tool_templates.HERMES, recites=recites
    )
    function = {**STRICT["function"], "parameters": SMALL, "strict": strict}
    tool = {**STRICT, "function": function}
    body = {**HELLO, "tools": [tool], "temperature": 0, "parallel_tool_calls": False}

    async def scenario() -> None:
        async with RealModel(path) as model, served(model) as api:
            (choice,) = (await api.post({**body, "max_tokens": 600})).json["choices"]
        (call,) = choice["message"]["tool_calls"]
        arguments = json.loads(call["function"]["arguments"])
        assert choice["message"]["content"] == "Well."
        assert valid(arguments, SMALL) if strict else arguments == {"wrong": 1}

    asyncio.run(scenario())
