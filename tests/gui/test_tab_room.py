"""How the tabs share their room: title and state in words, and a button to close where the mouse is."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QBitmap, QFontMetricsF, QHoverEvent, QImage, QRegion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar, QToolButton, QWidget

from app.chat.events import TurnChanged, TurnState
from app.chat.model_state import ModelPhase
from app.chat.models import TabState
from app.ui import states, theme
from app.ui.tab_label import TabLabel, fitting
from app.ui.tabs import NARROWEST
from tests.gui.desk import turns_of_the_loop, until

WRITING = TurnState(TabState.WRITING, tokens_per_second=31.2)
STATES = [
    TurnState(TabState.WAITING, place=2),
    TurnState(TabState.READING, done=43, total=100),
    WRITING,
    TurnState(TabState.DONE_UNREAD),
    TurnState(TabState.STOPPED),
    TurnState(TabState.FAILED, error="No room."),
]
"""The states that a tab shows in words."""


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


def ink_of(label):
    """The part of a label that is painted."""
    picture = QImage(label.size(), QImage.Format.Format_ARGB32)
    picture.fill(Qt.GlobalColor.transparent)
    label.render(picture, QPoint(), QRegion(), QWidget.RenderFlag.IgnoreMask)
    return QRegion(QBitmap.fromImage(picture.createAlphaMask())).boundingRect()


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


@pytest.mark.parametrize("turn", STATES, ids=lambda turn: turn.state.value)
def test_four_tabs_of_a_small_window_say_title_and_state_in_words(with_desk, turn):
    async def scenario(desk):
        bar = await open_tabs(desk, 4)
        for page in desk.tabs:
            desk.window.workspace.handle(TurnChanged(page.id, turn))
        await turns_of_the_loop()
        room = bar.rect()
        for index in range(4):
            assert room.contains(bar.tabRect(index))
            title, word = label_of(bar, index).shown()
            assert title.strip("\u2068\u2069").startswith("Write a")
            assert word in states.words(turn)
        assert not bar.findChild(QToolButton, "ScrollLeftButton").isVisible()

    with_desk(scenario)


@pytest.mark.parametrize("turn", STATES, ids=lambda turn: turn.state.value)
def test_the_narrowest_tab_has_a_word_for_every_state(with_desk, turn):
    async def scenario(desk):
        bar = await open_tabs(desk, 12, width=900)
        assert bar.tabRect(0).width() == theme.px(NARROWEST)
        desk.window.workspace.handle(TurnChanged(desk.tabs[0].id, turn))
        assert label_of(bar, 0).shown()[1] in states.words(turn)

    with_desk(scenario)


def test_words_stand_below_the_title_and_an_idle_title_in_the_middle(with_desk):
    async def scenario(desk):
        bar = await open_tabs(desk, 1)
        label = label_of(bar, 0)
        ink = ink_of(label)
        assert abs(ink.center().y() - label.rect().center().y()) <= 3
        desk.window.workspace.handle(TurnChanged(desk.tabs[0].id, WRITING))
        ink = ink_of(label)
        assert label.rect().contains(ink)
        assert ink.top() < label.height() // 4
        assert ink.bottom() > 3 * label.height() // 4

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
        text = label.text_rect().translated(label.pos())
        assert text.right() <= button.geometry().left()
        assert label.geometry().right() <= bar.tabRect(3).right()

    with_desk(scenario)


@pytest.mark.parametrize(
    ("kept", "word"), [(0, "Writing, 31 tok/s"), (1, "31 tok/s"), (2, "31/s"), (3, "")]
)
def test_the_words_are_as_many_as_there_is_room_for(qapp, kept, word):
    theme.apply(qapp, "light")
    metrics = QFontMetricsF(theme.body_font(theme.SMALL_PX))
    words = states.words(WRITING)
    room = metrics.horizontalAdvance(words[kept]) if kept < len(words) else 10
    assert fitting(words, room, metrics) == word


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (TurnState(TabState.WAITING, place=2), ("Waiting, 2nd", "2nd")),
        (TurnState(TabState.WAITING), ("Waiting",)),
        (TurnState(TabState.WAITING, why="the model is loading"), ("Loading",)),
        (TurnState(TabState.READING, done=43, total=100), ("Reading 43 %", "43 %")),
        (
            TurnState(TabState.WRITING, tokens_per_second=3.14),
            ("Writing, 3.1 tok/s", "3.1 tok/s", "3.1/s"),
        ),
        (TurnState(TabState.WRITING), ("Writing",)),
        (TurnState(TabState.DONE_UNREAD), ("Done, unread", "New")),
        (TurnState(TabState.STOPPED), ("Stopped",)),
        (TurnState(TabState.FAILED, error="No room."), ("Failed",)),
        (TurnState(), ()),
    ],
)
def test_the_words_of_a_tab(turn, words):
    assert states.words(turn) == words


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
        for count, width in ((4, 1300), (4, 1120), (6, 1020)):
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
