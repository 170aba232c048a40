"""While somebody types, the model reads what the message follows."""

import asyncio

from PySide6.QtCore import Qt

from app.settings import Settings
from tests.fakes import FakeGenerator
from tests.gui.desk import until

CURRENT = Settings(system_prompt="Be brief.")


def read(desk):
    """The messages of each warm-up."""
    return [[line.content for line in request.messages] for request in desk.generator.warmed]


def held():
    generator = FakeGenerator()
    generator.warm_gate = asyncio.Event()
    return generator


def test_typing_has_the_history_read_and_sending_ends_that(with_desk):
    async def scenario(desk):
        desk.type("hel")
        await until(lambda: read(desk) == [["Be brief."]])
        desk.type("lo")
        await desk.say("")
        await desk.answered()
        assert desk.generator.warming == 0
        desk.type("and")
        await until(lambda: len(desk.generator.warmed) == 2)
        assert read(desk)[1] == ["Be brief.", "hello", "Hello."]

    with_desk(scenario, generator=held(), current=CURRENT)


def test_closing_the_tab_ends_it(with_desk):
    async def scenario(desk):
        desk.type("hello")
        await until(lambda: desk.generator.warming == 1)
        desk.control(Qt.Key.Key_W)
        await until(lambda: desk.generator.warming == 0)

    with_desk(scenario, generator=held(), current=CURRENT)


def test_an_emptied_box_asks_for_nothing(with_desk):
    async def scenario(desk):
        first = desk.front
        desk.type("h")
        desk.key(Qt.Key.Key_Backspace)
        desk.control(Qt.Key.Key_T)
        await until(lambda: desk.front is not first)
        desk.type("x")
        await until(lambda: desk.generator.warming == 1)
        # The first box's time had come before.
        assert read(desk) == [["Be brief."]]

    with_desk(scenario, generator=held(), current=CURRENT)
