"""Loading, unloading and going away, with real children behind the real window and the real server.

Issue lines: typing is possible while the model loads and the message goes out when it is ready; the model is unloaded by
a button, and after a settable idle time; a client that goes away frees its sequence; a chat that goes on evaluates only
its new tokens, also by the API.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QToolButton

from app import main
from app.chat.events import ChatEvent, TurnChanged, TurnState
from app.chat.model_state import ModelPhase
from app.chat.models import ChatMessage, Role, Status, TabState
from app.client.ensemble import Ensemble
from app.client.means import Means
from app.settings import load as load_settings
from app.settings import settings_path
from tests.api.harness import chat
from tests.cases.whole import (
    PATIENCE,
    PATIENT,
    Prompts,
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
from tests.gui.conftest import Drive
from tests.gui.desk import Desk, close_desk, open_desk
from tests.processes import children, processes_of
from tests.scripted_children import FakeClock

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

LONG = {"messages": [{"role": "user", "content": "go on"}], "stream": True, "max_tokens": 9000}


def test_started_with_a_model_it_is_loaded_and_a_signal_ends_all(
    private_folders: Path, talker: Path
) -> None:
    """As a user starts it; `model_path` is kept once the model is ready."""
    command = [sys.executable, "-X", "faulthandler", "-m", "app", "--model", str(talker)]
    deadline = time.monotonic() + PATIENCE
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as program:
        while load_settings(settings_path()).settings.model_path != str(talker):
            assert time.monotonic() < deadline, "the model was not loaded"
            assert program.poll() is None
            time.sleep(0.05)
        assert len(processes_of(private_folders)) >= 3
        program.terminate()
        assert program.wait(PATIENCE) == 0
        assert program.stderr is not None
        assert program.stderr.read() == ""
    assert not processes_of(private_folders)


def test_a_message_that_is_typed_while_the_model_loads_goes_out_when_it_is_ready(
    with_desk: Callable[..., None], talker: Path
) -> None:
    model = RealModel(None)

    async def scenario(desk: Desk) -> None:
        assert model.state.phase is ModelPhase.NONE
        desk.click(desk.find(QPushButton, "starterButton"))
        await until(lambda: model.state.phase is ModelPhase.LOADING, "the load")
        first, second = await open_tabs(desk, 2)
        desk.type("typed while it loads")
        QTest.keyClick(second.composer.edit, Qt.Key.Key_Return)
        put(first, "and another")
        await until(lambda: "loading" in second.state_line.text(), "words for the wait")
        assert model.state.phase is ModelPhase.LOADING
        await over(desk, first, second)
        assert model.state.phase is ModelPhase.READY
        for page in (first, second):
            (answer,) = await answers(desk, page)
            assert answer.status is Status.DONE

    with_desk(scenario, generator=model, host=model, starter=talker, current=settings())


def test_the_button_unloads_and_the_next_message_loads_again(
    at_work: Callable[..., None], talker: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        assert len(children()) == 2
        menu = desk.find(QToolButton, "modelButton").menu()
        unload = next(a for a in menu.actions() if a.objectName() == "unloadModelAction")
        unload.trigger()
        await until(lambda: not children(), "the end of both processes")
        assert model.state.phase is ModelPhase.UNLOADED
        await until(lambda: "not loaded" in desk.window.status.text(), "words in the status line")
        put(desk.front, "again")
        await over(desk, desk.front)
        assert (await answers(desk, desk.front))[0].status is Status.DONE
        assert len(children()) == 2

    at_work(scenario, RealModel(talker), current=settings())


def test_an_idle_model_is_unloaded_after_the_time_that_is_set(
    with_desk: Callable[..., None], talker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # put back after the test
    prompts, clock = Prompts(), FakeClock()
    model = RealModel(talker, means=Means(prompts.engine, prompts.text, clock, PATIENT))
    several = Ensemble(lambda path, memories, make_room: model, lambda path, beside: False)

    async def scenario(desk: Desk) -> None:
        main._watch(desk.window, several, desk.preferences)
        await model.open()
        put(desk.front, "hello")
        await over(desk, desk.front)
        clock.advance(20 * 60)
        assert model.state.phase is ModelPhase.READY
        # What is set counts at once, also for the time that has passed.
        desk.preferences.update(idle_unload_minutes=25)
        clock.advance(4 * 60)
        assert model.state.phase is ModelPhase.READY
        clock.advance(60)
        assert model.state.phase is ModelPhase.UNLOADED
        await until(lambda: not children(), "the end of both processes")
        desk.seen.clear()
        put(desk.front, "hello again")
        await over(desk, desk.front)
        assert (await answers(desk, desk.front))[-1].status is Status.DONE
        desk.preferences.update(idle_unload_minutes=0)
        clock.advance(7 * 24 * 3600)
        assert model.state.phase is ModelPhase.READY

    with_desk(scenario, generator=several, host=several, current=settings(idle_unload_minutes=30))


def test_a_client_that_goes_away_frees_its_sequence(
    at_work: Callable[..., None], talker: Path
) -> None:
    async def scenario(_: Desk, model: RealModel) -> None:
        async with served(model) as api:
            for reset in (False, True):
                reader, writer = await api.open()
                writer.write(chat(LONG))
                await reader.readuntil(b"content")
                await until(lambda: model.counters.running == 1, "a running sequence")
                if reset:
                    writer.transport.abort()
                else:
                    writer.close()
                await until(lambda: model.counters.running == 0, "its end")
                counters = model.counters
                assert counters.cells_used == counters.cells_kept > 0

    at_work(scenario, RealModel(talker), current=settings())


def test_a_chat_that_goes_on_evaluates_only_its_new_tokens(
    at_work: Callable[..., None], talker: Path
) -> None:
    """With the ids that were fed: by the window, and by the API for messages equal to what the engine wrote."""
    beside = len("user\nassistant\n") + 7
    """What the template puts around a message, and the last token of the answer before."""

    async def scenario(desk: Desk, model: RealModel) -> None:
        page = desk.front
        for text in ("first", "and second", "the third one"):
            before = model.counters.read
            desk.seen.clear()
            put(page, text)
            await over(desk, page)
            assert model.counters.read - before <= len(text) + beside
        async with served(model) as api:
            messages = []
            for text in ("by program", "once more", "and the last"):
                messages.append({"role": "user", "content": text})
                before = model.counters.read
                body = {"messages": messages, "max_tokens": 30, "temperature": 1.2, "seed": 5}
                reply = (await api.post(body)).json
                assert model.counters.read - before <= len(text) + beside
                usage = reply["usage"]
                cached = usage["prompt_tokens_details"]["cached_tokens"]
                assert usage["prompt_tokens"] - cached == model.counters.read - before
                messages.append(reply["choices"][0]["message"])
                # The ids that were written are in the next prompt as they were.
            written = model.prompts.asked[-1].tokens
            assert written[: len(model.prompts.asked[-2].tokens)] == (
                model.prompts.asked[-2].tokens
            )

    at_work(scenario, RealModel(talker), current=settings(max_answer_tokens=30))


def test_each_way_to_end_is_told_once(at_work: Callable[..., None], talker: Path) -> None:
    async def scenario(_: Desk, model: RealModel) -> None:
        told = await asyncio.gather(
            model.ask(user("x"), tokens=5),
            model.ask(user("x"), tokens=500, stop=("d", "4")),
            model.ask(user("y" * 20_000), tokens=5),
            model.ask(ChatMessage(Role.ASSISTANT, "first"), tokens=2),
        )
        assert [one.end.reason for one in told] == ["length", "stop", "error", "length"]
        # A client may leave at any moment; there is no event for whom nobody listens to, and nothing stays.
        for moments in range(6):
            task = asyncio.get_running_loop().create_task(model.ask(user("left"), tokens=5000))
            for _ in range(moments):
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
        await until(lambda: model.counters.running + model.counters.reading == 0, "an idle engine")
        assert model.counters.cells_used == model.counters.cells_kept

    at_work(scenario, RealModel(talker), current=settings())


def test_a_tab_tells_of_waiting_reading_and_writing(
    at_work: Callable[..., None], talker: Path
) -> None:
    """Two prompts that do not fit together: the second waits in line, is read, and is answered."""
    text = "word " * 250
    told: dict[int, list[TurnState]] = {}

    async def scenario(desk: Desk, model: RealModel) -> None:
        pages = await open_tabs(desk, 3)

        def hear(event: ChatEvent) -> None:
            if isinstance(event, TurnChanged):
                told.setdefault(event.conversation_id, []).append(event.turn)

        desk.chat.subscribe(hear)
        for number, page in enumerate(pages):
            put(page, f"{number} {text}")
        await over(desk, *pages)
        for page in pages:
            (answer,) = await answers(desk, page)
            assert (answer.status, answer.usage.completion_tokens) == (Status.DONE, 40)
        states = {page.id: [turn.state for turn in told[page.id]] for page in pages}
        for page in pages:
            order = list(dict.fromkeys(states[page.id]))
            done = TabState.IDLE if page is desk.front else TabState.DONE_UNREAD
            assert order == [TabState.WAITING, TabState.READING, TabState.WRITING, done]
        places = [turn.place for page in pages for turn in told[page.id]]
        assert {1, 2} <= set(places), "two waited in line while one was read and answered"
        read = [turn for page in pages for turn in told[page.id] if turn.total]
        assert any(0 < turn.done < turn.total for turn in read)

    at_work(scenario, RealModel(talker, pool_tokens=1536), current=settings(max_answer_tokens=40))


def test_quitting_in_the_middle_of_answers_keeps_them(drive: Drive, talker: Path) -> None:
    async def scenario() -> None:
        model = RealModel(talker)
        current = settings(max_answer_tokens=0)
        desk = await open_desk(generator=model, host=model, current=current)
        async with model:
            pages = await open_tabs(desk, 4)
            for page in pages:
                put(page, "a long story")
            await until(
                lambda: all(desk.chat.turn(p.id).written > 20 for p in pages), "four streams"
            )
            shown = {page.id: page.transcript.message_text(1) for page in pages}
            await close_desk(desk)
            assert children() == []

        desk = await open_desk()
        assert len(desk.tabs) == 4
        for page in desk.tabs:
            (answer,) = await answers(desk, page)
            # It was ended in order: stopped by its user, not interrupted by a crash.
            assert answer.status is Status.STOPPED
            desk.window.tabs.setCurrentWidget(page)
            await until(lambda page=page: page.transcript.message_count() == 2, "the messages")
            first = shown[page.id].splitlines()[1]
            assert first[:20] in page.transcript.message_text(1)
        await close_desk(desk)

    drive(scenario())
