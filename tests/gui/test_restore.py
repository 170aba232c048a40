"""What is there after a restart."""

import json

from PySide6.QtCore import QRect, Qt

from app.settings import Settings
from app.ui import geometry
from app.ui.geometry import Place, decode, encode, fitted
from tests.gui.desk import close_desk, open_desk, until

SCREEN = QRect(0, 0, 1920, 1080)


def test_tabs_drafts_front_and_chats_are_back(drive):
    async def scenario():
        desk = await open_desk()
        await desk.say("first")
        await desk.answered()
        for count, draft in ((2, "draft two"), (3, "draft three")):
            desk.control(Qt.Key.Key_T)
            await until(lambda count=count: len(desk.tabs) == count)
            desk.type(draft)
        desk.control(Qt.Key.Key_2)
        ids = [tab.id for tab in desk.tabs]
        await close_desk(desk)

        desk = await open_desk()
        assert [tab.id for tab in desk.tabs] == ids
        assert desk.front.id == ids[1]
        assert [tab.composer.text() for tab in desk.tabs] == ["", "draft two", "draft three"]
        # Only what is in front has been read from the disk.
        assert desk.tabs[0].transcript.message_count() == 0
        desk.control(Qt.Key.Key_1)
        await until(lambda: "Hello." in desk.tabs[0].transcript.plain_text())
        await close_desk(desk)

    drive(scenario())


def test_a_draft_outlives_its_tab(with_desk):
    async def scenario(desk):
        await desk.say("first")
        await desk.answered()
        desk.type("half a thought")
        desk.control(Qt.Key.Key_W)
        desk.control(Qt.Key.Key_T, shift=True)
        await until(lambda: desk.front.composer.text() == "half a thought")

    with_desk(scenario)


def test_the_sidebar_stays_hidden(drive):
    async def scenario():
        desk = await open_desk(current=Settings(sidebar_visible=False))
        assert not desk.window.sidebar.isVisible()
        await close_desk(desk)

    drive(scenario())


def test_geometry_survives_and_nonsense_does_not():
    place = Place(10, 20, 800, 600, maximized=True)
    assert decode(encode(place)) == place
    wrong = {"x": 0, "y": 0, "width": 10**9, "height": 600, "maximized": False}
    for data in (None, b"", b"{", b"[]", b"null", json.dumps(wrong).encode(), b'{"x": "a"}'):
        assert decode(data) is None


def test_a_window_comes_back_onto_a_screen():
    assert fitted(Place(100, 100, 800, 600), [SCREEN]) == QRect(100, 100, 800, 600)
    for place in (
        Place(-32000, -32000, 800, 600),
        Place(2500, 100, 800, 600),
        Place(100, 1070, 800, 600),
        Place(-750, 100, 800, 600),
        Place(100, 100, 1, 1),
        None,
    ):
        found = fitted(place, [SCREEN])
        assert SCREEN.contains(found)
        assert found.center() == SCREEN.center()


def test_a_window_is_never_larger_than_its_screen():
    assert fitted(Place(0, 0, 7680, 2160), [SCREEN]).size() == SCREEN.size()
    small = QRect(0, 0, 800, 600)
    assert small.contains(fitted(None, [small]))


def test_a_second_screen_that_is_still_there_keeps_the_window():
    second = QRect(1920, 0, 1280, 1024)
    assert fitted(Place(2000, 50, 800, 600), [SCREEN, second]) == QRect(2000, 50, 800, 600)


def test_the_size_is_the_same_after_ten_starts(drive):
    async def scenario():
        sizes = set()
        for _ in range(10):
            desk = await open_desk()
            desk.window.sidebar.isVisible()
            sizes.add(geometry.of(desk.window))
            await close_desk(desk)
        assert len(sizes) == 1

    drive(scenario())
