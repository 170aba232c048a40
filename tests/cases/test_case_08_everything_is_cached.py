"""Case 8: the same prompt again and again, and prompts of nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.cases.whole import RealModel, answers, open_tabs, over, put, served, settings, until
from tests.gui.desk import Desk, turns_of_the_loop

pytestmark = pytest.mark.slow

BLANKS = ("", "   ", "\n", "\t \n ", "\u3000", "\x00")


def test_five_regenerations_and_a_second_tab(at_work: Callable[..., None], talker: Path) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        page, second = await open_tabs(desk, 2)
        desk.control(Qt.Key.Key_1)
        put(page, "hi")
        await over(desk, page)
        texts, reads = [], []
        for _ in range(5):
            before = model.counters.read
            desk.seen.clear()
            desk.control(Qt.Key.Key_R)
            await over(desk, page)
            (answer,) = await answers(desk, page)
            texts.append(answer.text)
            reads.append(model.counters.read - before)
            assert answer.text
            assert answer.usage.cached_tokens == answer.usage.prompt_tokens - 1
        assert len(set(texts[1:])) == 1
        assert reads == [1] * 5
        put(second, "hi")
        await over(desk, second)
        (answer,) = await answers(desk, second)
        assert answer.text == texts[-1]

    at_work(scenario, RealModel(talker), current=settings())


def test_nothing_is_not_sent_from_the_window(at_work: Callable[..., None], talker: Path) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        page = desk.front
        for blank in BLANKS:
            page.composer.set_text(blank)
            QTest.keyClick(page.composer.edit, Qt.Key.Key_Return)
            desk.click(page.composer.button)
            await turns_of_the_loop()
        assert await desk.store.messages(page.id) == []
        assert model.prompts.asked == []
        put(page, "hi")
        await over(desk, page)
        assert len(await answers(desk, page)) == 1

    at_work(scenario, RealModel(talker), current=settings())


def test_nothing_by_the_api_is_answered_and_so_is_the_next(
    at_work: Callable[..., None], talker: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        async with served(model) as api:
            for blank in BLANKS:
                for stream in (False, True):
                    body = {"messages": [{"role": "user", "content": blank}], "max_tokens": 4}
                    reply = await api.post({**body, "stream": stream})
                    assert reply.status in (200, 400), blank
            for _ in range(3):
                body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
                reply = await api.post({**body, "temperature": 0})
                assert reply.json["choices"][0]["message"]["content"]
        await until(lambda: model.status.running == 0, "an idle engine")

    at_work(scenario, RealModel(talker), current=settings())
