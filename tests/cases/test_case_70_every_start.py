"""Case 70: what ends the app at its start does not end every start, and a driver that aborts does not end the app."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.chat.model_state import ModelPhase
from app.client.clock import LoopClock
from app.client.means import Means
from app.client.trial import examine
from app.errors import EngineDied
from app.store.conversations import database_path, open_store
from app.ui.start_mark import StartMark
from tests import scripted_children
from tests.cases.whole import RealModel, user
from tests.gui.desk import Desk, close_desk, open_desk, until
from tests.processes import driver
from tests.scripted_children import Births, Script

ROOT = Path(__file__).parents[2]


async def die(desk: Desk) -> None:
    """What a kill in the middle of the start leaves: the tabs as they are, and the mark."""
    await close_desk(desk)
    store = await open_store(database_path())
    await store.set_value("starting", b"1")
    await store.close()


async def two_chats() -> Desk:
    desk = await open_desk()
    await desk.say("first")
    await desk.answered()
    desk.control(Qt.Key.Key_T)
    await until(lambda: len(desk.tabs) == 2)
    await desk.say("second")
    await desk.answered()
    return desk


def test_after_a_start_that_did_not_come_through_nothing_is_opened_by_itself(drive) -> None:
    async def scenario() -> None:
        desk = await two_chats()
        ids = [tab.id for tab in desk.tabs]
        await die(desk)

        desk = await open_desk()
        assert desk.window.banner.text().startswith("Tutti ended during its last start.")
        (fresh,) = desk.tabs
        assert fresh.id not in ids
        listed = desk.window.sidebar.model
        assert all(listed.conversation(key) is not None for key in ids)
        QTest.mouseClick(desk.find(QPushButton, "noticeAction"), Qt.MouseButton.LeftButton)
        assert [tab.id for tab in desk.tabs] == [fresh.id, *ids]
        await until(lambda: "second" in desk.front.transcript.plain_text())
        await close_desk(desk)

        desk = await open_desk()
        assert set(ids) <= {tab.id for tab in desk.tabs}, "after a clean run all is as before"
        assert desk.window.banner.text() == ""
        await close_desk(desk)

    drive(scenario())


def test_the_first_start_of_all_says_nothing(drive) -> None:
    async def scenario() -> None:
        desk = await open_desk()
        assert desk.window.banner.text() == ""
        assert await desk.store.value("starting") == b"1"
        await close_desk(desk)

    drive(scenario())


def test_a_window_that_stands_has_come_through(with_desk) -> None:
    async def scenario(desk: Desk) -> None:
        mark = StartMark(desk.store, desk.window, stands_ms=0)
        assert not await mark.set()
        mark.shown()
        values: list[bytes | None] = []

        async def look() -> bool:
            values.append(await desk.store.value("starting"))
            return values[-1] == b""

        while not await look():
            assert len(values) < 10_000
        assert await mark.set()

    with_desk(scenario)


@pytest.mark.crash
@pytest.mark.soak
def test_killed_as_soon_as_it_is_shown() -> None:
    """The real program: once in order, then killed, then once more."""
    command = driver("tests.cases.app_to_kill")
    place = {"cwd": ROOT, "env": {**os.environ, "QT_QPA_PLATFORM": "offscreen"}}

    def in_order() -> list[object]:
        done = subprocess.run([*command, "quit"], capture_output=True, check=True, **place)
        told: list[object] = json.loads(done.stdout)
        return told

    assert in_order() == ["shown", 1, ""]
    with subprocess.Popen(
        [*command, "stand"], stdout=subprocess.PIPE, text=True, **place
    ) as killed:
        assert killed.stdout is not None
        assert json.loads(killed.stdout.readline()) == ["shown", 1, ""]
        killed.kill()
    shown, tabs, words = in_order()
    assert (shown, tabs) == ("shown", 1)
    assert str(words).startswith("Tutti ended during its last start.")


@pytest.mark.crash
@pytest.mark.parametrize("worker", [False, True])
def test_a_driver_that_aborts_ends_a_child_and_is_not_put_down_to_the_file(*, worker: bool) -> None:
    """Real processes that abort where backends wake the drivers, before they are told of a model; then good ones."""
    bad, good = Script(fault="abort at start"), Script()
    engines = Births(scripted_children.engine, good if worker else bad, good)
    texts = Births(scripted_children.text_worker, bad if worker else good, good)
    model = RealModel(Path("/models/scripted.gguf"), means=Means(engines, texts))

    async def scenario() -> None:
        await model.load("/models/scripted.gguf")
        assert model.state.phase is ModelPhase.FAILED
        assert "stopped unexpectedly (signal SIGABRT)." in model.state.error
        assert "the file is not at fault; a driver of the graphics card may be" in model.state.error
        assert "damaged" not in model.state.error
        await model.load("/models/scripted.gguf")
        assert (await model.ask(user("hi"))).text == "Hello."
        await model.close()

    asyncio.run(scenario())


@pytest.mark.crash
def test_a_driver_that_aborts_in_the_check_is_no_verdict_on_the_file(tmp_path: Path) -> None:
    """A crash once llama.cpp has the file is one: `tests/crash/test_trial.py`."""
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0")
    births = Births(scripted_children.engine, Script(fault="abort at start"))
    with pytest.raises(EngineDied, match="the file is not at fault"):
        asyncio.run(examine(path, births, LoopClock(), lambda _: None))
