"""Several models loaded at once: named, unloaded each by itself, loaded beside each other; a tab shows its own."""

import asyncio

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton, QToolButton

from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.chat.ports import Text
from app.ui.chat_model import sentence
from app.ui.status import describe
from tests.fakes import FakeGenerator
from tests.gui.desk import turns_of_the_loop, until

TWO = ModelState(ModelPhase.READY, path="/models/two.gguf", name="Two & more", notes=("A note.",))
THREE = ModelState(ModelPhase.LOADING, path="/models/three.gguf", name="Three")


def endless():
    return FakeGenerator([[Text("x")]], gate=asyncio.Semaphore(0))


def ejects(desk):
    menu = desk.find(QToolButton, "modelButton").menu()
    return [one for one in menu.actions() if one.objectName().startswith("ejectModelAction")]


def test_the_others_are_named_and_each_can_be_unloaded(with_desk):
    async def scenario(desk):
        assert ejects(desk) == []
        desk.host.move(others=(THREE, TWO))
        assert [one.text() for one in ejects(desk)] == [
            *("Cancel loading Three", "Unload Two && more")
        ]
        assert desk.window.status.text().endswith("also loaded: Three, Two & more")
        assert "Also loaded: Three, Two" in desk.find(QToolButton, "modelButton").toolTip()
        own = desk.find(QAction, "unloadModelAction")
        assert own.text() == "Unload Fake 1B"
        desk.find(QAction, "ejectModelAction1").trigger()
        await until(lambda: desk.host.ejected == [TWO.path])
        await until(lambda: [one.text() for one in ejects(desk)] == ["Cancel loading Three"])
        assert desk.host.unloads == 0
        desk.host.move(others=())
        assert own.text() == "Unload"

    with_desk(scenario)


@pytest.mark.parametrize(("model", "asks"), [("", True), (TWO.path, True), ("/models/x", False)])
def test_a_chat_that_answers_with_another_model_is_not_asked_about(with_desk, model, asks):
    generator = endless()
    generator.model = model

    async def scenario(desk):
        own = desk.host.state.path
        desk.host.move(others=(TWO,))
        await desk.say("hello")
        await until(desk.window.workspace.busy)
        await until(lambda: desk.front.conversation.model == model)
        await desk.window.workspace.new()
        desk.host.show(own)
        ejects(desk)[0].trigger()
        await turns_of_the_loop()
        assert desk.host.ejected == ([] if asks else [TWO.path])
        if asks:
            words = "A chat is answering; unloading Two & more ends its answer."
            assert desk.window.banner.text() == words
            desk.click(desk.find(QPushButton, "noticeAction"))
            await until(lambda: desk.host.ejected == [TWO.path])

    with_desk(scenario, generator=generator)


def test_a_model_that_has_room_is_loaded_without_a_question(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await until(desk.window.workspace.busy)
        desk.host.roomy = True
        desk.window.model.load("/models/two.gguf")
        await until(lambda: desk.host.loads == ["/models/two.gguf"])
        assert "is answering" not in desk.window.banner.text()

    with_desk(scenario, generator=endless())


def test_the_tab_in_front_shows_its_own_model(with_desk):
    async def scenario(desk):
        one = desk.host.state.path
        for path in (one, TWO.path):
            if path == TWO.path:
                await desk.window.workspace.new()
            desk.generator.model = path
            await desk.say("hello")
            await desk.answered()
            await until(lambda path=path: desk.front.conversation.model == path)
        first, second = desk.tabs
        desk.host.move(others=(TWO,))
        for page, path, name in ((first, one, "Fake 1B"), (second, TWO.path, "Two")) * 2:
            desk.window.workspace.open(page.id)
            await until(lambda path=path: desk.host.state.path == path)
            assert name in desk.find(QToolButton, "modelButton").text()
            await until(page.state_line.model_offer.isHidden, "it is loaded")
        assert "A note." not in desk.window.banner.text(), "it was told when it was loaded"
        assert desk.host.loads == []

    with_desk(scenario)


def test_a_chat_whose_model_is_loaded_beside_has_nothing_to_say_of_it():
    present = ModelState(ModelPhase.READY, path="/models/one.gguf", name="One", others=(TWO,))
    assert sentence(TWO.path, present, gone=False) == ("", "")
    words, offered = sentence("/models/four.gguf", present, gone=False)
    assert words == "four answers here, and is loaded when you send."
    assert offered == "Use One"


def test_no_others_are_not_spoken_of():
    present = ModelState(ModelPhase.READY, name="One", device="CPU")
    assert describe(present, EngineStatus()) == "One · CPU · idle"


def test_a_model_that_the_user_loads_beside_another_is_shown_and_stays_so(with_desk):
    async def scenario(desk):
        one = desk.host.state
        desk.generator.model = one.path
        await desk.say("hello")
        await desk.answered()
        await until(lambda: desk.front.conversation.model == one.path)
        desk.host.roomy = True
        desk.window.model.load(TWO.path)
        await until(lambda: desk.host.loads == [TWO.path])
        desk.host.move(phase=ModelPhase.READY, path=TWO.path, name=TWO.name, others=(one,))
        await until(lambda: desk.front.conversation.model == TWO.path)
        await turns_of_the_loop()
        assert desk.host.state.path == TWO.path

    with_desk(scenario)
