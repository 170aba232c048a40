"""Selecting and copying, by mouse and keyboard, across messages and while text arrives."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.chat.models import Status
from app.ui.blocks import TextBlock
from app.ui.code import CodeBlock
from app.ui.selection import Position
from app.ui.transcript import Transcript
from tests.gui.transcripts import Chat, chat, find_spot, painted_anew, point_in, stream, view

__all__ = ["chat", "view"]


def copied(view: Transcript, qtbot: QtBot) -> str:
    QGuiApplication.clipboard().clear()
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    return QGuiApplication.clipboard().text()


def select(view: Transcript, start: Position, end: Position) -> None:
    view.selection.begin(start)
    view.selection.extend(end)


def drag(view: Transcript, qtbot: QtBot, start: QPoint, end: QPoint) -> None:
    left = Qt.MouseButton.LeftButton
    qtbot.mousePress(view.viewport(), left, pos=start)
    qtbot.mouseMove(view.viewport(), end)
    qtbot.mouseRelease(view.viewport(), left, pos=end)


def test_everything_is_copied_as_its_source(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    source = "# Title\n\n- **one**\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```"
    view.set_messages([chat.user("Question  with   blanks"), chat.answer(source)])
    qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert copied(view, qtbot) == f"Question  with   blanks\n\n{source}"


def test_everything_is_copied_from_messages_never_seen(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    view.set_messages(chat.history(300))
    opened = view.counts().opened
    view.select_all()
    assert view.selected_text() == "\n\n".join(message.text for message in chat.made)
    assert view.counts().opened == opened


def test_dragging_selects_what_is_between(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    view.set_messages([chat.answer("First words here\n\nSecond paragraph\n\nThird one")])
    first, third = view.flow.spots[1], view.flow.spots[3]
    gap = view.block_at(third).gap
    drag(view, qtbot, point_in(view, first, -5, 10), point_in(view, third, 300, gap + 10))
    assert view.selected_text() == "First words here\n\nSecond paragraph\n\nThird one"
    drag(view, qtbot, point_in(view, third, -5, gap + 10), point_in(view, third, 900, gap + 10))
    assert copied(view, qtbot) == "Third one"


def test_dragging_backwards_gives_the_same(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    view.set_messages([chat.answer("First words here\n\nSecond paragraph")])
    first, second = view.flow.spots[1], view.flow.spots[2]
    gap = view.block_at(second).gap
    start, end = point_in(view, first, 40, 10), point_in(view, second, 60, gap + 10)
    drag(view, qtbot, start, end)
    forwards = view.selected_text()
    drag(view, qtbot, end, start)
    assert view.selected_text() == forwards
    assert 0 < len(forwards) < len("First words here\n\nSecond paragraph")


def test_whole_blocks_are_copied_as_source_and_parts_as_seen(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("**bold** begins\n\n- [x] *done*\n\n`code` ends")])
    select(view, Position(0, 1, 2), Position(0, 3, 4))
    assert view.selected_text() == "ld begins\n\n- [x] *done*\n\ncode"


def test_inside_one_block_what_is_seen_is_copied(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("```py\nx = 1\ny = 2\n```")])
    select(view, Position(0, 1, 0), Position(0, 1, 11))
    assert view.selected_text() == "x = 1\ny = 2"
    select(view, Position(0, 1, 4), Position(0, 1, 7))
    assert view.selected_text() == "1\ny"


def test_a_double_click_takes_the_word_and_a_third_the_paragraph(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    view.set_messages([chat.answer("several short words\n\nnext")])
    at = point_in(view, view.flow.spots[1], 20, 10)
    left = Qt.MouseButton.LeftButton
    qtbot.mouseDClick(view.viewport(), left, pos=at)
    assert view.selected_text() == "several"
    qtbot.mouseClick(view.viewport(), left, pos=at)
    assert view.selected_text() == "several short words"


def test_positions_count_as_qt_does_beyond_the_basic_plane(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("😀😀 a **b** 👨‍👩‍👧‍👦 c\n\n```\n😀x\nend\n```")])
    spot = find_spot(view, lambda block: isinstance(block, TextBlock))
    block = view.block_at(spot)
    assert block.length == len(block.visible().encode("utf-16-le")) // 2
    select(view, Position(0, 1, 2), Position(0, 1, 6))
    assert view.selected_text() == "😀 a"
    select(view, Position(0, 2, 2), Position(0, 2, 6))
    assert view.selected_text() == "x\nen"


def test_a_family_is_one_step_of_the_cursor(view: Transcript, chat: Chat) -> None:
    family = "👨‍👩‍👧‍👦"
    view.set_messages([chat.answer(f"{family}e\u0301")])
    spot = view.flow.spots[1]
    block = view.block_at(spot)
    places = {
        block.hit(point_in(view, spot, x, 10) - point_in(view, spot, 0, 0)) for x in range(60)
    }
    assert places == {0, 11, 13}


def test_a_selection_survives_a_hundred_updates(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    view.set_messages([chat.user("A question"), chat.answer("An answer to it\n\nwith two parts")])
    writing = chat.answer("First part of this.\n\nSecond part", Status.STREAMING)
    view.add_message(writing)
    select(view, Position(0, 1, 2), Position(2, 1, 10))
    before = view.selected_text()
    assert before == "question\n\nAn answer to it\n\nwith two parts\n\nFirst part"
    stream(view, writing.id, " goes on and on\n\n- item\n- item\n\n" * 100, 30)
    assert view.selected_text() == before
    select(view, Position(2, 1, 0), Position(2, 1, 5))
    selected = painted_anew(view)
    view.selection.clear()
    view.scroll_to_end()
    assert view.selected_text() == ""
    assert selected.size() == painted_anew(view).size()


def test_a_selection_in_the_growing_paragraph_keeps_its_text(view: Transcript, chat: Chat) -> None:
    writing = chat.answer("One two", Status.STREAMING)
    view.set_messages([writing])
    select(view, Position(0, 1, 4), Position(0, 1, 7))
    for _ in range(100):
        view.append_text(writing.id, " more")
        view.flush()
    assert view.selected_text() == "two"


def test_the_selection_is_painted(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("Some text here")])
    plain = painted_anew(view)
    view.select_all()
    marked = painted_anew(view)
    spot = view.flow.spots[1]
    at = point_in(view, spot, 2, 2)
    assert marked.pixelColor(at) != plain.pixelColor(at)
    assert marked.pixelColor(at).name().upper() == view.flow.style.tokens.selection


def test_removing_what_is_selected_selects_nothing(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("one"), chat.answer("two")])
    view.select_all()
    view.remove_from(2)
    assert view.selected_text() == ""


def test_right_to_left_text_is_copied_in_its_logical_order(view: Transcript, chat: Chat) -> None:
    source = "הרץ את ls ואז פתח (קובץ) 3.5"
    view.set_messages([chat.answer("הרץ את `ls` ואז פתח (קובץ) 3.5\n\nx")])
    block = view.block_at(view.flow.spots[1])
    select(view, Position(0, 1, 0), Position(0, 1, block.length))
    assert view.selected_text() == source


def test_dragging_out_of_the_view_scrolls(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    view.set_messages(chat.history(30))
    offset = view.flow.offset()
    viewport, left = view.viewport(), Qt.MouseButton.LeftButton
    qtbot.mousePress(viewport, left, pos=QPoint(200, 300))
    qtbot.mouseMove(viewport, QPoint(200, -80))
    qtbot.waitUntil(lambda: view.flow.offset() < offset - 100)
    qtbot.mouseRelease(viewport, left, pos=QPoint(200, -80))
    stopped = view.flow.offset()
    assert view.selected_text() != ""
    assert not view._pointer._beyond.isActive()
    assert view.flow.offset() == stopped


def test_code_can_be_selected_by_mouse(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    view.set_messages([chat.answer("```py\nfirst = 1\nsecond = 2\n```")])
    spot = find_spot(view, lambda block: isinstance(block, CodeBlock))
    gap = view.block_at(spot).gap
    start, end = point_in(view, spot, 16, gap + 40), point_in(view, spot, 400, gap + 65)
    drag(view, qtbot, start, end)
    assert view.selected_text() == "first = 1\nsecond = 2"
