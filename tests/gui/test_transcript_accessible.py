"""The transcript as a screen reader meets it."""

import gc

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QAccessible, QAccessibleInterface
from pytestqt.qtbot import QtBot

from app.chat.models import Status
from app.ui import accessible
from app.ui.transcript import Transcript
from tests.gui.transcripts import Chat, chat, view

__all__ = ["chat", "view"]


def interface(view: Transcript) -> QAccessibleInterface:
    found = QAccessible.queryAccessibleInterface(view)
    assert found is not None
    return found


def test_it_is_a_list_of_messages_with_their_text(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.user("A *question*"), chat.answer("**Bold** answer", Status.STOPPED)])
    reader = interface(view)
    assert reader.role() == QAccessible.Role.List
    assert reader.text(QAccessible.Text.Name) == "Transcript"
    items = [reader.child(index) for index in range(2)]
    assert [item.role() for item in items] == [QAccessible.Role.ListItem] * 2
    assert [item.text(QAccessible.Text.Name) for item in items] == [
        "You\nA *question*",
        "Tutti\nBold answer\nStopped",
    ]
    assert items[0].rect().height() > 0


def test_buttons_in_view_follow_the_messages(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("```\nx\n```")])
    reader = interface(view)
    names = [reader.child(i).text(QAccessible.Text.Name) for i in range(1, reader.childCount())]
    assert names == ["Copy code", "Copy answer", "Regenerate answer"]


def test_a_message_can_be_read_in_parts(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("😀 one two")])
    text = interface(view).child(0).textInterface()
    assert text is not None
    assert text.characterCount() == len("Tutti\n") + 10
    assert text.text(6, 12) == "😀 one"


def test_what_a_message_is_not_it_says(view: Transcript, chat: Chat) -> None:
    """A screen reader asks every item what else it is; what only the text answered ended the process."""
    view.set_messages([chat.answer("text")])
    item = interface(view).child(0)
    others = (
        item.actionInterface,
        item.attributesInterface,
        item.editableTextInterface,
        item.selectionInterface,
        item.tableCellInterface,
        item.valueInterface,
    )
    assert [ask() for ask in others] == [None] * len(others)
    assert item.textInterface() is not None


def test_items_live_as_long_as_their_messages(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    view.set_messages(chat.history(3))
    reader = interface(view)
    items = [reader.child(index) for index in range(6)]
    view.remove_from(chat.made[2].id)
    gc.collect()
    assert [item.isValid() for item in items] == [True, True, False, False, False, False]
    assert items[4].text(QAccessible.Text.Name) == ""
    assert interface(view).child(99) is None


def test_two_transcripts_do_not_share_items(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    other = Transcript()
    qtbot.addWidget(other)
    view.set_messages([chat.user("here")])
    other.set_messages([chat.user("there")])
    assert interface(view).child(0).text(QAccessible.Text.Name) == "You\nhere"
    assert interface(other).child(0).text(QAccessible.Text.Name) == "You\nthere"


def test_a_reader_may_hold_an_item_longer_than_the_window_lives(chat: Chat, qtbot: QtBot) -> None:
    short = Transcript()
    short.set_messages([chat.user("gone soon")])
    item = interface(short).child(0)
    assert item.isValid()
    short.deleteLater()
    del short
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert not item.isValid()
    assert item.text(QAccessible.Text.Name) == ""
    assert item.rect().isEmpty()


def test_the_end_of_an_answer_is_said_in_the_words_of_its_state(chat: Chat) -> None:
    assert accessible.end_words(chat.answer("done")) == "Answer finished"
    assert accessible.end_words(chat.answer("half", Status.STOPPED)) == "Answer stopped"
    failed = chat.answer("", Status.FAILED, error="The engine stopped." + "x" * 9_000)
    assert accessible.end_words(failed).startswith("The answer failed: The engine stopped.")
    assert len(accessible.end_words(failed)) < 400
