"""The shape of the event stream and errors in it (case 80), texts in pieces (cases 25, 26, 28, 32), usage."""

import asyncio
import json
from typing import Any

import openai
import pytest

from app.api.server import Times
from app.chat.models import FinishReason, Usage
from app.chat.ports import Ended, Event, Reading, Text, Thought, Waiting
from tests.api.harness import HELLO, Api, Reply, Stream, chat, parse, read_stream, running, until
from tests.fakes import FakeGenerator

STREAM = {**HELLO, "stream": True}
WITH_USAGE = {**STREAM, "stream_options": {"include_usage": True}}
FIVE = [Text(f"t{i} ") for i in range(5)]


def scripted(*events: Event) -> FakeGenerator:
    return FakeGenerator([events])


async def streamed(api: Api, body: dict[str, Any] = WITH_USAGE) -> Stream:
    reply = await api.post(body)
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.headers["cache-control"] == "no-cache"
    return read_stream(reply.body)


def test_a_stream_has_role_texts_one_reason_usage_and_done() -> None:
    async def run() -> None:
        ended = Ended(FinishReason.LENGTH, Usage(20, 5, 12))
        async with running(scripted(Waiting(1), Reading(3, 20, 12), *FIVE, ended)) as api:
            stream = await streamed(api)
            assert stream.events[-1] == "[DONE]"
            assert stream.events.count("[DONE]") == 1
            *chunks, last = stream.chunks
            assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
            assert [c["choices"][0]["delta"].get("content") for c in chunks[1:6]] == [
                t.text for t in FIVE
            ]
            reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
            assert reasons == [None] * 6 + ["length"]
            assert last["choices"] == []
            assert last["usage"] == {
                "prompt_tokens": 20,
                "completion_tokens": 5,
                "total_tokens": 25,
                "prompt_tokens_details": {"cached_tokens": 12},
            }
            assert all(chunk["usage"] is None for chunk in chunks)
            assert (
                len({(chunk["id"], chunk["model"], chunk["object"]) for chunk in stream.chunks})
                == 1
            )

    asyncio.run(run())


def test_without_include_usage_no_chunk_speaks_of_it() -> None:
    async def run() -> None:
        async with running(scripted(*FIVE)) as api:
            assert not [
                c for c in (await streamed(api, STREAM)).chunks if "usage" in c or not c["choices"]
            ]

    asyncio.run(run())


def test_an_answer_that_is_not_streamed_carries_the_same() -> None:
    async def run() -> None:
        async with running(scripted(*FIVE, Ended(FinishReason.STOP, Usage(20, 5, 12)))) as api:
            whole = (await api.post(HELLO)).json
            assert whole["choices"][0]["message"] == {
                "role": "assistant",
                "content": "t0 t1 t2 t3 t4 ",
            }
            assert whole["choices"][0]["finish_reason"] == "stop"
            assert whole["usage"]["prompt_tokens_details"] == {"cached_tokens": 12}

    asyncio.run(run())


@pytest.mark.parametrize("script", [(), (Text(""),), (Ended(FinishReason.STOP, Usage(1, 0)),)])
def test_an_empty_answer_is_an_empty_string(script: tuple[Event, ...]) -> None:
    async def run() -> None:
        async with running(scripted(*script)) as api:
            assert (await api.post(HELLO)).json["choices"][0]["message"]["content"] == ""
            stream = await streamed(api)
            assert stream.text == ""
            reasons = [x["finish_reason"] for chunk in stream.chunks for x in chunk["choices"]]
            assert reasons == [None, "stop"]

    asyncio.run(run())


FAILURES = [
    (
        Ended(
            FinishReason.ERROR,
            Usage(),
            "This needs 9,000 tokens, 8,192 fit.",
            "context_length_exceeded",
        ),
        400,
    ),
    (Ended(FinishReason.ERROR, Usage(), "The template failed."), 500),
    (Ended(FinishReason.ENGINE_DIED, Usage(), "The engine died."), 503),
    (Ended(FinishReason.CANCELLED, Usage()), 503),
]


@pytest.mark.parametrize(("ended", "status"), FAILURES)
def test_an_error_before_the_first_word_is_a_plain_error(ended: Ended, status: int) -> None:
    async def run() -> None:
        async with running(scripted(Waiting(1), ended)) as api:
            for body in (HELLO, STREAM):
                reply = await api.post(body)
                assert reply.status == status
                assert reply.headers["content-type"] == "application/json"
                assert reply.error["message"] == (ended.error or "The answer was cancelled.")
                assert reply.error["code"] == (ended.code or ended.reason.value)

    asyncio.run(run())


