"""Chats that answer while tabs come and go: nothing is lost, doubled or told to a widget that is gone."""

import asyncio
import gc
import random
import re

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton, QWidget

from app.chat.models import TabState
from app.chat.ports import Counting, Text, Waiting
from tests.fakes import FakeGenerator
from tests.gui.desk import turns_of_the_loop, until

PIECES = [f"piece{number} " for number in range(40)]


def gated(*scripts):
    return FakeGenerator(list(scripts), gate=asyncio.Semaphore(0))


def release(desk, count):
    for _ in range(count):
        desk.generator.gate.release()


async def open_chats(desk, count):
    for number in range(count):
        if number:
            desk.control(Qt.Key.Key_T)
            await until(lambda number=number: len(desk.tabs) == number + 1)
        await desk.say(f"question{number}")
        await until(lambda number=number: len(desk.generator.requests) == number + 1)


def text_of(page):
    return page.transcript.plain_text()


def test_send_is_stop_while_the_chat_answers(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        stop = await_stop(desk)
        await until(lambda: stop().objectName() == "stopButton")
        release(desk, 3)
        await until(lambda: "piece2" in text_of(desk.front))
        desk.click(stop())
        await until(lambda: desk.chat.turn(desk.front.id).state is TabState.STOPPED)
        assert stop().objectName() == "sendButton"
        assert "piece2" in text_of(desk.front)
        await until(lambda: desk.generator.running == 0)
        assert desk.front.state_line.text() == "Stopped"

    def await_stop(desk):
        return lambda: desk.front.composer.button

    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES]))


def test_escape_stops_the_chat_in_front_only(with_desk):
    async def scenario(desk):
        await open_chats(desk, 2)
        desk.key(Qt.Key.Key_Escape)
        await until(lambda: desk.chat.turn(desk.tabs[1].id).state is TabState.STOPPED)
        assert desk.chat.turn(desk.tabs[0].id).busy

    with_desk(scenario, generator=gated([Text("x")]))


@pytest.mark.parametrize("way", ["button", "Escape"])
def test_a_count_of_tokens_can_be_stopped_at_once(with_desk, way):
    async def scenario(desk):
        await open_chats(desk, 2)
        release(desk, 2)
        await until(lambda: "piece0" in text_of(desk.tabs[0]))
        counting = desk.front
        await until(lambda: counting.state_line.text() == "Counting the tokens of this text")
        desk.type("what comes next")
        if way == "button":
            desk.click(counting.composer.button)
        else:
            desk.key(Qt.Key.Key_Escape)
        await until(lambda: desk.chat.turn(counting.id).state is TabState.STOPPED)
        await until(lambda: desk.generator.closed_early == 1)
        assert counting.state_line.text() == "Stopped"
        assert "question1" in text_of(counting)
        assert counting.composer.text() == "what comes next"
        assert desk.chat.turn(desk.tabs[0].id).busy
        release(desk, 100)
        await until(lambda: PIECES[-1].strip() in text_of(desk.tabs[0]))
        assert "never" not in text_of(counting)

    script = [Counting(), Text("never")]
    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES], script))


def test_all_can_be_stopped_together(with_desk):
    async def scenario(desk):
        button = desk.find(QPushButton, "stopAllButton")
        assert not button.isVisible()
        await open_chats(desk, 3)
        await until(button.isVisible)
        desk.click(button)
        await until(lambda: not desk.window.workspace.busy())
        await until(lambda: not button.isVisible())
        assert desk.generator.closed_early == 3

    with_desk(scenario, generator=gated([Text("x")]))


def test_regenerating_replaces_the_last_answer(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        await until(lambda: "first" in text_of(desk.front))
        desk.control(Qt.Key.Key_R)
        await until(lambda: "second" in text_of(desk.front))
        assert "first" not in text_of(desk.front)
        assert text_of(desk.front).count("hello") == 1

    with_desk(scenario, generator=FakeGenerator([[Text("first")], [Text("second")]]))


def test_an_answer_goes_on_behind_a_closed_tab_and_is_shown_once(with_desk):
    async def scenario(desk):
        await open_chats(desk, 2)
        streaming = desk.tabs[1].id
        release(desk, 8)
        await until(lambda: "piece2" in text_of(desk.tabs[1]))
        for count in range(20):
            desk.control(Qt.Key.Key_W)
            assert len(desk.tabs) == 1
            release(desk, 1)
            await turns_of_the_loop(count)
            desk.control(Qt.Key.Key_T, shift=True)
            assert desk.front.id == streaming
        release(desk, 200)
        await until(lambda: not desk.chat.turn(streaming).busy)
        await until(lambda: PIECES[-1].strip() in text_of(desk.front))
        assert text_of(desk.front).count("question1") == 1
        words = text_of(desk.front).split()
        assert [word for word in words if word.startswith("piece")] == "".join(PIECES).split()

    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES]))


