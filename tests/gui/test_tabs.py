"""Tabs: opened, closed, moved through by keyboard and mouse; their states."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTabBar, QTabWidget, QToolButton

from app.chat.events import TurnState
from app.chat.models import TabState
from app.chat.ports import Reading, Text, Waiting
from app.ui import icons, marks, states
from app.ui.tab_label import TabLabel
from tests.fakes import FakeGenerator
from tests.gui.desk import turns_of_the_loop, until


def accessible_tab_name(bar, index):
    return QAccessible.queryAccessibleInterface(bar).child(index).text(QAccessible.Text.Name)


def test_tabs_by_keyboard(with_desk):
    async def scenario(desk):
        tabs = desk.find(QTabWidget, "chatTabs")
        desk.control(Qt.Key.Key_T)
        await until(lambda: tabs.count() == 2)
        desk.control(Qt.Key.Key_N)
        await until(lambda: tabs.count() == 3)
        assert tabs.currentIndex() == 2
        desk.control(Qt.Key.Key_1)
        assert tabs.currentIndex() == 0
        desk.control(Qt.Key.Key_Tab)
        assert tabs.currentIndex() == 1
        desk.control(Qt.Key.Key_Tab, shift=True)
        assert tabs.currentIndex() == 0
        desk.control(Qt.Key.Key_PageUp)
        assert tabs.currentIndex() == 2
        desk.control(Qt.Key.Key_PageDown)
        assert tabs.currentIndex() == 0
        desk.control(Qt.Key.Key_9)
        assert tabs.currentIndex() == 2
        desk.control(Qt.Key.Key_7)
        assert tabs.currentIndex() == 2

    with_desk(scenario)


def test_closing_keeps_the_chat_and_it_can_be_opened_again(with_desk):
    async def scenario(desk):
        await desk.say("first chat")
        await desk.answered()
        first = desk.front.id
        desk.control(Qt.Key.Key_T)
        await until(lambda: len(desk.tabs) == 2)
        desk.control(Qt.Key.Key_1)
        desk.control(Qt.Key.Key_W)
        await until(lambda: len(desk.tabs) == 1)
        assert await desk.store.conversation(first) is not None
        desk.control(Qt.Key.Key_T, shift=True)
        assert len(desk.tabs) == 2
        assert desk.tabs[0].id == first
        await until(lambda: "Hello." in desk.tabs[0].transcript.plain_text())
        assert desk.tabs[0].transcript.plain_text().count("first chat") == 1
        assert desk.tabs[0].transcript.plain_text().count("Hello.") == 1

    with_desk(scenario)


def test_the_last_tab_gives_way_to_a_new_chat(with_desk):
    async def scenario(desk):
        await desk.say("something")
        first = desk.front.id
        await desk.answered()
        desk.control(Qt.Key.Key_W)
        await until(lambda: desk.tabs and desk.tabs[0].id != first)

    with_desk(scenario)


def test_an_empty_chat_leaves_nothing_behind(with_desk):
    async def scenario(desk):
        await until(lambda: desk.front.blank)
        desk.control(Qt.Key.Key_T)
        await until(lambda: len(desk.tabs) == 2 and desk.front.blank)
        gone = desk.front.id
        desk.control(Qt.Key.Key_W)
        await until(
            lambda: gone not in [chat.id for chat in desk.window.sidebar.model.conversations()]
        )
        assert [chat.id for chat in await desk.store.conversations()] == [desk.front.id]
        desk.control(Qt.Key.Key_T, shift=True)
        await until(lambda: len(desk.tabs) == 2)

    with_desk(scenario)


def test_closing_by_mouse(with_desk):
    async def scenario(desk):
        for count in (2, 3):
            desk.control(Qt.Key.Key_T)
            await until(lambda count=count: len(desk.tabs) == count)
        bar = desk.find(QTabBar, "chatTabBar")
        QTest.mouseClick(bar, Qt.MouseButton.MiddleButton, pos=bar.tabRect(0).center())
        assert len(desk.tabs) == 2
        close = bar.tabButton(0, QTabBar.ButtonPosition.RightSide)
        assert isinstance(close, QToolButton)
        desk.click(close)
        assert len(desk.tabs) == 1

    with_desk(scenario)


STATES = [
    (TurnState(TabState.WAITING, place=2), "2nd", "Waiting, 2nd in line"),
    (
        TurnState(TabState.WAITING, why="the model is loading"),
        "loading",
        "Waiting: the model is loading",
    ),
    (TurnState(TabState.WAITING, counting=True), "counting", "Counting the tokens of this text"),
    (TurnState(TabState.READING, done=43, total=100), "43 %", "Reading 43 % of 100 tokens"),
    (TurnState(TabState.WRITING, tokens_per_second=31.2), "31 tok/s", "Writing, 31 tok/s"),
    (TurnState(TabState.DONE_UNREAD), "new", "Done, not read yet"),
    (TurnState(TabState.STOPPED), "stopped", "Stopped"),
    (TurnState(TabState.FAILED, error="No room."), "failed", "Failed: No room."),
    (TurnState(), "", ""),
]


@pytest.mark.parametrize(("turn", "word", "sentence"), STATES)
def test_a_state_in_words(turn, word, sentence):
    assert states.word(turn) == word
    assert states.sentence(turn) == sentence


def test_every_state_has_a_mark_of_its_own_shape(qapp):
    pictures = set()
    for turn, _, _ in STATES:
        icon = marks._icon(turn.state, states.percent(turn), False, "#000000", icons.SMALL)
        image = icon.pixmap(icons.SMALL, icons.SMALL).toImage()
        pictures.add(bytes(image.constBits()))
    assert len(pictures) == len(set(TabState))


def test_each_tab_says_its_state(with_desk):
    async def scenario(desk):
        gate = desk.generator.gate
        await desk.say("one")
        desk.control(Qt.Key.Key_T)
        await until(lambda: len(desk.tabs) == 2)
        bar = desk.find(QTabBar, "chatTabBar")
        label = bar.tabButton(0, QTabBar.ButtonPosition.LeftSide)
        assert isinstance(label, TabLabel)
        row = desk.window.sidebar.model

        def said():
            index = row.index_of(desk.tabs[0].id)
            spoken = row.data(index, Qt.ItemDataRole.AccessibleTextRole)
            assert states.sentence(label.turn) in spoken
            assert states.sentence(label.turn) in bar.tabToolTip(0)
            return states.word(label.turn), accessible_tab_name(bar, 0)

        for word, sentence in (("3rd", "Waiting, 3rd in line"), ("50 %", "Reading 50 %")):
            gate.release()
            await until(lambda word=word: said()[0] == word)
            assert sentence in said()[1]
        gate.release()
        await until(lambda: said()[0] == "writing")
        gate.release()
        await until(lambda: said()[0] == "new")
        desk.control(Qt.Key.Key_1)
        await until(lambda: said()[0] == "")
        assert accessible_tab_name(bar, 0) == "one"

    script = [Waiting(3), Reading(5, 10, 0), Text("answer")]
    with_desk(scenario, generator=FakeGenerator([script], gate=asyncio.Semaphore(0)))


def test_markup_in_a_title_is_shown_as_it_is(with_desk):
    async def scenario(desk):
        title = '<b>x</b> AT&T &File <img src="file:///dev/zero">'
        await desk.store.rename(desk.front.id, title)
        desk.window.workspace.handle  # noqa: B018  the store is changed behind the service's back
        await desk.chat.set_settings(desk.front.id, desk.front.conversation.settings)
        bar = desk.find(QTabBar, "chatTabBar")
        label = bar.tabButton(0, QTabBar.ButtonPosition.LeftSide)
        await until(lambda: label.title == title)
        assert accessible_tab_name(bar, 0) == title
        assert "<b>" not in bar.tabToolTip(0)
        assert "&lt;b&gt;" in bar.tabToolTip(0)
        assert desk.window.windowTitle().startswith("<b>x</b> AT&T &File")

    with_desk(scenario)


def test_ten_thousand_characters_of_title_stay_in_their_place(with_desk):
    async def scenario(desk):
        await desk.store.rename(desk.front.id, "x\n\u202e" * 10_000)
        await desk.chat.set_settings(desk.front.id, desk.front.conversation.settings)
        await turns_of_the_loop()
        bar = desk.find(QTabBar, "chatTabBar")
        assert len(bar.tabText(0)) <= 200
        assert "\n" not in bar.tabText(0)
        assert bar.tabRect(0).width() <= 220

    with_desk(scenario)