def test_an_error_in_the_middle_is_one_event_and_the_end() -> None:
    async def run() -> None:
        ended = Ended(FinishReason.ENGINE_DIED, Usage(), "The engine died.")
        async with running(scripted(*FIVE, ended)) as api:
            stream = await streamed(api)
            assert stream.text == "t0 t1 t2 t3 t4 "
            assert "[DONE]" not in stream.events
            assert stream.chunks[-1]["error"]["message"] == "The engine died."
            assert [chunk for chunk in stream.chunks if "error" in chunk] == [stream.chunks[-1]]
            assert (await api.post(HELLO)).status == 503, "and not a part of it as if it were whole"

    asyncio.run(run())


class Broken(FakeGenerator):
    """Raises after its script, where a real generator never does."""

    async def generate(self, request: Any) -> Any:
        for event in self.scripts[0]:
            yield event
        raise ZeroDivisionError("secret")


@pytest.mark.parametrize("script", [(), (Text("one"),)])
def test_a_bug_in_the_generator_is_an_internal_error(
    script: tuple[Event, ...], logged_errors: list[str]
) -> None:
    logged_errors += ["generator failed"]

    async def run() -> None:
        async with running(Broken([script])) as api:
            reply = await api.post(STREAM)
            assert b'"internal_error"' in reply.body
            assert b"secret" not in reply.body
            assert reply.status == (200 if script else 500)

    asyncio.run(run())


TEXTS = [
    "a\rb",
    "a\nb",
    "a\r\nb",
    "a\u2028b\u2029",
    "你发龍 é e\u0301 😀 👨‍👩‍👧‍👦",
    "\ufffd",
    "\x00\x1b",
    "x" * 100_000,
    'data: {"a":1}\n\n',
]


def test_every_text_arrives_as_it_is() -> None:
    async def run() -> None:
        async with running(scripted(*map(Text, TEXTS))) as api:
            assert (await streamed(api)).text == "".join(TEXTS)
            assert (await api.post(HELLO)).json["choices"][0]["message"]["content"] == "".join(
                TEXTS
            )

    asyncio.run(run())


def test_a_comment_is_sent_while_nothing_else_is() -> None:
    async def run() -> None:
        generator = FakeGenerator([(Waiting(1), Text("late"))], gate=asyncio.Semaphore(0))
        async with running(generator, times=Times(keep_alive=0.01)) as api:
            reader, writer = await api.open()
            writer.write(chat(STREAM))
            early = await reader.readuntil(b": keep-alive\n\n")
            assert b'"role":"assistant"' in early
            assert generator.gate is not None
            for _ in range(4):
                generator.gate.release()
            reply = parse(early + await reader.read())
            writer.close()
            stream = read_stream(reply.body)
            assert stream.comments >= 1
            assert stream.text == "late"
            assert stream.events[-1] == "[DONE]"

    asyncio.run(run())


def test_a_text_leaves_before_the_next_is_made() -> None:
    async def run() -> None:
        generator = FakeGenerator([FIVE], gate=asyncio.Semaphore(0))
        assert generator.gate is not None
        async with running(generator) as api:
            reader, writer = await api.open()
            writer.write(chat(STREAM))
            for text in FIVE:
                generator.gate.release()
                await reader.readuntil(json.dumps(text.text).encode())
            writer.close()
            await until(lambda: generator.closed_early == 1)

    asyncio.run(run())


