"""The check of a new file from the window: beside a serving model, cancelled, refused, and loaded all the same."""

import asyncio

import pytest
from PySide6.QtWidgets import QPushButton

from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.errors import ModelError, Unproven
from app.hub.standing import State
from app.ui.status import describe, phase_words
from app.verdict import CHECKING
from tests.fakes import FakeModelHost
from tests.gui.desk import turns_of_the_loop, until
from tests.gui.hubs import FakeHub, sources
from tests.gui.test_model_dialog import opened


def offer(desk):
    return desk.find(QPushButton, "noticeAction")


def test_a_new_file_is_checked_before_the_serving_model_goes(with_desk):
    async def scenario(desk):
        desk.host.examine_gate = asyncio.Event()
        desk.window.model.load("/new.gguf")
        await until(lambda: desk.window.banner.text().startswith("new is new here, and is checked"))
        assert desk.host.loads == []
        desk.host.examine_gate.set()
        await until(lambda: desk.host.loads == ["/new.gguf"])
        assert not desk.window.banner.isVisible()

    with_desk(scenario)


def test_the_check_can_be_cancelled(with_desk):
    async def scenario(desk):
        desk.host.examine_gate = asyncio.Event()
        desk.window.model.load("/new.gguf")
        await until(lambda: desk.host.examined == ["/new.gguf"] and offer(desk).text() == "Cancel")
        desk.click(offer(desk))
        desk.host.examine_gate.set()
        await turns_of_the_loop()
        assert desk.host.loads == []
        assert not desk.window.banner.isVisible()
        assert desk.host.state.phase is ModelPhase.READY

    with_desk(scenario)


def test_a_file_that_crashes_the_engine_is_named_and_ends_nothing(with_desk):
    async def scenario(desk):
        desk.host.bad["/bad.gguf"] = ModelError("“bad.gguf” crashes the engine.", "Do not use it.")
        desk.window.model.load("/bad.gguf")
        await until(lambda: "crashes the engine. Do not use it." in desk.window.banner.text())
        assert offer(desk).text() == "Open another file…"
        assert desk.host.loads == []
        assert desk.host.state.phase is ModelPhase.READY

    with_desk(scenario)


def test_a_file_that_was_not_proven_may_be_loaded_all_the_same(with_desk):
    async def scenario(desk):
        desk.host.bad["/slow.gguf"] = Unproven("“slow.gguf” took too long.")
        desk.window.model.load("/slow.gguf")
        await until(lambda: offer(desk).text() == "Load it all the same")
        desk.click(offer(desk))
        await until(lambda: desk.host.loads == ["/slow.gguf"])
        assert desk.host.accepted == ["/slow.gguf"]

    with_desk(scenario)


def test_without_a_serving_model_the_load_checks_and_shows_it(with_desk):
    async def scenario(desk):
        desk.window.model.load("/new.gguf")
        await until(lambda: desk.host.loads == ["/new.gguf"])
        assert desk.host.examined == []
        desk.host.move(phase=ModelPhase.LOADING, doing=CHECKING, fraction=0.3)
        assert phase_words(desk.host.state) == "checking 30 %"
        assert describe(desk.host.state, EngineStatus()).endswith(" · checking 30 %")
        desk.host.move(phase=ModelPhase.FAILED, error="It took too long.", unproven=True)
        await until(lambda: offer(desk).text() == "Load it all the same")
        desk.click(offer(desk))
        await until(lambda: desk.host.loads == ["/new.gguf"] * 2)
        desk.host.move(phase=ModelPhase.FAILED, error="It took too long.", unproven=True)
        await until(desk.window.banner.isVisible)
        desk.host.move(phase=ModelPhase.LOADING, error="")  # for a chat that asked again
        await until(lambda: not desk.window.banner.isVisible())

    host = FakeModelHost()
    host.state = ModelState()
    with_desk(scenario, host=host)


@pytest.mark.parametrize("open_dialog", [True, False])
@pytest.mark.parametrize(
    ("why", "words"),
    [
        (ModelError("It crashes the engine."), ", and cannot be used. It crashes the engine."),
        (Unproven("It took too long."), ". It took too long."),
    ],
)
def test_a_download_that_does_not_pass_its_check_is_told(with_desk, open_dialog, why, words):
    hub = FakeHub()

    async def scenario(desk):
        dialog = await opened(desk)
        repository = await hub.repository("o/r")
        key = hub.downloads.add(repository.offers[0].model)
        if not open_dialog:
            dialog.accept()
            await until(lambda: not dialog.isVisible())
        path = str(hub.downloads.kept[key].path)
        desk.host.bad[path] = why
        await until(lambda: key in desk.window._finder._states)
        hub.downloads.move(State.DONE, 1.0)
        await until(lambda: desk.window.banner.text() == f"m-Q2_K.gguf is downloaded{words}")
        assert desk.host.examined == [path]

    with_desk(scenario, sources=sources(hub=hub))
