"""How the tabs share their room: the title first, then the word, and a button to close where the mouse is."""

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QHoverEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar, QToolButton

from app.chat.events import TurnChanged, TurnState
from app.chat.models import TabState
from app.chat.ports import ModelPhase
from app.ui import states, theme
from app.ui.tab_label import TabLabel, fitting_word
from app.ui.tabs import NARROWEST
from tests.gui.desk import turns_of_the_loop, until

WRITING = TurnState(TabState.WRITING, tokens_per_second=31.2)


async def open_tabs(desk, count, width=1120):
    desk.window.resize(width, 700)
    while len(desk.tabs) < count:
        before = len(desk.tabs)
        desk.control(Qt.Key.Key_T)
        await until(lambda before=before: len(desk.tabs) == before + 1)
    for number, page in enumerate(desk.tabs):
        await desk.chat.rename(page.id, f"Write a long story {number}")
    await turns_of_the_loop()
    return desk.find(QTabBar, "chatTabBar")


def label_of(bar, index):
    label = bar.tabButton(index, QTabBar.ButtonPosition.LeftSide)
    assert isinstance(label, TabLabel)
    return label


def close_of(bar, index):
    button = bar.tabButton(index, QTabBar.ButtonPosition.RightSide)
    assert isinstance(button, QToolButton)
    return button


def point_at(bar, index):
    """The mouse comes over a tab; QTest's own moves make no hover events where the pointer is elsewhere."""
    place = QPointF(bar.tabRect(index).center()) if index >= 0 else QPointF(-1, -1)
    kind = QEvent.Type.HoverMove if index >= 0 else QEvent.Type.HoverLeave
    event = QHoverEvent(kind, place, bar.mapToGlobal(place), QPointF(-1, -1))
    QApplication.sendEvent(bar, event)


def test_four_tabs_of_a_small_window_show_their_titles(with_desk):
    async def scenario(desk):
        bar = await open_tabs(desk, 4)
        for page in desk.tabs:
            desk.window.workspace.handle(TurnChanged(page.id, WRITING))
        await turns_of_the_loop()
        room = bar.rect()
        for index in range(4):
            assert room.contains(bar.tabRect(index))
            title, _ = label_of(bar, index).shown()
            assert title.strip("\u2068\u2069").startswith("Write")
        assert not bar.findChild(QToolButton, "ScrollLeftButton").isVisible()
        words = [label_of(bar, index).shown()[1] for index in range(3)]
        assert words == ["31/s"] * 3

    with_desk(scenario)


def test_tabs_shrink_before_the_row_scrolls(with_desk):
    async def scenario(desk):
        bar = await open_tabs(desk, 7, width=1280)
        assert theme.px(NARROWEST) <= bar.tabRect(0).width() < 130
        assert not bar.findChild(QToolButton, "ScrollLeftButton").isVisible()
        bar = await open_tabs(desk, 12, width=900)
        assert bar.tabRect(0).width() == theme.px(NARROWEST)
        desk.window.tabs.setCurrentIndex(0)
        assert bar.rect().contains(bar.tabRect(0)), "the front tab is in view"
        desk.window.tabs.setCurrentIndex(11)
        assert bar.rect().contains(bar.tabRect(11))

    with_desk(scenario)


def test_only_the_front_tab_and_the_one_under_the_mouse_can_be_closed(with_desk):
    async def scenario(desk):
        bar = await open_tabs(desk, 4)

        def shown():
            return [index for index in range(bar.count()) if close_of(bar, index).isVisible()]

        assert shown() == [3]
        point_at(bar, 1)
        assert shown() == [1, 3]
        desk.control(Qt.Key.Key_1)
        assert shown() == [0, 1]
        gone = desk.tabs[1]
        QTest.mouseClick(close_of(bar, 1), Qt.MouseButton.LeftButton)
        assert gone not in desk.tabs
        point_at(bar, -1)
        assert shown() == [0]

    with_desk(scenario)


def test_the_button_does_not_cover_what_the_label_says(with_desk):
    async def scenario(desk):
        bar = await open_tabs(desk, 4)
        desk.window.workspace.handle(TurnChanged(desk.tabs[3].id, WRITING))
        label, button = label_of(bar, 3), close_of(bar, 3)
        text = label._text_rect().translated(label.pos())
        assert text.right() <= button.geometry().left()
        assert label.geometry().right() <= bar.tabRect(3).right()

    with_desk(scenario)


