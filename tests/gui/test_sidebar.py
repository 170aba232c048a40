"""The list of chats: by day, filtered, renamed, deleted with a way back."""

from datetime import date, datetime, timedelta

from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QListView, QPushButton, QTabWidget

from app.chat.models import Conversation
from app.ui.conversation_model import arrange, group
from tests.gui.desk import turns_of_the_loop, until

NOON = datetime(2026, 3, 10, 12).astimezone()


def chat(number, title, when):
    return Conversation(number, title, when.timestamp(), when.timestamp())


def test_the_day_of_a_chat():
    today = date(2026, 3, 10)
    assert group(NOON.timestamp(), today) == "Today"
    assert group((NOON - timedelta(hours=13)).timestamp(), today) == "Yesterday"
    assert group((NOON - timedelta(days=2)).timestamp(), today) == "Earlier"
    assert group((NOON + timedelta(days=5)).timestamp(), today) == "Today"


def test_rows_are_newest_first_under_headings_and_filtered_without_case():
    chats = [
        chat(1, "Report", NOON - timedelta(days=3)),
        chat(2, "Straße", NOON),
        chat(3, "", NOON - timedelta(days=1)),
    ]
    rows = arrange(chats, {}, "", NOON.date())
    assert [row.key for row in rows] == ["Today", 2, "Yesterday", 3, "Earlier", 1]
    assert [row.key for row in arrange(chats, {}, "STRASSE", NOON.date())] == ["Today", 2]
    assert [row.key for row in arrange(chats, {}, "new ch", NOON.date())] == ["Yesterday", 3]
    assert arrange(chats, {}, "nothing", NOON.date()) == []


def titles(desk):
    rows = desk.find(QListView, "conversationList").model()
    found = [rows.index(number) for number in range(rows.rowCount())]
    return [index.data() for index in found if index.flags() & Qt.ItemFlag.ItemIsEnabled]


async def two_chats(desk):
    await desk.say("the kernel")
    await desk.answered()
    desk.control(Qt.Key.Key_T)
    await until(lambda: len(desk.tabs) == 2)
    await desk.say("a report")
    await desk.answered()
    await until(lambda: titles(desk) == ["a report", "the kernel"])


def test_a_search_that_finds_nothing_says_so(with_desk):
    async def scenario(desk):
        await two_chats(desk)
        view = desk.find(QListView, "conversationList")
        desk.control(Qt.Key.Key_K)
        QTest.keyClicks(QApplication.focusWidget(), "kernel")
        area = view.viewport().rect().adjusted(0, 120, 0, 0)
        empty = view.viewport().grab(area).toImage()
        QTest.keyClicks(QApplication.focusWidget(), "zzz")
        assert titles(desk) == []
        words = view.viewport().grab(view.viewport().rect().adjusted(0, 0, 0, -300)).toImage()
        colours = {words.pixelColor(x, y).name() for x in range(8, 200) for y in range(8, 40)}
        assert len(colours) > 3, "something is written"
        assert view.viewport().grab(area).toImage() == empty

    with_desk(scenario)


def test_searching_as_one_types(with_desk):
    async def scenario(desk):
        await two_chats(desk)
        desk.control(Qt.Key.Key_K)
        search = desk.find(QLineEdit, "searchField")
        assert search.hasFocus()
        QTest.keyClicks(search, "KER")
        assert titles(desk) == ["the kernel"]
        QTest.keyClick(search, Qt.Key.Key_Escape)
        assert len(titles(desk)) == 2

    with_desk(scenario)


def test_a_click_opens_a_chat_once(with_desk):
    async def scenario(desk):
        await two_chats(desk)
        view = desk.find(QListView, "conversationList")
        first = desk.tabs[0].id
        desk.control(Qt.Key.Key_1)
        desk.control(Qt.Key.Key_W)
        await until(lambda: len(desk.tabs) == 1)
        for _ in range(3):
            box = view.visualRect(desk.window.sidebar.model.index_of(first))
            QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=box.center())
            await turns_of_the_loop()
        assert [tab.id for tab in desk.tabs].count(first) == 1
        assert desk.front.id == first

    with_desk(scenario)


def test_renaming_waits_for_the_input_method(with_desk):
    async def scenario(desk):
        await two_chats(desk)
        QTest.keyClick(desk.front.composer.edit, Qt.Key.Key_F2)
        await until(lambda: desk.window.findChild(QLineEdit, "renameField"))
        field = desk.find(QLineEdit, "renameField")
        await until(field.hasFocus)
        field.selectAll()
        QApplication.sendEvent(field, QInputMethodEvent("xin", []))
        QTest.keyClick(field, Qt.Key.Key_Return)
        await turns_of_the_loop()
        assert field.isVisible()
        await desk.chat.set_settings(desk.front.id, desk.front.conversation.settings)
        commit = QInputMethodEvent()
        commit.setCommitString("新名")
        QApplication.sendEvent(field, commit)
        QTest.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: "新名" in titles(desk))
        stored = await desk.store.conversation(desk.front.id)
        assert stored.title == "新名"

    with_desk(scenario)


def test_deleting_can_be_undone(with_desk):
    async def scenario(desk):
        await two_chats(desk)
        view, tabs = desk.find(QListView, "conversationList"), desk.find(QTabWidget, "chatTabs")
        doomed = desk.tabs[0].id
        view.setFocus()
        view.setCurrentIndex(desk.window.sidebar.model.index_of(doomed))
        QTest.keyClick(view, Qt.Key.Key_Delete)
        assert titles(desk) == ["a report"]
        assert tabs.count() == 1
        assert "was deleted" in desk.window.banner.text()
        assert await desk.store.conversation(doomed) is not None
        desk.click(desk.find(QPushButton, "noticeAction"))
        assert len(titles(desk)) == 2
        assert desk.tabs[0].id == doomed
        await until(lambda: "Hello." in desk.tabs[0].transcript.plain_text())
        assert not desk.window.banner.isVisible()

    with_desk(scenario)


def test_a_deletion_is_carried_out_when_its_notice_goes(with_desk):
    async def scenario(desk):
        await two_chats(desk)
        doomed = desk.front.id
        desk.window.workspace.delete(doomed)
        desk.click(desk.window.banner.findChild(object, "noticeDismiss"))
        await until(lambda: desk.window.sidebar.model.conversation(doomed) is None)
        assert await desk.store.conversation(doomed) is None

    with_desk(scenario)


def test_a_deletion_is_carried_out_when_the_window_closes(drive):
    from tests.gui.desk import close_desk, open_desk

    async def scenario():
        desk = await open_desk()
        await two_chats(desk)
        doomed = desk.front.id
        desk.window.workspace.delete(doomed)
        await close_desk(desk)
        desk = await open_desk()
        assert doomed not in [chat.id for chat in desk.window.sidebar.model.conversations()]
        await close_desk(desk)

    drive(scenario())


def test_the_sidebar_can_be_hidden(with_desk):
    async def scenario(desk):
        assert desk.window.sidebar.isVisible()
        desk.control(Qt.Key.Key_B)
        assert not desk.window.sidebar.isVisible()
        assert not desk.preferences.current.sidebar_visible
        desk.control(Qt.Key.Key_B)
        assert desk.window.sidebar.isVisible()

    with_desk(scenario)
