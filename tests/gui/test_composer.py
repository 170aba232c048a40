"""The message box: Enter, input methods, pasting, growing."""

import pytest
from PySide6.QtCore import QEvent, QMimeData, Qt, QUrl
from PySide6.QtGui import QImage, QInputMethodEvent, QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton

from app.ui.attachment import read_text_file
from app.ui.composer import LONG_LINE, LONG_TEXT, Composer, too_heavy


@pytest.fixture
def composer(qtbot):
    composer = Composer()
    qtbot.addWidget(composer)
    composer.resize(600, 200)
    composer.show()
    composer.edit.setFocus()
    return composer


@pytest.fixture
def sent(composer):
    messages = []
    composer.submitted.connect(messages.append)
    return messages


def press(composer, key, modifier=Qt.KeyboardModifier.NoModifier, *, repeat=False):
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        event = QKeyEvent(kind, key, modifier, "\r", repeat)
        QApplication.sendEvent(composer.edit, event)


def compose(composer, preedit="", commit=""):
    event = QInputMethodEvent(preedit, [])
    event.setCommitString(commit)
    QApplication.sendEvent(composer.edit, event)


def paste(composer, *, text=None, html=None, urls=(), image=None):
    data = QMimeData()
    if text is not None:
        data.setText(text)
    if html is not None:
        data.setHtml(html)
    if urls:
        data.setUrls([QUrl.fromLocalFile(str(url)) for url in urls])
    if image is not None:
        data.setImageData(image)
    composer.edit.insertFromMimeData(data)


