"""Log-probabilities over the wire, in OpenAI's shape, streamed and whole."""

import asyncio
import math
from collections.abc import AsyncIterator

import openai
import pytest

from app.api.answer import MAX_PENDING, Answer
from app.chat.models import FinishReason, Usage
from app.chat.ports import Chance, Ended, Event, Likelihood, Text, Thought
from tests.api.harness import HELLO, read_stream, running
from tests.fakes import FakeGenerator

ASKED = {**HELLO, "logprobs": True, "top_logprobs": 2}
E = "é".encode()
EVENTS = (
    Thought("Hm."),
    Text("a", 1, (Likelihood(Chance(b"a", -0.5), (Chance(b"b", -0.25), Chance(b"a", -0.5))),)),
    Text("é", 2, (Likelihood(Chance(E[:1], -1.0)), Likelihood(Chance(E[1:], -math.inf)))),
    Text("!", 1),
    Ended(FinishReason.STOP, Usage(3, 4, 0)),
)
ENTRIES = [
    {
        "token": "a",
        "logprob": -0.5,
        "bytes": [97],
        "top_logprobs": [
            {"token": "b", "logprob": -0.25, "bytes": [98]},
            {"token": "a", "logprob": -0.5, "bytes": [97]},
        ],
    },
    {"token": "\ufffd", "logprob": -1.0, "bytes": [0xC3], "top_logprobs": []},
    {"token": "\ufffd", "logprob": -9999.0, "bytes": [0xA9], "top_logprobs": []},
]


def served() -> FakeGenerator:
    return FakeGenerator([EVENTS])


def test_a_whole_answer_has_all_of_them() -> None:
    async def run() -> None:
        async with running(served()) as api:
            (choice,) = (await api.post(ASKED)).json["choices"]
            assert choice["logprobs"] == {"content": ENTRIES, "refusal": None}
            assert api.generator.requests[0].top_logprobs == 2

    asyncio.run(run())


def test_a_chunk_has_those_of_its_text() -> None:
    async def run() -> None:
        async with running(served()) as api:
            stream = read_stream((await api.post({**ASKED, "stream": True})).body)
            found = [
                (choice["delta"].get("content"), choice["logprobs"])
                for chunk in stream.chunks
                for choice in chunk["choices"]
            ]
            assert found == [
                ("", None),
                (None, None),
                ("a", {"content": ENTRIES[:1], "refusal": None}),
                ("é", {"content": ENTRIES[1:], "refusal": None}),
                ("!", None),
                (None, None),
            ]

    asyncio.run(run())


def test_who_does_not_ask_has_none() -> None:
    async def run() -> None:
        async with running(FakeGenerator([(Text("a"),)])) as api:
            assert (await api.post(HELLO)).json["choices"][0]["logprobs"] is None
            (choice,) = (await api.post({**HELLO, "logprobs": True})).json["choices"]
            assert choice["logprobs"] == {"content": [], "refusal": None}

    asyncio.run(run())


def test_many_of_them_count_as_much_as_their_size() -> None:
    """What waits for a client that does not read is bounded with them too."""
    heavy = Likelihood(Chance(b"a", -0.5), (Chance(b"b", -0.25),) * 20)

    async def endless() -> AsyncIterator[Event]:
        while True:
            yield Text("a", 1, (heavy,))

    async def run() -> None:
        answer = Answer(endless(), MAX_PENDING)
        await answer.collect()
        assert answer.ended is not None
        assert answer.ended.code == "slow_client"
        pieces = await answer.take(None)
        kept = [likelihood for piece in pieces for likelihood in piece.likelihoods]
        assert "".join(piece.text for piece in pieces) == "a" * len(kept)
        assert MAX_PENDING / 2 < len(kept) * 21 * 16 <= MAX_PENDING

    asyncio.run(run())


@pytest.mark.parametrize("stream", [False, True])
def test_the_official_client_understands_them(stream: bool) -> None:
    async def run() -> None:
        async with running(served()) as api:
            client = openai.AsyncOpenAI(base_url=f"{api.base}/v1", api_key="k", max_retries=0)
            answer = await client.chat.completions.create(
                model="default",
                messages=[{"role": "user", "content": "hi"}],
                logprobs=True,
                top_logprobs=2,
                stream=stream,
            )
            chunks = [chunk async for chunk in answer] if stream else [answer]
            entries = [
                entry
                for chunk in chunks
                for entry in (
                    chunk.choices[0].logprobs.content if chunk.choices[0].logprobs else []
                )
            ]
            assert [entry.logprob for entry in entries] == [-0.5, -1.0, -9999.0]
            assert entries[0].top_logprobs[0].token == "b"
            await client.close()

    asyncio.run(run())