def test_a_turn_that_only_waits_is_stopped_with_its_tab(with_desk):
    async def scenario(desk):
        await open_chats(desk, 2)
        release(desk, 2)
        waiting = desk.tabs[1].id
        await until(lambda: desk.chat.turn(waiting).place == 4)
        desk.control(Qt.Key.Key_W)
        await until(lambda: desk.generator.closed_early == 1)
        desk.control(Qt.Key.Key_T, shift=True)
        await until(lambda: "question1" in text_of(desk.front))
        assert "piece" not in text_of(desk.front)
        assert desk.chat.turn(waiting).state is TabState.STOPPED

    with_desk(scenario, generator=gated([Waiting(4), *(Text(piece) for piece in PIECES)]))


def test_an_interrupted_answer_goes_on_behind_a_closed_tab(with_desk):
    async def scenario(desk):
        await open_chats(desk, 2)
        release(desk, 4)
        interrupted = desk.tabs[1].id
        await until(lambda: desk.chat.turn(interrupted).why == "the engine is starting again")
        assert "starting again" in desk.front.state_line.text()
        desk.control(Qt.Key.Key_W)
        await until(lambda: len(desk.tabs) == 1)
        release(desk, 6)
        await until(lambda: desk.chat.turn(interrupted).state is TabState.DONE_UNREAD)
        desk.control(Qt.Key.Key_T, shift=True)
        await until(lambda: "one two" in text_of(desk.front))

    again = Waiting(0, "the engine is starting again")
    with_desk(scenario, generator=gated([Text("one "), again, Text("two")]))


def test_closing_what_writes_and_what_waits(with_desk):
    """Case 64: the closed tab that writes goes on unseen; those that wait end at once; the others are not disturbed."""

    async def scenario(desk):
        await open_chats(desk, 6)
        first, closed, deleted = desk.tabs[0].id, desk.tabs[3].id, desk.tabs[1].id
        release(
            desk, 36
        )  # each gets six: the first writes, the others are told again that they wait
        await until(lambda: "piece4" in text_of(desk.tabs[0]))
        await until(lambda: all(desk.chat.turn(tab.id).place == 2 for tab in desk.tabs[1:]))
        desk.window.workspace.close(desk.tabs[3])
        desk.window.workspace.close(desk.tabs[0])
        desk.window.workspace.delete(deleted)
        await until(lambda: desk.generator.closed_early == 2)
        desk.window.workspace.open(closed)
        await until(lambda: desk.chat.turn(closed).state is TabState.STOPPED)
        release(desk, 400)
        await until(lambda: not desk.window.workspace.busy())
        assert (await desk.chat.messages(first))[-1].text == "".join(PIECES)
        assert (await desk.chat.messages(closed))[-1].text == ""
        for page in desk.tabs:
            if page.id not in (first, closed):
                await until(lambda page=page: "piece39" in text_of(page))
                assert text_of(page).count("piece7 ") == 1

    waiting = [*[Waiting(2)] * 12, *(Text(piece) for piece in PIECES)]
    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES], *[waiting] * 5))


def test_a_deleted_chat_stops_and_comes_nowhere_else(with_desk):
    async def scenario(desk):
        await open_chats(desk, 3)
        release(desk, 9)
        await until(lambda: all("piece1" in text_of(tab) for tab in desk.tabs))
        desk.window.workspace.delete(desk.tabs[1].id)
        await until(lambda: desk.generator.closed_early == 1)
        desk.click(desk.find(QToolButton, "noticeDismiss"))
        release(desk, 200)
        await until(lambda: not desk.window.workspace.busy())
        for tab, number in zip(desk.tabs, (0, 2), strict=True):
            assert text_of(tab).count(f"question{number}") == 1
            assert text_of(tab).count("piece39") == 1

    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES]))


@pytest.mark.slow
def test_each_chat_keeps_to_its_own_while_one_looks_around(with_desk):
    """Six of twelve tabs stream; tabs are switched, moved, renamed and searched at random meanwhile."""
    scripts = [[Text(f"c{chat}p{piece} ") for piece in range(30)] for chat in range(6)]
    rng = random.Random(65)

    async def scenario(desk):
        await open_chats(desk, 6)
        for count in range(7, 13):
            desk.control(Qt.Key.Key_T)
            await until(lambda count=count: len(desk.tabs) == count)
            desk.type(f"draft{count}")
        streams = list(desk.tabs[:6])
        bar = desk.window.tabs.tabBar()
        for _ in range(200):
            release(desk, 1)
            desk.window.tabs.setCurrentIndex(rng.randrange(12))
            if rng.random() < 0.2:
                bar.moveTab(rng.randrange(12), rng.randrange(12))
            if rng.random() < 0.1:
                await desk.chat.rename(rng.choice(streams).id, f"name{rng.random()}")
            desk.window.sidebar.search.setText(rng.choice(["", "name", "q"]))
            await asyncio.sleep(0)
        release(desk, 100)
        await until(lambda: not desk.window.workspace.busy())
        for number, page in enumerate(streams):
            desk.window.tabs.setCurrentWidget(page)
            expected = "".join(f"c{number}p{piece} " for piece in range(30)).strip()
            await until(lambda page=page, expected=expected: expected in text_of(page))
            assert len(re.findall(r"c\dp\d+", text_of(page))) == 30
        drafts = sorted(page.composer.text() for page in desk.tabs if page not in streams)
        assert drafts == sorted(f"draft{count}" for count in range(7, 13))

    with_desk(scenario, generator=gated(*scripts))


