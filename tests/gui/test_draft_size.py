"""The draft is counted while it is typed, by whoever knows the model's tokens, and the window never waits for it."""

import asyncio

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.chat.model_state import ModelPhase, ModelState
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


def test_it_is_counted_once_at_a_time_and_not_where_it_is_enormous(with_desk):
    async def scenario(desk):
        page, counted, gate = desk.front, [], asyncio.Event()
        page.show_model(READY)

        async def count(text):
            counted.append(text)
            await gate.wait()
            return len(text)

        page._size._count = count
        for letter in "abc":
            QTest.keyClick(page.composer.edit, letter)
            page._size._look()
            await asyncio.sleep(0)
        assert counted == ["a"]
        gate.set()
        await until(lambda: counted[-1] == "abc" and figures(page) == "3 of 8,192 tokens")
        page.composer.set_text("x " * 200_000)
        await until(lambda: figures(page) == "")
        assert len(counted[-1]) == 3

    with_desk(scenario)
