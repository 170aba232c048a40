"""From where on a full chat is sent to the model is marked."""

from dataclasses import replace

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
