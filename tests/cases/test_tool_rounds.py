"""A program that calls tools in rounds: each request holds all that went before, and only what is new is read."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_models
from tests.cases.whole import RealModel, served
from tests.tool_templates import HERMES

pytestmark = pytest.mark.slow

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
WRITTEN = (
    '<tool_call>\n{"na',
    'me": "look", "argu',
    'ments": {"what": "he',
    'llo é"}}\n</tool',
    "_call>",
)
RESULT = "There is nothing."
ROUNDS = 3


async def rounds(model: RealModel) -> list[dict[str, Any]]:
    """The usage of each round."""
    lines: list[dict[str, Any]] = [{"role": "user", "content": "What is there?"}]
    usages = []
    async with served(model) as api:
        for _ in range(ROUNDS):
            body = {"messages": lines, "tools": [TOOL], "temperature": 0, "max_tokens": 20}
            reply = (await api.post(body)).json
            (choice,) = reply["choices"]
            assert choice["finish_reason"] == "tool_calls"
            (call,) = choice["message"]["tool_calls"]
            assert call["function"] == {"name": "look", "arguments": '{"what": "hello é"}'}
            usages.append(reply["usage"])
            result = {"role": "tool", "tool_call_id": call["id"], "content": RESULT}
            lines += [choice["message"], result]
    return usages


def test_a_round_reads_only_what_is_new(tmp_path: Path) -> None:
    path = tiny_models.talker(tmp_path / "reciter.gguf", template=HERMES, recites=WRITTEN)

    async def run() -> None:
        model = RealModel(path, pool_tokens=4096)
        try:
            await model.open()
            usages = await rounds(model)
            prompts = [submit.tokens for submit in model.prompts.asked]
        finally:
            await model.close()
        cached = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
        for number in range(1, ROUNDS):
            before = prompts[number - 1]
            written = prompts[number][len(before) : len(before) + len(WRITTEN)]
            assert prompts[number][: len(before)] == before
            assert len(written) == usages[number]["completion_tokens"] == len(WRITTEN)
            # The last token that was written was never fed.
            assert cached[number] >= len(before) + len(WRITTEN) - 1

    asyncio.run(run())
