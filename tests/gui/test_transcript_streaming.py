"""What drawing a stream costs, in counts, and that what is on the screen is what a full paint would show."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.chat.models import Message, Status
from app.ui.transcript import REDRAW_MS, Transcript, ViewCounts
from tests.gui.transcripts import (
    Chat,
    answer_of,
    chat,
    on_screen,
    paint,
    painted_anew,
    stream,
    view,
)

__all__ = ["chat", "view"]


@pytest.fixture
def empty_answer(view: Transcript, chat: Chat) -> Message:
    """500 older messages, and an answer that begins."""
    chat.history(250)
    answer = chat.answer("", Status.STREAMING)
    view.set_messages(chat.made)
    return answer


def cost_of(view: Transcript, message_id: int, text: str) -> ViewCounts:
    before = view.counts()
    stream(view, message_id, text, 108)
    after = view.counts()
    return ViewCounts(
        **{
            name: getattr(after, name) - getattr(before, name) if name != "alive" else after.alive
            for name in ViewCounts.__slots__
        }
    )


@pytest.mark.slow
def test_the_second_half_of_an_answer_costs_what_the_first_did(
    view: Transcript, empty_answer: Message
) -> None:
    """Case 37: drawing 2 n characters may cost 2.2 times what n cost."""
    text = answer_of(50_000)
    first = cost_of(view, empty_answer.id, text[:25_000])
    second = cost_of(view, empty_answer.id, text[25_000:])
    for name in ("laid_out", "parsed", "painted_blocks"):
        half, whole = getattr(first, name), getattr(first, name) + getattr(second, name)
        assert whole <= 2.2 * half, name
    assert first.painted_blocks / first.flushes < 8
    assert first.laid_out / first.flushes < 6
    assert second.full_paints == 0
    assert second.opened == 0
    assert second.alive < 220


@pytest.mark.slow
def test_a_blitted_stream_equals_a_painted_one(view: Transcript, empty_answer: Message) -> None:
    text = answer_of(2_000) + "> quote\n> more\n\n" + "```sh\nls\n" + "echo x\n" * 40
    for at in range(0, len(text), 83):
        view.append_text(empty_answer.id, text[at : at + 83])
        view.flush()
        assert on_screen(view) == painted_anew(view)
    assert view.counts().blits > 5


def test_the_end_of_a_stream_is_painted_right(view: Transcript, empty_answer: Message) -> None:
    stream(view, empty_answer.id, answer_of(1_500))
    done = type(empty_answer)(
        empty_answer.id, 1, empty_answer.role, answer_of(1_500), Status.STOPPED, 0.0
    )
    view.update_message(done)
    assert on_screen(view) == painted_anew(view)
    view.remove_from(empty_answer.id)
    assert on_screen(view) == painted_anew(view)


def test_opening_a_long_chat_touches_only_what_is_seen(view: Transcript, chat: Chat) -> None:
    view.set_messages(chat.history(2_500, 200))
    paint(view)
    counts = view.counts()
    assert counts.messages == 5_000
    assert counts.opened < 12
    assert counts.laid_out < 80


@pytest.mark.slow
def test_scrolling_through_a_chat_keeps_few_layouts(view: Transcript, chat: Chat) -> None:
    view.set_messages(chat.history(100, 600))
    for _ in range(100):
        view.scroll_by(-600)
        paint(view)
    assert view.counts().alive < 240


@pytest.mark.slow
def test_a_hidden_view_only_takes_notes(
    view: Transcript, empty_answer: Message, qtbot: QtBot
) -> None:
    view.hide()
    before = view.counts()
    for _ in range(1_400):
        view.append_text(empty_answer.id, "more text\n\n")
    assert view.counts() == before
    with qtbot.waitExposed(view):
        view.show()
    after = view.counts()
    assert after.parsed - before.parsed == 1_400 * 11
    assert after.laid_out - before.laid_out < 40
    assert view.plain_text().count("more text") == 1_400


def test_text_waits_for_one_redraw(view: Transcript, empty_answer: Message, qtbot: QtBot) -> None:
    before = view.counts().flushes
    for _ in range(50):
        view.append_text(empty_answer.id, "word ")
    assert view.counts().flushes == before
    assert view._redraw.isActive()
    assert view._redraw.isSingleShot()
    assert view._redraw.interval() >= REDRAW_MS >= 1000 / 30
    assert view._redraw.timerType() == Qt.TimerType.PreciseTimer, "a coarse one may be early"
    qtbot.waitUntil(lambda: view.counts().flushes == before + 1)
    assert not view._redraw.isActive()


def test_text_for_a_message_that_is_gone_is_ignored(
    view: Transcript, empty_answer: Message
) -> None:
    view.remove_from(empty_answer.id)
    view.append_text(empty_answer.id, "late")
    view.update_message(empty_answer)
    view.flush()
    assert "late" not in view.plain_text()


def test_a_table_that_streams_moves_its_columns_together(
    view: Transcript, empty_answer: Message, qapp: QApplication
) -> None:
    view.append_text(empty_answer.id, "| a | b |\n|---|---|\n| x | y |\n")
    view.flush()
    assert on_screen(view) == painted_anew(view)
    for _ in range(12):
        view.append_text(empty_answer.id, "| a much wider cell | y")
        view.flush()
        assert on_screen(view) == painted_anew(view)
        view.append_text(empty_answer.id, " and more |\n")
        view.flush()
        assert on_screen(view) == painted_anew(view)


def test_reading_the_text_between_two_redraws_leaves_nothing_unlaid(
    view: Transcript, chat: Chat
) -> None:
    """Whoever asks for the text (a screen reader) takes it in before the redraw; a paint may come first."""
    chat.history(1)
    answer = chat.answer("", Status.STREAMING)
    view.set_messages(chat.made)
    text = answer_of(6_000)
    for start in range(0, len(text), 97):
        view.append_text(answer.id, text[start : start + 97])
        assert view.plain_text()
        view.grab()
