"""Case 13: whatever the app does while four chats stream, one thread alone makes the calls on the context."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtTest import QTest

from app.chat.models import Status
from app.ui import aio
from tests.api.harness import Api
from tests.cases.whole import (
    RealModel,
    answers,
    open_tabs,
    over,
    put,
    served,
    settings,
    until,
    user,
)
from tests.gui.desk import Desk
from tests.replaying import read_log

pytestmark = pytest.mark.slow

TOKENS = {"hello": 1, "x": 1, "hello hello": 3, "<|im_end|>": 8, "": 0, "你": 3}
"""Texts and their tokens in the byte-level vocabulary."""


class Acts:
    """What a person and a program do meanwhile; each act checks what it is told."""

    def __init__(self, desk: Desk, model: RealModel, api: Api, rng: random.Random) -> None:
        self.desk, self.model, self.api, self.rng = desk, model, api, rng
        self.streams, self.typing = desk.tabs[:4], desk.tabs[4]

    def choose(self, count: int) -> list[Callable[[], object]]:
        every = (
            self.type_a_key,
            self.count,
            self.look_at_the_model,
            self.name_a_chat,
            self.save,
            self.branch,
            self.list_models,
            self.chat,
        )
        return [self.rng.choice(every) for _ in range(count)]

    async def type_a_key(self) -> None:
        QTest.keyClicks(self.typing.composer.edit, "k")

    async def count(self) -> None:
        text = self.rng.choice(list(TOKENS))
        assert await self.model.count_tokens(text) == TOKENS[text]

    async def look_at_the_model(self) -> None:
        self.desk.window._show_status()
        assert self.model.state.context_tokens > 0

    async def name_a_chat(self) -> None:
        await self.desk.chat.rename(self.rng.choice(self.streams).id, f"name {self.rng.random()}")

    async def save(self) -> None:
        await self.typing.save_draft()

    async def branch(self) -> None:
        told = await self.model.ask(user("story 0"), user(f"or {self.rng.random()}"), tokens=2)
        assert told.text

    async def list_models(self) -> None:
        assert (await self.api.get("/v1/models")).status == 200

    async def chat(self) -> None:
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
        assert (await self.api.post(body)).status == 200


@pytest.mark.parametrize("times", [500, pytest.param(4000, marks=pytest.mark.soak)])
def test_the_context_is_used_by_one_thread(
    times: int, at_work: Callable[..., None], talker: Path, decode_log: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        streams = (await open_tabs(desk, 5))[:4]
        for number, page in enumerate(streams):
            put(page, f"story {number}")
        await until(lambda: all(desk.chat.turn(p.id).written for p in streams), "four streams")
        async with served(model) as api:
            todo = Acts(desk, model, api, random.Random(13)).choose(times)
            for first in range(0, times, 10):
                await asyncio.gather(*(aio.spawn(act()) for act in todo[first : first + 10]))
        assert all(desk.chat.turn(page.id).written for page in streams), (
            "they streamed all the time"
        )
        desk.window.stopAll()
        await over(desk, *streams)
        for page in streams:
            (answer,) = await answers(desk, page)
            assert answer.status is Status.STOPPED
            assert answer.usage.completion_tokens > 100

    # No answer ends by itself: a chat has room for more tokens than are written meanwhile.
    model = RealModel(talker, pool_tokens=65_536)
    at_work(scenario, model, current=settings(max_answer_tokens=0))
    records = read_log(decode_log)
    assert sum("decode" in record for record in records) > 100
    assert len({record["thread"] for record in records}) == 1