def test_the_official_client_understands_all_of_it() -> None:
    async def run() -> None:
        ended = Ended(FinishReason.LENGTH, Usage(20, 5, 12))
        full = Ended(FinishReason.ERROR, Usage(), "too long", "context_length_exceeded")
        died = Ended(FinishReason.ENGINE_DIED, Usage(), "The engine died.")
        generator = FakeGenerator([(*FIVE, ended), (*FIVE, ended), (full,), (*FIVE, died)])
        async with (
            running(generator) as api,
            openai.AsyncOpenAI(base_url=f"{api.base}/v1", api_key="k", max_retries=0) as client,
        ):
            messages: Any = HELLO["messages"]
            assert [model.id async for model in client.models.list()] == [
                "default",
                "fake",
                "fake.gguf",
            ]
            whole = await client.chat.completions.create(model="default", messages=messages)
            assert whole.choices[0].message.content == "t0 t1 t2 t3 t4 "
            assert whole.usage is not None
            assert whole.usage.prompt_tokens_details is not None
            assert whole.usage.prompt_tokens_details.cached_tokens == 12
            chunks = [
                chunk
                async for chunk in await client.chat.completions.create(
                    model="default",
                    messages=messages,
                    stream=True,
                    stream_options={"include_usage": True},
                )
            ]
            assert (
                "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
                == "t0 t1 t2 t3 t4 "
            )
            assert chunks[-1].usage is not None
            assert chunks[-1].usage.total_tokens == 25
            with pytest.raises(openai.BadRequestError, match="too long"):
                await client.chat.completions.create(model="default", messages=messages)
            broken = await client.chat.completions.create(
                model="default", messages=messages, stream=True
            )
            with pytest.raises(openai.APIError, match="The engine died"):
                [chunk async for chunk in broken]
            with pytest.raises(openai.NotFoundError):
                await client.chat.completions.create(model="no-such", messages=messages)
            with pytest.raises(openai.BadRequestError):
                await client.chat.completions.create(model="default", messages=messages, n=2)

    asyncio.run(run())


def test_a_model_that_is_not_there_is_503_and_one_that_loads_is_waited_for() -> None:
    from app.chat.model_state import ModelPhase

    async def run() -> None:
        async with running() as api:
            api.host.move(phase=ModelPhase.FAILED, error="This is not a model.")
            reply = await api.post(HELLO)
            assert (reply.status, reply.error["message"]) == (503, "This is not a model.")
            assert (await api.get("/health")).status == 503
            api.host.move(phase=ModelPhase.LOADING)
            assert (await api.get("/health")).json == {"status": "loading"}
            assert (await api.post(HELLO)).status == 200
            api.host.move(phase=ModelPhase.NONE, path="", error="")
            assert (await api.get("/v1/models")).json["data"] == []
            assert (await api.post(HELLO)).status == 503

    asyncio.run(run())


def ids(replies: list[Reply]) -> set[str]:
    return {read_stream(reply.body).chunks[0]["id"] for reply in replies}


def test_many_streams_at_once_each_get_their_own() -> None:
    async def run() -> None:
        scripts = [[Text(f"{i}-{k} ") for k in range(20)] for i in range(40)]
        async with running(FakeGenerator(scripts)) as api:
            replies = await asyncio.gather(*(api.post(WITH_USAGE) for _ in range(40)))
            texts = {read_stream(reply.body).text for reply in replies}
            assert texts == {"".join(text.text for text in script) for script in scripts}
            assert len(ids(list(replies))) == 40

    asyncio.run(run())


THINKING = [Thought("Let me"), Thought(" see."), Text("It is"), Text(" 2.")]


def test_reasoning_streams_in_a_field_of_its_own() -> None:
    async def run() -> None:
        async with running(scripted(*THINKING)) as api:
            stream = await streamed(api, STREAM)
            deltas = [chunk["choices"][0]["delta"] for chunk in stream.chunks]
            said = {
                name: "".join(delta.get(name, "") for delta in deltas)
                for name in ("reasoning_content", "content")
            }
            assert said == {"reasoning_content": "Let me see.", "content": "It is 2."}

    asyncio.run(run())


def test_reasoning_of_a_whole_answer_is_apart_and_may_come_back() -> None:
    async def run() -> None:
        async with running(scripted(*THINKING)) as api:
            message = (await api.post(HELLO)).json["choices"][0]["message"]
            assert message["content"] == "It is 2."
            assert message["reasoning_content"] == "Let me see."
            more = [*HELLO["messages"], message, {"role": "user", "content": "And 2+2?"}]
            await api.post({"messages": more})
            line = api.generator.requests[-1].messages[1]
            assert (line.content, line.reasoning) == ("It is 2.", "Let me see.")

    asyncio.run(run())


def test_a_slow_client_gets_both_kinds_in_order() -> None:
    async def run() -> None:
        many = [*(Thought(f"t{n} ") for n in range(200)), *(Text(f"a{n} ") for n in range(200))]
        async with running(scripted(*many)) as api:
            stream = await streamed(api, STREAM)
            deltas = [chunk["choices"][0]["delta"] for chunk in stream.chunks]
            thought = "".join(delta.get("reasoning_content", "") for delta in deltas)
            assert thought == "".join(f"t{n} " for n in range(200))
            assert "".join(delta.get("content", "") for delta in deltas).startswith("a0 a1 ")

    asyncio.run(run())
