"""The Tab key goes through the window as the eye does, and one sees where it is."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication

from app.chat.ports import Text
from app.ui.banner import Notice
from tests.fakes import FakeGenerator
from tests.gui.desk import turns_of_the_loop, until

ALWAYS = [
    "newChatButton",
    "searchField",
    "conversationList",
    "settingsButton",
    "sidebarButton",
    "chatTabBar",
    "newTabButton",
    "modelButton",
    "menuButton",
]
PAGE = [
    "transcript",
    "copyCode",
    "copyAnswer",
    "regenerateButton",
    "promptButton",
    "chatSettingsButton",
    "composer",
    "removeAttachmentButton",
    "removeAttachmentButton",
    "sendButton",
]


def walk(desk, key=Qt.Key.Key_Tab, most=40):
    """Where the key leads, until it is back."""
    start = QApplication.focusWidget()
    names = [start.objectName()]
    for _ in range(most):
        QTest.keyClick(QApplication.focusWidget(), key)
        if QApplication.focusWidget() is start:
            return names
        names.append(QApplication.focusWidget().objectName())
    raise AssertionError(f"never back: {names}")


def from_the_first(names):
    start = names.index("newChatButton")
    return names[start:] + names[:start]


def test_tab_goes_through_everything_in_the_order_of_the_eye(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        desk.front.composer.attach("one", "x" * 100)
        desk.front.composer.attach("two", "x" * 100)
        desk.type("draft")
        await turns_of_the_loop(50)
        desk.front.focus_composer()
        names = from_the_first(walk(desk))
        assert names == [*ALWAYS, *PAGE]
        back = walk(desk, Qt.Key.Key_Backtab)
        assert back[1:] == [*reversed(from_composer(names))]

    with_desk(scenario, generator=FakeGenerator([[Text("```\ncode\n```\n")]]))


def from_composer(names):
    at = names.index("composer")
    return names[at + 1 :] + names[:at]


def test_the_order_is_the_same_in_a_tab_that_came_later(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        desk.control(Qt.Key.Key_T)
        await until(lambda: len(desk.tabs) == 2)
        await desk.say("two")
        await desk.answered()
        await turns_of_the_loop(50)
        desk.type("draft")
        desk.front.focus_composer()
        wanted = [name for name in PAGE if name not in ("copyCode", "removeAttachmentButton")]
        assert from_the_first(walk(desk)) == [*ALWAYS, *wanted]
        desk.control(Qt.Key.Key_1)
        desk.type("draft")
        desk.front.focus_composer()
        assert from_the_first(walk(desk)) == [*ALWAYS, *wanted]

    with_desk(scenario)


def test_a_notice_can_be_reached_and_answered_by_keyboard(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        desk.window.workspace.delete(desk.front.id)
        await until(lambda: desk.tabs and desk.window.banner.isVisible())
        await turns_of_the_loop(50)
        names = walk(desk)
        assert "noticeAction" in names
        assert "noticeDismiss" in names
        while QApplication.focusWidget().objectName() != "noticeAction":
            QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
        await until(lambda: not desk.window.banner.isVisible())

    with_desk(scenario)


def test_the_transcript_shows_that_the_keys_are_its(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        transcript = desk.front.transcript
        before = transcript.grab().toImage()
        desk.click(transcript.viewport())
        assert not transcript.property("ringed"), "the mouse needs no ring"
        desk.front.focus_composer()
        while not transcript.hasFocus():
            QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Backtab)
        ringed = transcript.grab().toImage()
        assert ringed.pixelColor(0, 40) != before.pixelColor(0, 40)
        desk.front.focus_composer()
        assert transcript.grab().toImage().pixelColor(0, 40) == before.pixelColor(0, 40)

    with_desk(scenario)


def test_a_closed_tab_leaves_the_keyboard_to_the_message_box_of_the_next(with_desk):
    async def scenario(desk):
        desk.control(Qt.Key.Key_T)
        await until(lambda: len(desk.tabs) == 2)
        await desk.say("hello")
        await desk.answered()
        desk.control(Qt.Key.Key_W)
        await until(lambda: len(desk.tabs) == 1)
        assert desk.front.composer.edit.hasFocus()

    with_desk(scenario)


def test_keys_that_lead_to_a_tab_lead_into_it(with_desk):
    async def scenario(desk):
        desk.control(Qt.Key.Key_T)
        await until(lambda: len(desk.tabs) == 2)
        for key in (Qt.Key.Key_1, Qt.Key.Key_Tab):
            desk.control(Qt.Key.Key_K)
            assert desk.focus().objectName() == "searchField"
            desk.control(key)
            assert desk.front.composer.edit.hasFocus()
        desk.control(Qt.Key.Key_K)
        desk.control(Qt.Key.Key_B)
        assert desk.window.sidebar.isHidden()
        assert desk.front.composer.edit.hasFocus()
        bar = desk.window.tabs.tabBar()
        bar.setFocus()
        desk.control(Qt.Key.Key_2)
        assert bar.hasFocus(), "in the row of tabs the keyboard stays there"

    with_desk(scenario)


def test_the_keyboard_comes_back_from_a_notice(with_desk):
    async def scenario(desk):
        for button in ("noticeAction", "noticeDismiss"):
            desk.window.banner.post(Notice("Something.", action="Act"))
            found = desk.find(QAbstractButton, button)
            found.setFocus()
            QTest.keyClick(found, Qt.Key.Key_Space)
            assert not desk.window.banner.isVisible()
            assert desk.front.composer.edit.hasFocus()

    with_desk(scenario)
