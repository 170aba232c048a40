"""What a model thought before it answered: folded to a line, unfolded on demand, no part of the answer."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.chat.model_state import ModelState
from app.chat.models import Conversation, ConversationSettings, Message, Status
from app.settings import Settings
from app.ui.actions import ActionButton
from app.ui.chat_settings_dialog import ChatSettingsDialog
from app.ui.fields import Choice
from app.ui.thought_block import ThoughtBlock, words_of
from app.ui.transcript import Transcript
from tests.gui.transcripts import Chat, chat, find_spot, on_screen, paint, painted_anew, view

__all__ = ["chat", "view"]

THOUGHT = "One and one\n\nmake two, as **everybody** knows."


def fold(view: Transcript) -> ActionButton:
    view.flush()
    paint(view)
    (button,) = [b for b in view.action_buttons() if b.objectName() == "thoughtsButton"]
    return button


def click(button: ActionButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def block(view: Transcript) -> ThoughtBlock:
    spot = find_spot(view, lambda found: isinstance(found, ThoughtBlock))
    found = view.block_at(spot)
    assert isinstance(found, ThoughtBlock)
    return found


def test_thoughts_are_one_line_that_says_how_long_until_they_are_wanted(
    view: Transcript, chat: Chat
) -> None:
    chat.user("1+1?")
    chat.answer("It is 2.", reasoning=THOUGHT, thought_seconds=12.4)
    view.set_messages(chat.made)
    button = fold(view)
    assert button.text().endswith("Thought for 12 s")
    assert "everybody" not in view.message_text(1)
    before = block(view).height
    click(button)
    paint(view)
    assert block(view).height > before + 3 * view.flow.style.pitch
    assert THOUGHT in view.message_text(1)
    assert on_screen(view) == painted_anew(view)
    click(fold(view))
    paint(view)
    assert block(view).height == before
    assert view.message_text(1).count("It is 2.") == 1


def test_the_button_is_reached_by_keyboard_and_says_what_it_is(
    view: Transcript, chat: Chat
) -> None:
    view.set_messages([chat.answer("2", reasoning=THOUGHT, thought_seconds=1.25)])
    button = fold(view)
    assert button.accessibleName() == "Show thoughts"
    assert "1.2 s" in button.accessibleDescription()
    button.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(button, Qt.Key.Key_Space)
    paint(view)
    assert not block(view).folded


def test_thoughts_stream_folded_and_unfolded(view: Transcript, chat: Chat) -> None:
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    view.append_thought(answer.id, "One ")
    assert fold(view).text().endswith("Thinking…")
    click(fold(view))
    for piece in ("and one\n", "make ", "two."):
        view.append_thought(answer.id, piece)
        view.flush()
        paint(view)
        assert on_screen(view) == painted_anew(view)
    view.append_text(answer.id, "It is **2**.")
    view.flush()
    assert fold(view).text().endswith("Thoughts")
    assert "One and one\nmake two." in view.message_text(0)
    whole = replace(
        answer,
        text="It is **2**.",
        reasoning="One and one\nmake two.",
        thought_seconds=3.0,
        status=Status.DONE,
    )
    view.update_message(whole)
    assert fold(view).text().endswith("Thought for 3.0 s")
    assert view.message_text(0).count("make two") == 1
    assert "It is 2." in view.message_text(0)


def test_copying_the_answer_leaves_the_thoughts_out(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("It is **2**.", reasoning=THOUGHT)])
    fold(view)
    (copy,) = [b for b in view.action_buttons() if b.objectName() == "copyAnswer"]
    click(copy)
    assert QGuiApplication.clipboard().text() == "It is **2**."
    view.select_all()
    assert view.selected_text() == "It is **2**."


def test_unfolded_thoughts_can_be_marked_and_copied(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("It is 2.", reasoning=THOUGHT)])
    click(fold(view))
    paint(view)
    spot = find_spot(view, lambda found: isinstance(found, ThoughtBlock))
    left = view.column()[0]
    first = QPoint(left + 20, spot.y + 28 + 8)
    end = QPoint(left + 880, spot.y + block(view).height - 14)
    port = view.viewport()
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=first)
    QTest.mouseMove(port, end)
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=end)
    marked = view.selected_text()
    assert "make two" in marked
    assert "It is 2" not in marked
    QTest.mouseDClick(port, Qt.MouseButton.LeftButton, pos=first)
    assert view.selected_text() == "One"


def test_a_long_thought_is_laid_out_once_in_slices(view: Transcript, chat: Chat) -> None:
    text = "".join(f"line {number} of what was thought\n" for number in range(2_000))
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    view.append_thought(answer.id, text)
    click(fold(view))
    paint(view)
    slices = list(block(view)._slices)
    assert len(slices) > 20
    assert "".join(piece.text for piece in slices) == text
    view.append_thought(answer.id, "and on")
    view.flush()
    paint(view)
    assert block(view)._slices[: len(slices) - 1] == slices[:-1]
    assert block(view).text == f"{text}and on"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"status": Status.STREAMING}, "Thinking…"),
        ({"status": Status.STREAMING, "text": "x"}, "Thoughts"),
        ({"thought_seconds": 0.04}, "Thought for 0.0 s"),
        ({"thought_seconds": 75.0}, "Thought for 75 s"),
        ({}, "Thoughts"),
    ],
)
def test_what_the_line_says(chat: Chat, facts: dict[str, object], words: str) -> None:
    message: Message = replace(chat.answer(""), **facts)  # type: ignore[arg-type]
    assert words_of(message) == words


def test_a_message_without_thoughts_has_no_line(view: Transcript, chat: Chat) -> None:
    view.set_messages(chat.history(2))
    paint(view)
    assert all(b.objectName() != "thoughtsButton" for b in view.action_buttons())


# --- whether and how much -------------------------------------------------------------------------------------


@pytest.mark.parametrize("switch", [False, True])
@pytest.mark.parametrize("effort", [False, True])
def test_a_chat_can_say_what_its_model_can_be_told(
    qtbot: QtBot, switch: bool, effort: bool
) -> None:
    own = ConversationSettings(thinking=False, effort="low")
    conversation = Conversation(1, "Chat", 0.0, 0.0, settings=own)
    model = ModelState(can_switch=switch, can_effort=effort)
    dialog = ChatSettingsDialog(conversation, Settings(), model)
    qtbot.addWidget(dialog)
    found = {name: dialog.findChild(Choice, f"chat_{name}") for name in ("thinking", "effort")}
    assert (found["thinking"] is not None, found["effort"] is not None) == (switch, effort)
    assert dialog.value() == own
    for box in filter(None, found.values()):
        box.setCurrentIndex(0)
    expected = replace(own, thinking=None if switch else False, effort="" if effort else "low")
    assert dialog.value() == expected