@pytest.mark.slow
def test_tabs_closed_at_any_moment_leave_no_widgets(with_desk):
    rng = random.Random(68)

    async def scenario(desk):
        await desk.say("stays")
        await turns_of_the_loop()

        def widgets():
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
            gc.collect()
            return len(desk.window.findChildren(QWidget)) + len(QApplication.topLevelWidgets())

        before = widgets()
        for _ in range(25):
            desk.control(Qt.Key.Key_T)
            await until(lambda: len(desk.tabs) == 2)
            desk.type("go")
            desk.key(Qt.Key.Key_Return)
            for _ in range(rng.randrange(40)):
                release(desk, 2)
                await asyncio.sleep(0)
            desk.control(Qt.Key.Key_W)
        release(desk, 5000)
        await until(lambda: not desk.window.workspace.busy())
        await turns_of_the_loop(50)
        await until(lambda: abs(widgets() - before) <= 10)

    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES]))


def test_the_window_closes_over_an_open_dialog(with_desk):
    async def scenario(desk):
        desk.window.settings()
        await until(lambda: desk.window.findChild(QWidget, "settingsDialog"))

    with_desk(scenario)


def test_dialogs_closed_while_chats_stream(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        for open_it, name in (
            (desk.window.settings, "settingsDialog"),
            (desk.window.chatSettings, "chatSettingsDialog"),
            (desk.window.shortcuts, "shortcutsDialog"),
        ):
            open_it()
            await until(lambda name=name: desk.window.findChild(QWidget, name))
            release(desk, 3)
            await turns_of_the_loop()
            desk.find(QWidget, name).close()
            await until(lambda name=name: not desk.window.findChild(QWidget, name))

    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES]))


def test_stop_and_then_anew_or_another_question_at_once(with_desk):
    """Case 31: what is asked for in the moment after Stop is done; no piece of the stopped answer comes later."""

    async def scenario(desk):
        await desk.say("question")
        for number in range(1, 12):
            release(desk, 4)
            await until(lambda number=number: f"r{number - 1}p2" in text_of(desk.front))
            desk.key(Qt.Key.Key_Escape)
            desk.control(Qt.Key.Key_R)
            await until(lambda number=number: len(desk.generator.requests) == number + 1)
        release(desk, 2)
        await until(lambda: "r11p0" in text_of(desk.front))
        desk.key(Qt.Key.Key_Escape)
        await desk.say("another")
        await until(lambda: len(desk.generator.requests) == 13)
        release(desk, 100)
        await desk.answered()
        await until(lambda: "r12p5" in text_of(desk.front))
        runs = re.findall(r"r(\d+)p\d", text_of(desk.front))
        assert set(runs) == {"11", "12"}
        assert text_of(desk.front).count("another") == 1

    scripts = [[Text(f"r{run}p{piece} ") for piece in range(6)] for run in range(14)]
    with_desk(scenario, generator=gated(*scripts))


def test_anew_while_it_is_written_asks_for_a_stop_first(with_desk):
    async def scenario(desk):
        await desk.say("question")
        release(desk, 3)
        await until(lambda: "piece2" in text_of(desk.front))
        desk.control(Qt.Key.Key_R)
        release(desk, 2)
        await until(lambda: "piece4" in text_of(desk.front))
        assert "Stop the answer first" in desk.front.state_line.text()
        assert len(desk.generator.requests) == 1

    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES]))


def test_keys_that_wait_behind_enter_belong_to_the_next_message(with_desk):
    async def scenario(desk):
        edit = desk.front.composer.edit
        for key in (*"one\r", *"two"):  # all of it before the loop turns once
            if key == "\r":
                QTest.keyClick(edit, Qt.Key.Key_Return)
            else:
                QTest.keyClicks(edit, key)
        await desk.answered()
        assert text_of(desk.front).startswith("You\none\n")
        assert desk.front.composer.text() == "two"
        assert len(desk.generator.requests) == 1

    with_desk(scenario)


def test_stop_right_after_enter_is_not_lost(with_desk):
    async def scenario(desk):
        desk.type("question")
        desk.key(Qt.Key.Key_Return)
        desk.key(Qt.Key.Key_Escape)
        await until(lambda: desk.chat.turn(desk.front.id).state is TabState.STOPPED)
        release(desk, 100)
        await turns_of_the_loop(50)
        assert "piece0" not in text_of(desk.front)
        assert "question" in text_of(desk.front)

    with_desk(scenario, generator=gated([Text(piece) for piece in PIECES]))
