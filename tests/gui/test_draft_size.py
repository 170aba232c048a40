"""The draft is counted while it is typed, by whoever knows the model's tokens, and the window never waits for it."""

import asyncio

import pytest
from PySide6.QtCore import QObject
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.chat.model_state import ModelPhase, ModelState
from app.ui import aio
from app.ui.draft_size import DraftSize
from tests.gui.desk import until

READY = ModelState(ModelPhase.READY, name="M", context_tokens=8_192)


def figures(page) -> str:
    return page.state_line.findChild(QLabel, "contextText").text()


@pytest.mark.slow
def test_what_is_typed_is_counted_and_goes_when_it_is_sent(with_desk):
    async def scenario(desk):
        page = desk.front
        page.show_model(READY)
        QTest.keyClicks(page.composer.edit, "three short words")
        await until(lambda: figures(page) == "3 of 8,192 tokens")
        page.composer.set_text("")
        await until(lambda: figures(page) == "")

    with_desk(scenario)


def test_it_is_counted_once_at_a_time_and_not_where_it_is_enormous(drive):
    async def scenario():
        draft, counted, gate, parent = ["a"], [], asyncio.Event(), QObject()

        async def count(text):
            counted.append(text)
            await gate.wait()
            return len(text)

        size = DraftSize(lambda: draft[0], count, aio.spawn, parent)
        size.request()
        await until(lambda: counted == ["a"])
        for draft[0] in ("ab", "abc"):
            size.request()
        await asyncio.sleep(0)
        gate.set()
        await until(lambda: size.tokens == 3)
        assert counted == ["a", "abc"]
        draft[0] = "x " * 200_000
        size.request()
        await until(lambda: size.tokens == 0)
        assert counted == ["a", "abc"]
        size.end()

    drive(scenario())
