"""The notice."""

from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton

from app.errors import ContextFull, StoreError
from app.ui.banner import Banner, Choice, Notice
from app.ui.links import LinkOffer
from app.ui.plain import one_line, tooltip
from tests.gui.desk import until


@pytest.fixture
def banner(qtbot):
    banner = Banner()
    qtbot.addWidget(banner)
    return banner


def press(banner, name):
    kind = QToolButton if name == "noticeDismiss" else QPushButton
    QTest.mouseClick(banner.findChild(kind, name), Qt.MouseButton.LeftButton)


def test_the_newest_is_in_view_and_the_one_before_comes_back(banner):
    happened = []
    banner.post(Notice("one", "info", "Undo", act=lambda: happened.append("undo one")))
    banner.post(Notice("two", gone=lambda: happened.append("two gone")))
    assert banner.text() == "two"
    press(banner, "noticeDismiss")
    assert banner.text() == "one"
    press(banner, "noticeAction")
    assert happened == ["two gone", "undo one"]
    assert banner.text() == ""
    assert banner.isHidden()


def buttons(banner):
    found = banner.findChildren(QPushButton)
    return [one for one in found if one.isVisibleTo(banner) and one.text()]


def test_one_of_several_things_to_do_is_one_click(banner):
    banner.show()
    done = []
    words = ("Use less & less", "Use another")
    choices = [Choice(text, partial(done.append, text)) for text in words]
    banner.post(Notice("before", "info", "Undo", act=lambda: done.append("undo")))
    banner.post(Notice("Too large.", choices=tuple(choices)))
    assert [one.accessibleName() for one in buttons(banner)] == list(words)
    order = [banner.findChild(QPushButton, "noticeAction")]
    for _ in range(3):
        order.append(order[-1].nextInFocusChain())
    names = [one.objectName() for one in order[1:]]
    assert names == ["noticeChoice0", "noticeChoice1", "noticeDismiss"]
    press(banner, "noticeChoice1")
    assert done == ["Use another"]
    assert [one.text() for one in buttons(banner)] == ["Undo"], "the notice before it is back"
    banner.post(Notice("Too large.", choices=tuple(choices[:1])))
    press(banner, "noticeChoice0")
    assert done[1:] == ["Use less & less"]


def test_the_same_words_are_not_stacked(banner):
    for _ in range(5):
        banner.post(Notice("The disk is full."))
    press(banner, "noticeDismiss")
    assert banner.text() == ""


def test_a_notice_goes_by_itself(qtbot, banner):
    gone = []
    banner.post(Notice("soon", seconds=0.01, gone=lambda: gone.append(1)))
    qtbot.waitUntil(lambda: gone == [1])
    assert banner.isHidden()


def test_markup_is_shown_as_it_is_and_bounded(banner):
    banner.post(Notice('<img src="file:///dev/zero"><b>x</b>' + "y" * 10_000))
    label = banner.findChild(QLabel, "noticeText")
    assert label.textFormat() == Qt.TextFormat.PlainText
    assert label.text().startswith("<img src=")
    assert len(label.text()) <= 601


def test_failures_of_the_world_speak_for_themselves(with_desk):
    async def scenario(desk):
        desk.window.report(ContextFull(9300, 8192))
        assert desk.window.banner.text().startswith("This needs 9,300 tokens")

    with_desk(scenario)


def test_failures_of_ours_are_logged_and_shown(with_desk, logged_errors):
    logged_errors.append("unexpected ZeroDivisionError")

    async def scenario(desk):
        desk.window.report(ZeroDivisionError("x"))
        assert "ZeroDivisionError" in desk.window.banner.text()

    with_desk(scenario)


class FullStore:
    """A store whose disk has no room for one more message."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def add_message(self, *_):
        raise StoreError("The disk is full.")


def test_a_store_that_fails_gives_the_message_back(with_desk):
    async def scenario(desk):
        desk.type("precious")
        desk.key(Qt.Key.Key_Return)
        await until(lambda: desk.front.composer.text() == "precious")

    with pytest.raises(StoreError):
        with_desk(scenario, wrap=FullStore)


def test_text_on_one_line():
    assert one_line("a\n\n b\tc\u2028d") == "a b c d"
    assert one_line("my \u202egpj\u2066") == "my gpj"
    assert one_line("x" * 1000, 10) == "x" * 9 + "…"
    assert tooltip("<b>&") == "<div>&lt;b&gt;&amp;</div>"
    assert tooltip("") == ""
    assert tooltip("a & b") == "a & b"
    long = tooltip("a & b, " * 20)
    assert long.startswith("<div>a &amp; b, a")


def test_an_address_is_shown_before_it_is_opened(banner):
    links = LinkOffer(banner, banner)
    for address in ("file:///etc/passwd", "javascript:alert(1)", "mailto:a@b", "https:", "x"):
        links.offer(address)
        assert banner.text() == ""
    links.offer("https://exa\u0430mple.com/a?b=c")
    assert banner.text().endswith("https://xn--example-4fg.com/a?b=c")
    assert banner.current.action == "Open"