def test_enter_waits_for_the_input_method(composer, sent):
    compose(composer, preedit="nihao")
    press(composer, Qt.Key.Key_Return)
    press(composer, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert sent == []
    compose(composer, commit="你好")
    assert sent == []
    press(composer, Qt.Key.Key_Return)
    assert sent == ["你好"]


def test_a_held_enter_sends_once(composer, sent):
    QTest.keyClicks(composer.edit, "hello")
    press(composer, Qt.Key.Key_Return)
    for _ in range(20):
        press(composer, Qt.Key.Key_Return, repeat=True)
    assert sent == ["hello"]


@pytest.mark.parametrize(
    ("key", "modifier"),
    [
        (Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier),
        (Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier),
        (Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier),
    ],
)
def test_keys_that_send(composer, sent, key, modifier):
    QTest.keyClicks(composer.edit, "hello")
    press(composer, key, modifier)
    assert sent == ["hello"]


def test_shift_enter_begins_a_line(composer, sent):
    QTest.keyClicks(composer.edit, "one")
    press(composer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.edit, "two")
    assert sent == []
    press(composer, Qt.Key.Key_Return)
    assert sent == ["one\ntwo"]


def test_nothing_is_not_sent(composer, sent):
    press(composer, Qt.Key.Key_Return)
    QTest.keyClicks(composer.edit, "   ")
    press(composer, Qt.Key.Key_Return)
    assert sent == []


def test_what_is_typed_while_the_chat_answers_stays(composer, sent):
    refusals = []
    composer.refused.connect(refusals.append)
    composer.set_busy(True)
    QTest.keyClicks(composer.edit, "next")
    press(composer, Qt.Key.Key_Return)
    assert sent == []
    assert composer.text() == "next"
    assert len(refusals) == 1


def test_the_button_is_send_and_then_stop(composer, sent, qtbot):
    stops = []
    composer.stop_requested.connect(lambda: stops.append(True))
    assert not composer.button.isEnabled()
    QTest.keyClicks(composer.edit, "hello")
    assert composer.button.isEnabled()
    assert (composer.button.objectName(), composer.button.accessibleName()) == (
        "sendButton",
        "Send",
    )
    QTest.mouseClick(composer.button, Qt.MouseButton.LeftButton)
    assert sent == ["hello"]
    composer.set_busy(True)
    assert (composer.button.objectName(), composer.button.accessibleName()) == (
        "stopButton",
        "Stop",
    )
    qtbot.waitUntil(lambda: not composer._settling.isActive())
    QTest.mouseClick(composer.button, Qt.MouseButton.LeftButton)
    assert stops == [True]
    assert len(sent) == 1


def test_the_second_half_of_a_double_click_does_nothing(composer, sent, qtbot):
    """It would stop what was just sent, or send what is still being written."""
    stops = []
    composer.stop_requested.connect(lambda: stops.append(True))
    composer.submitted.connect(lambda _: composer.set_busy(True))
    composer.stop_requested.connect(lambda: composer.set_busy(False))
    QTest.keyClicks(composer.edit, "hello")
    for _ in range(10):
        QTest.mouseClick(composer.button, Qt.MouseButton.LeftButton)
    assert (sent, stops) == (["hello"], [])
    qtbot.waitUntil(lambda: not composer._settling.isActive())
    for _ in range(10):
        QTest.mouseClick(composer.button, Qt.MouseButton.LeftButton)
    assert (sent, stops) == (["hello"], [True])
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert len(sent) == 2, "the keyboard has no double click"


def test_an_attachment_can_be_undone_in_its_turn(composer):
    QTest.keyClicks(composer.edit, "ab")
    paste(composer, text="x" * 200_000)
    assert len(composer.attachments()) == 1
    undo = (Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(composer.edit, *undo)
    assert (composer.edit.toPlainText(), len(composer.attachments())) == ("ab", 0)
    paste(composer, text="x" * 200_000)
    QTest.keyClicks(composer.edit, "c")
    QTest.keyClick(composer.edit, *undo)
    assert len(composer.attachments()) == 1
    while composer.edit.document().isUndoAvailable():
        QTest.keyClick(composer.edit, *undo)
    assert (composer.edit.toPlainText(), len(composer.attachments())) == ("", 1)
    QTest.keyClick(composer.edit, *undo)
    assert composer.attachments() == ()


def test_a_draft_that_was_kept_is_not_undone(composer):
    composer.set_text("x" * 200_000)
    QTest.keyClick(composer.edit, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert len(composer.attachments()) == 1


def test_it_grows_to_ten_lines_and_no_further(composer):
    heights = []
    for lines in (1, 2, 5, 10, 30):
        composer.edit.setPlainText("\n".join("x" for _ in range(lines)))
        heights.append(composer.edit.height())
    assert heights[0] < heights[1] < heights[2] < heights[3] == heights[4]
    composer.clear()
    assert composer.edit.height() == heights[0]


@pytest.mark.parametrize(
    ("text", "heavy"),
    [
        ("x" * LONG_LINE, False),
        ("x" * (LONG_LINE + 1), True),
        ("word\n" * (LONG_TEXT // 5), False),
        ("word\n" * (LONG_TEXT // 5 + 1), True),
    ],
)
def test_what_is_too_heavy(text, heavy):
    assert too_heavy(text) is heavy


@pytest.mark.parametrize(
    "text",
    [("word " * 16 + "\n") * 12500, "x" * 1_000_000, "if x: return 1  # comment\n" * 20_000],
    ids=["lines", "one line", "code"],
)
def test_a_huge_paste_becomes_an_attachment_that_is_never_laid_out(composer, sent, text):
    QTest.keyClicks(composer.edit, "look:")
    paste(composer, text=text)
    assert composer.edit.document().characterCount() == len("look:") + 1
    assert composer.attachments() == (text,)
    press(composer, Qt.Key.Key_Return)
    assert sent == ["look:\n\n" + text]
    QTest.keyClicks(composer.edit, "a")
    composer.edit.undo()
    assert composer.attachments() == (text,)


def test_an_attachment_can_be_removed(composer):
    paste(composer, text="x" * 20_000)
    button = composer.findChild(QToolButton, "removeAttachmentButton")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert composer.attachments() == ()
    assert composer.text() == ""
    assert not composer.button.isEnabled()


def test_rich_text_arrives_as_plain_text(composer):
    html = '<table><tr><td>a</td><td>b</td></tr></table><b>bold</b><img src="file:///dev/zero">'
    paste(composer, html=html)
    text = composer.text()
    assert "bold" in text
    assert "<" not in text
    assert {"a", "b"} <= set(text.split())


def test_foreign_line_ends_and_broken_characters_are_made_whole(composer):
    paste(composer, text="one\r\ntwo\rthree\x00")
    assert composer.text() == "one\ntwo\nthree\ufffd"


def test_a_picture_is_refused_with_a_reason(composer):
    reasons = []
    composer.refused.connect(reasons.append)
    paste(composer, image=QImage(4, 4, QImage.Format.Format_RGB32))
    assert composer.text() == ""
    assert reasons == ["Only text and text files can be sent."]


def test_a_copied_file_is_asked_for_and_not_pasted_as_its_name(composer, tmp_path):
    files = []
    composer.files_pasted.connect(files.append)
    path = tmp_path / "notes.txt"
    paste(composer, text=f"file://{path}", urls=[path])
    assert files == [[path]]
    assert composer.text() == ""


def test_reading_a_dropped_file(tmp_path):
    good, binary = tmp_path / "good.txt", tmp_path / "picture.png"
    good.write_bytes("\ufeffGrüße\n".encode())
    binary.write_bytes(b"\x89PNG\0\0")
    assert read_text_file(good) == "Grüße\n"
    with pytest.raises(ValueError, match="not a text file"):
        read_text_file(binary)
    with pytest.raises(ValueError, match="is not a file"):
        read_text_file(tmp_path)


def test_a_heavy_draft_comes_back_as_an_attachment(composer):
    composer.set_text("x" * 50_000)
    assert composer.edit.document().isEmpty()
    assert composer.text() == "x" * 50_000
