"""Two models: requests for either are answered by it, and no answer is cut for the other, whether both fit or only one.

Issue lines: a chat remembers its model, and switching keeps the chat; several models loaded at once take turns on a device.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from app.chat.ports import Event, Request, Text
from app.client.ensemble import Ensemble
from app.client.loading import MakeRoom
from app.client.local import LocalModel
from app.client.memories import Memories
from app.wire import LoadParams
from tests import tiny_models
from tests.api.harness import HELLO
from tests.cases.whole import GREEDY, RealModel, served, user
from tests.scripted_children import run

pytestmark = pytest.mark.slow

ONE, TWO = "abcdefghijklm", "nopqrstuvwxyz"
"""What each of them writes."""


def test_each_request_is_answered_by_the_model_that_it_names(tmp_path: Path) -> None:
    one, two = (
        tiny_models.talker(tmp_path / f"{letters}.gguf", letters=letters, context=512)
        for letters in (ONE, TWO)
    )

    async def scenario() -> None:
        model = RealModel(one, pool_tokens=1024, sequences=4, batch=64)
        try:
            async with asyncio.timeout(60):
                answers = await asyncio.gather(
                    model.ask(user("hi"), tokens=40, model=str(one)),
                    model.ask(user("hi"), tokens=6, model=str(two)),
                    model.ask(user("hi"), tokens=4),
                )
            texts = [answer.text for answer in answers]
            assert [len(text) for text in texts] == [40, 6, 4], "none was cut for the other"
            assert [set(text) <= set(ONE) for text in texts] == [True, False, False]
            assert [set(text) <= set(TWO) for text in texts] == [False, True, True]
            assert all(not answer.end.error for answer in answers)
            assert model.state.path == str(two)
        finally:
            await model.close()

    run(scenario())


def test_where_both_fit_they_answer_at_once_also_through_the_api(tmp_path: Path) -> None:
    one, two = (
        tiny_models.talker(tmp_path / f"{letters}.gguf", letters=letters, context=512)
        for letters in (ONE, TWO)
    )
    params = LoadParams("", pool_tokens=512, sequences=2, batch=64, threads=1)

    def make(path: str, memories: Memories, make_room: MakeRoom) -> LocalModel:
        return LocalModel(lambda file: replace(params, path=file), path=path, memories=memories)

    async def first_text(events: AsyncIterator[Event]) -> Text:
        async for event in events:
            if isinstance(event, Text):
                return event
        raise AssertionError("nothing was written")

    async def scenario() -> None:
        model = Ensemble(make, lambda path, beside: True)
        try:
            endless = Request((user("hi"),), sampling=GREEDY, ignore_eos=True, model=str(one))
            async with aclosing(model.generate(endless)) as running:
                written = (await first_text(running)).text
                await model.load(str(two))
                async with served(model) as api:
                    for name, letters in ((ONE, ONE), (TWO, TWO), ("default", TWO)):
                        reply = await api.post({**HELLO, "model": name, "max_tokens": 6})
                        assert set(reply.json["choices"][0]["message"]["content"]) <= set(letters)
                written += (await first_text(running)).text
                assert set(written) <= set(ONE), "it was answering all the time"
        finally:
            await model.close()

    run(scenario())