@pytest.mark.parametrize(
    ("room", "word"), [(400, "31 tok/s"), (170, "31 tok/s"), (105, "31/s"), (70, "")]
)
def test_the_word_gives_way_to_the_title(qapp, room, word):
    theme.apply(qapp, "light")
    metrics = QFontMetricsF(theme.body_font(theme.SMALL_PX))
    assert fitting_word(WRITING, 300, room, metrics) == word
    assert fitting_word(WRITING, 10, max(room, 90), metrics) == "31 tok/s"


@pytest.mark.parametrize(
    ("turn", "short"),
    [
        (TurnState(TabState.WAITING, place=2), "2nd"),
        (TurnState(TabState.WAITING), ""),
        (TurnState(TabState.READING, done=43, total=100), "43 %"),
        (WRITING, "31/s"),
        (TurnState(TabState.WRITING, tokens_per_second=3.14), "3.1/s"),
        (TurnState(TabState.WRITING), ""),
        (TurnState(TabState.FAILED, error="No room."), ""),
        (TurnState(), ""),
    ],
)
def test_short_words(turn, short):
    assert states.short_word(turn) == short


def test_what_is_not_seen_is_not_drawn(with_desk):
    async def scenario(desk):
        ws, key = desk.window.workspace, desk.front.id
        rows = desk.window.sidebar.model
        changes = []
        rows.dataChanged.connect(lambda *_: changes.append(1))
        ws.handle(TurnChanged(key, TurnState(TabState.WRITING, written=10, tokens_per_second=31.2)))
        assert len(changes) == 1
        ws.handle(TurnChanged(key, TurnState(TabState.WRITING, written=14, tokens_per_second=31.4)))
        assert len(changes) == 1
        ws.handle(TurnChanged(key, TurnState(TabState.WRITING, written=20, tokens_per_second=33.0)))
        assert len(changes) == 2

    with_desk(scenario)


NAME = "SmolLM2-135M-Instruct.Q4_1"


def test_the_models_name_is_whole_where_there_is_room(with_desk):
    async def scenario(desk):
        button = desk.window.model_button
        desk.host.move(phase=ModelPhase.READY, name=NAME)
        desk.window.resize(1120, 700)
        await turns_of_the_loop()
        assert button.text() == NAME
        assert button.width() >= button.sizeHint().width(), "nothing is cut"

    with_desk(scenario)


def test_the_models_name_gives_way_to_the_titles_of_the_tabs(with_desk):
    async def scenario(desk):
        button = desk.window.model_button
        desk.host.move(phase=ModelPhase.READY, name=NAME)
        seen = []
        for count, width in ((4, 1300), (4, 1020), (6, 1020)):
            await open_tabs(desk, count, width=width)
            seen.append((button.text(), button.toolButtonStyle(), button.width()))
            assert NAME in button.toolTip()
            assert NAME in button.accessibleName()
        assert seen[0][0] == NAME
        assert seen[1][0].startswith("Smol")
        assert seen[1][0].endswith("Q4_1")
        assert seen[0][2] > seen[1][2] > seen[2][2]
        assert seen[2][1] == Qt.ToolButtonStyle.ToolButtonIconOnly
        desk.host.move(phase=ModelPhase.NONE)
        assert button.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonTextBesideIcon

    with_desk(scenario)


def test_the_models_name_leaves_room_for_what_it_does(with_desk):
    async def scenario(desk):
        button = desk.window.model_button
        await open_tabs(desk, 4, width=1020)
        desk.host.move(phase=ModelPhase.LOADING, name=NAME, fraction=0.43)
        assert button.text().endswith(", loading 43 %")
        assert button.text().startswith("S")

    with_desk(scenario)


def test_the_models_icon_stands_off_its_name(with_desk):
    async def scenario(desk):
        button = desk.window.model_button
        size = button.iconSize()
        assert size.width() >= size.height() + theme.GAP_1
        picture = button.icon().pixmap(size).toImage()
        gap = range(size.height(), size.width())
        ratio = picture.devicePixelRatio()
        for x in gap:
            for y in range(size.height()):
                assert picture.pixelColor(int(x * ratio), int(y * ratio)).alpha() == 0

    with_desk(scenario)
