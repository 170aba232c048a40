"""From where on a full chat is sent to the model is marked."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.chat.models import Summary
from app.ui.actions import ActionButton
from app.ui.message_frame import Verb
from app.ui.transcript import Transcript
from tests.gui.transcripts import Chat, chat, on_screen, paint, painted_anew, view

__all__ = ["chat", "view"]

MARK = "is not sent to the model"


def marked(view: Transcript) -> list[int]:
    return [index for index in range(view.message_count()) if MARK in view.message_text(index)]


def test_the_first_message_that_is_sent_says_so(view: Transcript, chat: Chat) -> None:
    messages = chat.history(4)
    messages[-1] = replace(messages[-1], sent_from=messages[4].id)
    view.set_messages(messages)
    paint(view)
    assert marked(view) == [4]
    view.verticalScrollBar().setValue(0)
    paint(view)
    assert on_screen(view) == painted_anew(view)


def test_the_mark_moves_when_more_is_left_out_and_goes_with_its_answer(
    view: Transcript, chat: Chat
) -> None:
    messages = chat.history(4)
    view.set_messages(messages)
    assert marked(view) == []
    view.update_message(replace(messages[-1], sent_from=messages[2].id))
    assert marked(view) == [2]
    view.update_message(replace(messages[-1], sent_from=messages[6].id))
    assert marked(view) == [6]
    paint(view)
    assert on_screen(view) == painted_anew(view)
    view.update_message(replace(messages[-1], sent_from=0))
    assert marked(view) == []


# --- a summary stands for it --------------------------------------------------------------------------------------

STANDS = "A summary stands for it."
SUMMARY = "They spoke of parts,\nand of lists."


def unfolding(view: Transcript) -> ActionButton:
    paint(view)
    (button,) = [b for b in view.action_buttons() if b.objectName() == "summaryButton"]
    return button


def test_a_summary_stands_above_the_first_message_that_it_does_not_cover(
    view: Transcript, chat: Chat
) -> None:
    messages = chat.history(4)
    view.set_summary(Summary(1, messages[3].id, SUMMARY))
    view.set_messages(messages)
    assert marked(view) == [4]
    assert STANDS in view.message_text(4)
    assert SUMMARY not in view.message_text(4), "it is folded until somebody looks"
    view.set_summary(None)
    assert marked(view) == []


def test_it_can_be_read_and_put_away_again(view: Transcript, chat: Chat) -> None:
    messages = [chat.user("a"), chat.answer("A"), chat.user("b"), chat.answer("B")]
    view.set_messages(messages)
    view.set_summary(Summary(1, messages[1].id, SUMMARY))
    button = unfolding(view)
    assert button.accessibleName() == "Show summary"
    low = button.y()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    paint(view)
    assert f"{STANDS}\n{SUMMARY}" in view.message_text(2)
    assert on_screen(view) == painted_anew(view)
    assert unfolding(view).y() == low
    QTest.mouseClick(unfolding(view), Qt.MouseButton.LeftButton)
    paint(view)
    assert SUMMARY not in view.message_text(2)
    assert on_screen(view) == painted_anew(view)
    view.remove_from(messages[2].id)
    paint(view)
    assert all(b.objectName() != "summaryButton" for b in view.action_buttons())


@pytest.mark.parametrize(("first", "marks"), [(2, [4]), (4, [4]), (6, [4, 6])])
def test_what_is_left_out_behind_a_summary_is_marked_too(
    view: Transcript, chat: Chat, first: int, marks: list[int]
) -> None:
    messages = chat.history(4)
    messages[-1] = replace(messages[-1], sent_from=messages[first].id)
    view.set_messages(messages)
    view.set_summary(Summary(1, messages[3].id, SUMMARY))
    assert marked(view) == marks
    assert [STANDS in view.message_text(index) for index in marks] == [True, False][: len(marks)]


def test_a_summary_is_data_whatever_is_in_it(view: Transcript, chat: Chat) -> None:
    messages = chat.history(2)
    view.set_messages(messages)
    view.set_summary(Summary(1, messages[1].id, "<b>bold</b> **x** [a](http://a)"))
    view._fold(messages[2].id, Verb.SUMMARY)
    assert "<b>bold</b> **x** [a](http://a)" in view.message_text(2)
