"""The reader's place is the reader's: nothing that arrives, or is laid out late, moves it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.chat.models import Message, Status
from app.ui.transcript import Transcript
from tests.gui.transcripts import (
    Chat,
    chat,
    first_line,
    on_screen,
    paint,
    painted_anew,
    stream,
    view,
    wheel,
)

__all__ = ["chat", "view"]


def jump_button(view: Transcript) -> QToolButton:
    button = view.findChild(QToolButton, "jumpToEnd")
    assert button is not None
    return button


@pytest.fixture
def streaming(view: Transcript, chat: Chat) -> Message:
    """A chat of 40 messages whose last answer is being written."""
    chat.history(20)
    answer = chat.answer("", Status.STREAMING)
    view.set_messages(chat.made)
    stream(view, answer.id, "".join(f"Line {number}\n\n" for number in range(100)), 200)
    return answer


def by_wheel(view: Transcript, qtbot: QtBot) -> None:
    for _ in range(12):
        wheel(view, 1)


def by_key(view: Transcript, qtbot: QtBot) -> None:
    for _ in range(3):
        qtbot.keyClick(view, Qt.Key.Key_PageUp)


def by_bar(view: Transcript, qtbot: QtBot) -> None:
    bar = view.verticalScrollBar()
    bar.setValue(bar.value() - 3 * bar.pageStep() + 5)


@pytest.mark.parametrize("scroll_up", [by_wheel, by_key, by_bar])
def test_scrolling_up_ends_following_and_the_place_stays(
    view: Transcript, qtbot: QtBot, streaming: Message, scroll_up: object
) -> None:
    assert view.following
    assert callable(scroll_up)
    with qtbot.waitSignal(view.followingChanged) as caught:
        scroll_up(view, qtbot)
    assert caught.args == [False]
    place = first_line(view)
    stream(view, streaming.id, "".join(f"More {number}\n\n" for number in range(100)), 11)
    assert first_line(view) == place
    assert not view.following
    assert jump_button(view).isVisible()
    assert jump_button(view).accessibleName() == "Go to the end"
    assert on_screen(view) == painted_anew(view)


def test_nothing_is_painted_for_text_below_the_view(
    view: Transcript, qtbot: QtBot, streaming: Message
) -> None:
    by_key(view, qtbot)
    paint(view)
    before = view.counts()
    stream(view, streaming.id, "word " * 50)
    after = view.counts()
    assert after.painted_blocks == before.painted_blocks
    assert after.flushes > before.flushes


def test_one_notch_is_enough_to_stop_following(view: Transcript, streaming: Message) -> None:
    wheel(view, 1)
    assert not view.following


@pytest.mark.parametrize("way", ["end", "wheel", "bar", "button", "method"])
def test_reaching_the_end_resumes_following(
    view: Transcript, qtbot: QtBot, streaming: Message, way: str
) -> None:
    by_key(view, qtbot)
    assert not view.following
    if way == "end":
        qtbot.keyClick(view, Qt.Key.Key_End)
    elif way == "wheel":
        for _ in range(60):
            wheel(view, -1)
    elif way == "bar":
        view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    elif way == "button":
        qtbot.mouseClick(jump_button(view), Qt.MouseButton.LeftButton)
    else:
        view.scroll_to_end()
    assert view.following
    assert not jump_button(view).isVisible()
    stream(view, streaming.id, "last words\n\n" * 20)
    assert view.flow.at_end


@pytest.mark.parametrize("way", ["resize", "remove"])
def test_an_end_that_comes_into_view_is_followed_again(
    view: Transcript, chat: Chat, way: str
) -> None:
    chat.user("Question?")
    answer = chat.answer("para\n\n" * 30, Status.STREAMING)
    view.set_messages(chat.made)
    wheel(view, 2)
    assert not view.following
    if way == "resize":
        view.resize(900, 2_000)
    else:
        view.remove_from(answer.id)
        answer = chat.answer("", Status.STREAMING)
        view.add_message(answer)
    assert view.following
    assert not jump_button(view).isVisible()
    stream(view, answer.id, "last words\n\n" * 80, 200)
    assert view.flow.at_end


def test_the_place_survives_a_resize_and_a_hidden_time(
    view: Transcript, qtbot: QtBot, streaming: Message
) -> None:
    by_wheel(view, qtbot)
    entry, block, _ = first_line(view)
    view.resize(620, 500)
    assert first_line(view)[:2] == (entry, block)
    view.resize(900, 700)
    assert first_line(view)[:2] == (entry, block)
    view.hide()
    view.append_text(streaming.id, "unseen\n\n" * 100)
    with qtbot.waitExposed(view):
        view.show()
    assert first_line(view)[:2] == (entry, block)
    assert not view.following


def test_small_steps_never_jump(view: Transcript, chat: Chat) -> None:
    """150 steps through messages whose heights were only estimated: each moves what was in view by 100 px."""
    view.set_messages(chat.history(60, 900))
    for _ in range(150):
        before = {(spot.entry, spot.block): spot.y for spot in view.flow.spots}
        view.scroll_by(-100)
        moved = {
            spot.y - before[spot.entry, spot.block]
            for spot in view.flow.spots
            if (spot.entry, spot.block) in before
        }
        assert moved == {100}


def test_a_scrolled_screen_equals_a_painted_one(view: Transcript, chat: Chat) -> None:
    view.set_messages(chat.history(30, 900))
    for pixels in (-100, -37, -260, 90, -700, 333, -41, -5_000, 120):
        view.scroll_by(pixels)
        assert on_screen(view) == painted_anew(view)
    assert view.counts().blits >= 7


def test_keys_scroll_and_home_and_end_reach_the_ends(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    view.set_messages(chat.history(50))
    qtbot.keyClick(view, Qt.Key.Key_Home)
    assert first_line(view) == (0, 0, 0)
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view.flow.offset() == 40
    qtbot.keyClick(view, Qt.Key.Key_PageDown)
    assert view.flow.offset() == view.flow.height
    qtbot.keyClick(view, Qt.Key.Key_PageUp)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert first_line(view) == (0, 0, 0)
    qtbot.keyClick(view, Qt.Key.Key_End)
    assert view.following
    assert view.flow.at_end


def test_the_bar_jumps_far_and_shows_where_the_view_stands(view: Transcript, chat: Chat) -> None:
    view.set_messages(chat.history(200))
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(bar.maximum() // 2)
    assert 150 < view.flow.spots[0].entry < 250
    bar.setValue(0)
    assert first_line(view) == (0, 0, 0)


def test_what_fits_is_at_its_end(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.user("q"), chat.answer("a")])
    wheel(view, 3)
    assert view.following
    assert not jump_button(view).isVisible()
    assert first_line(view) == (0, 0, 0)


def test_a_new_question_brings_the_view_to_the_end(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    view.set_messages(chat.history(30))
    by_key(view, qtbot)
    view.add_message(chat.user("new"))
    assert view.following
    assert view.flow.at_end


def test_code_and_tables_scroll_sideways_on_their_own(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("```\n" + "0123456789" * 40 + "\n```\n")])
    left = painted_anew(view)
    place = first_line(view)
    spot = view.flow.spots[1]
    view._scroll_sideways(view.spot_rect(spot).center(), 100)
    assert painted_anew(view) != left
    assert first_line(view) == place
    view._scroll_sideways(view.spot_rect(spot).center(), -500)
    assert painted_anew(view) == left
