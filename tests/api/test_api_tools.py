"""Calls of tools over the wire: streamed and whole, broken ones, and the official client's view of them."""

import asyncio
import json
from typing import Any

import openai
import pytest

from app.chat.models import FinishReason, Usage
from app.chat.ports import CallArguments, CallBegun, CallBroken, Ended, Event, Text, Thought
from tests.api.harness import HELLO, Api, read_stream, running
from tests.fakes import FakeGenerator

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
ASK = {**HELLO, "tools": [TOOL]}
STREAM = {**ASK, "stream": True}
FIRST = (CallBegun(0, "call_1", "look"), CallArguments(0, '{"a":'), CallArguments(0, ' "é"}'))
SECOND = (CallBegun(1, "call_2", "find"), CallArguments(1, "{}"))
BROKEN = CallBroken(1, '<tool_call>{"name": "find", "arguments": {oops')


def scripted(*events: Event) -> FakeGenerator:
    return FakeGenerator([events])


async def whole(api: Api) -> tuple[dict[str, Any], str]:
    reply = await api.post(ASK)
    assert reply.status == 200
    (choice,) = reply.json["choices"]
    return choice["message"], choice["finish_reason"]


def fields(identity: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": identity, "type": "function", "function": function}


def test_calls_stream_piece_by_piece() -> None:
    async def run() -> None:
        async with running(scripted(Thought("hm"), Text("So."), *FIRST, *SECOND)) as api:
            stream = read_stream((await api.post(STREAM)).body)
            choices = [chunk["choices"][0] for chunk in stream.chunks]
            assert [choice["finish_reason"] for choice in choices][-2:] == [None, "tool_calls"]
            said = [choice["delta"] for choice in choices]
            assert said[1:3] == [{"reasoning_content": "hm"}, {"content": "So."}]
            calls = [delta["tool_calls"][0] for delta in said if "tool_calls" in delta]
            assert calls == [
                {"index": 0, **fields("call_1", "look", "")},
                {"index": 0, "function": {"arguments": '{"a":'}},
                {"index": 0, "function": {"arguments": ' "é"}'}},
                {"index": 1, **fields("call_2", "find", "")},
                {"index": 1, "function": {"arguments": "{}"}},
            ]

    asyncio.run(run())


def test_an_answer_that_is_not_streamed_carries_the_same() -> None:
    async def run() -> None:
        async with running(scripted(Thought("hm"), *FIRST, *SECOND)) as api:
            message, reason = await whole(api)
            assert reason == "tool_calls"
            assert message == {
                "role": "assistant",
                "content": None,
                "reasoning_content": "hm",
                "tool_calls": [
                    fields("call_1", "look", '{"a": "é"}'),
                    fields("call_2", "find", "{}"),
                ],
            }

    asyncio.run(run())


def test_a_broken_call_is_text_where_nothing_was_sent_yet() -> None:
    async def run() -> None:
        async with running(scripted(*SECOND[:1], BROKEN, Text(" x"))) as api:
            message, reason = await whole(api)
            assert (message["content"], reason) == (f"{BROKEN.text} x", "stop")
            assert "tool_calls" not in message
        async with running(scripted(*FIRST, *SECOND[:1], BROKEN)) as api:
            message, reason = await whole(api)
            assert (message["content"], reason) == (BROKEN.text, "tool_calls")
            assert message["tool_calls"] == [fields("call_1", "look", '{"a": "é"}')]

    asyncio.run(run())


def test_a_broken_call_ends_a_stream_with_an_error() -> None:
    async def run() -> None:
        async with running(scripted(Text("So."), *FIRST, *SECOND[:1], BROKEN, Text("x"))) as api:
            stream = read_stream((await api.post(STREAM)).body)
            assert stream.chunks[-1]["error"]["code"] == "invalid_tool_call"
            assert "[DONE]" not in stream.events
            assert stream.text == "So."

    asyncio.run(run())


@pytest.mark.parametrize(
    "reason", [FinishReason.LENGTH, FinishReason.ENGINE_DIED, FinishReason.CANCELLED]
)
def test_a_call_that_was_cut_off_leaves_a_stream_its_own_end(reason: FinishReason) -> None:
    async def run() -> None:
        cut = CallBroken(0, '<tool_call>{"name": "look", "arguments": {"a":', cut=True)
        events = (*FIRST[:2], cut, Ended(reason, Usage(1, 2, 0)))
        async with running(scripted(*events)) as api:
            stream = read_stream((await api.post(STREAM)).body)
            assert stream.text == ""
            if reason is FinishReason.LENGTH:
                assert stream.chunks[-1]["choices"][0]["finish_reason"] == "length"
                assert "[DONE]" in stream.events
            else:
                assert stream.chunks[-1]["error"]["code"] == reason.value

    asyncio.run(run())


@pytest.mark.parametrize("reason", [FinishReason.LENGTH, FinishReason.STOP])
@pytest.mark.parametrize("before", [(), (*FIRST[:1], CallArguments(0, "{}"))])
def test_a_call_in_which_the_answer_was_cut_off_is_given_as_far_as_it_came(
    reason: FinishReason, before: tuple[Event, ...]
) -> None:
    """Streamed or not, as OpenAI's and llama-server's; a stop string is such an end, too."""

    async def run() -> None:
        index = len(before) // 2
        begun, part = CallBegun(index, f"call_{index}", "find"), CallArguments(index, '{"a": "x')
        cut = CallBroken(index, '<tool_call>{"name": "find", "arguments": {"a": "x', cut=True)
        events = (Text("So."), *before, begun, part, cut, Ended(reason, Usage(1, 2, 0)))
        async with running(scripted(*events)) as api:
            message, found = await whole(api)
            assert (message["content"], found) == ("So.", reason.value)
            call = fields(f"call_{index}", "find", '{"a": "x')
            assert message["tool_calls"] == [*[fields("call_1", "look", "{}")][:index], call]
            stream = read_stream((await api.post(STREAM)).body)
            assert (stream.text, stream.events[-1]) == ("So.", "[DONE]")
            assert stream.chunks[-1]["choices"][0]["finish_reason"] == reason.value
            deltas = [chunk["choices"][0]["delta"] for chunk in stream.chunks]
            calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
            mine = [call["function"]["arguments"] for call in calls if call["index"] == index]
            assert "".join(mine) == '{"a": "x'

    asyncio.run(run())


def test_an_answer_of_full_length_says_so_even_with_calls() -> None:
    async def run() -> None:
        ended = Ended(FinishReason.LENGTH, Usage(1, 2, 0))
        async with running(scripted(*FIRST, ended)) as api:
            assert (await whole(api))[1] == "length"
            assert b'"finish_reason":"length"' in (await api.post(STREAM)).body

    asyncio.run(run())


@pytest.mark.parametrize("stream", [False, True])
def test_the_official_client_goes_round(stream: bool) -> None:
    """Asks, gets a call, sends it back with a result, and is understood."""

    async def run() -> None:
        generator = FakeGenerator([(Thought("hm"), *FIRST, *SECOND), (Text("Done."),)])
        async with (
            running(generator) as api,
            openai.AsyncOpenAI(base_url=f"{api.base}/v1", api_key="k", max_retries=0) as client,
        ):
            asked: list[Any] = [{"role": "user", "content": "hi"}]
            options: Any = {"model": "default", "tools": [TOOL]}
            if stream:
                async with client.chat.completions.stream(messages=asked, **options) as events:
                    async for _ in events:
                        pass
                    completion: Any = await events.get_final_completion()
            else:
                completion = await client.chat.completions.create(messages=asked, **options)
            message = completion.choices[0].message
            assert completion.choices[0].finish_reason == "tool_calls"
            assert [json.loads(call.function.arguments) for call in message.tool_calls] == [
                {"a": "é"},
                {},
            ]
            results = [
                {"role": "tool", "tool_call_id": call.id, "content": "r"}
                for call in message.tool_calls
            ]
            answer: Any = message.model_dump(exclude_none=True, include={"role", "content"})
            answer["tool_calls"] = [
                fields(call.id, call.function.name, call.function.arguments)
                for call in message.tool_calls
            ]
            again = await client.chat.completions.create(
                messages=[*asked, answer, *results], **options
            )
            assert again.choices[0].message.content == "Done."
            sent = generator.requests[-1].messages
            assert [call.name for call in sent[1].calls] == ["look", "find"]
            assert [(line.call_id, line.name) for line in sent[2:]] == [
                ("call_1", "look"),
                ("call_2", "find"),
            ]

    asyncio.run(run())
