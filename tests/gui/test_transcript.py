"""What the transcript shows and offers."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.chat.models import FinishReason, Status, Usage
from app.ui import theme
from app.ui.actions import ActionButton
from app.ui.blocks import TextBlock
from app.ui.code import CodeBlock
from app.ui.message_frame import FootBlock, fitting
from app.ui.transcript import Transcript
from tests.gui.transcripts import Chat, chat, find_spot, painted_anew, point_in, view

__all__ = ["chat", "view"]


def buttons(view: Transcript, name: str) -> list[ActionButton]:
    return [button for button in view.action_buttons() if button.objectName() == name]


def revealed(view: Transcript, name: str) -> list[bool]:
    return [bool(button.wanted and button.wanted.revealed) for button in buttons(view, name)]


def test_names_for_checks_and_readers(view: Transcript) -> None:
    assert view.objectName() == "transcript"
    assert view.accessibleName() == "Transcript"
    assert view.focusPolicy() == Qt.FocusPolicy.StrongFocus


def test_messages_are_shown_in_order(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.user("Hi <b>you</b>"), chat.answer("**Hello** `x`")])
    assert view.plain_text() == "You\nHi <b>you</b>\n\nTutti\nHello x"
    view.add_message(chat.user("more"))
    assert view.plain_text().endswith("You\nmore")
    view.remove_from(2)
    assert view.plain_text() == "You\nHi <b>you</b>"
    view.set_messages([])
    assert view.plain_text() == ""


def test_text_is_the_same_streamed_and_opened_again(view: Transcript, chat: Chat) -> None:
    source = (
        "use <div> & <span>\n\n1. a List<String> x\n2. `<b>`\n\n<!-- hi -->\n\n&lt;b&gt; &copy;\n"
    )
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    for character in source:
        view.append_text(answer.id, character)
        view.flush()
    streamed = view.plain_text()
    view.set_messages([chat.answer(source)])
    assert view.plain_text() == streamed
    for part in ("use <div> & <span>", "a List<String> x", "<b>", "<!-- hi -->", "<b> ©"):
        assert part in streamed


def test_characters_cut_into_bytes_arrive_whole(view: Transcript, chat: Chat) -> None:
    text = "你发龍 é e\u0301 😀 👨‍👩‍👧‍👦 🇫🇷 ガ نص עברית"
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    for character in text:
        view.append_text(answer.id, character)
    view.flush()
    assert text in view.plain_text()
    assert "\ufffd" not in view.plain_text()


def test_a_streaming_answer_without_text_says_so(view: Transcript, chat: Chat) -> None:
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    assert view.plain_text() == "Tutti\n…"
    view.append_text(answer.id, "word")
    view.flush()
    assert view.plain_text() == "Tutti\nword"
    assert view.action_buttons() == []


@pytest.mark.parametrize(
    ("status", "text", "error", "shown"),
    [
        (Status.STOPPED, "half", "", "Stopped"),
        (
            Status.INTERRUPTED,
            "half",
            "",
            "Interrupted: Tutti ended while this answer was being written.",
        ),
        (Status.FAILED, "", "The engine died. Press Retry.", "The engine died. Press Retry."),
        (Status.DONE, " \n", "", "Empty answer: the model ended without writing anything."),
    ],
)
def test_a_broken_answer_says_why_and_offers_retry(
    view: Transcript, chat: Chat, qtbot: QtBot, status: Status, text: str, error: str, shown: str
) -> None:
    view.set_messages([chat.user("q"), chat.answer(text, status, error=error)])
    assert shown in view.plain_text()
    (retry,) = buttons(view, "retryButton")
    assert retry.accessibleName() == "Retry answer"
    assert revealed(view, "retryButton") == [True]
    with qtbot.waitSignal(view.retryRequested) as caught:
        qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
    assert caught.args == [2]


def test_figures_and_actions_of_a_finished_answer(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    usage = Usage(prompt_tokens=530, completion_tokens=381, cached_tokens=412)
    view.set_messages([chat.user("q"), chat.answer("text", usage=usage, seconds=12.3)])
    assert "31 tok/s · 12.3 s · 412 of 530 from cache" in view.plain_text()
    (regenerate,) = buttons(view, "regenerateButton")
    with qtbot.waitSignal(view.regenerateRequested) as caught:
        qtbot.mouseClick(regenerate, Qt.MouseButton.LeftButton)
    assert caught.args == [2]
    (copy,) = buttons(view, "copyAnswer")
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "text"
    assert copy.text() == "Copied"


def test_an_answer_at_its_length_limit_says_so(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("text", finish=FinishReason.LENGTH)])
    assert "greatest length" in view.plain_text()


def test_finishing_shows_state_and_figures(view: Transcript, chat: Chat) -> None:
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    view.append_text(answer.id, "Some text")
    done = chat.answer("Some text", usage=Usage(10, 20, 5), seconds=2.0)
    view.update_message(type(done)(**{**facts(done), "id": answer.id}))
    assert view.plain_text() == "Tutti\nSome text\n10 tok/s · 2.0 s · 5 of 10 from cache"
    assert len(buttons(view, "regenerateButton")) == 1


def facts(message: object) -> dict[str, object]:
    return {name: getattr(message, name) for name in message.__slots__}  # type: ignore[attr-defined]


def test_a_final_text_that_differs_replaces_what_was_streamed(view: Transcript, chat: Chat) -> None:
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    view.append_text(answer.id, "- one\n- two\n\n|a|b|\n|-|-|\n|1|2|\n")
    view.flush()
    view.update_message(
        type(answer)(**{**facts(answer), "text": "other", "status": Status.STOPPED})
    )
    assert view.plain_text() == "Tutti\nother\nStopped"


def test_a_link_defined_at_the_end_is_drawn_as_a_link(view: Transcript, chat: Chat) -> None:
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    view.append_text(answer.id, "see [this][x] please\n\nmore\n\n")
    view.flush()
    assert "[this][x]" in view.plain_text()
    source = "see [this][x] please\n\nmore\n\n[x]: https://example.org\n"
    view.update_message(type(answer)(**{**facts(answer), "text": source, "status": Status.DONE}))
    assert "see this please" in view.plain_text()


def test_actions_show_for_the_last_answer_under_the_mouse_and_with_the_focus(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    view.set_messages([chat.answer("one"), chat.user("q"), chat.answer("two")])
    assert revealed(view, "copyAnswer") == [False, True]
    first = view.flow.spots[1]
    qtbot.mouseMove(view.viewport(), point_in(view, first, 20, 10))
    qtbot.waitUntil(lambda: revealed(view, "copyAnswer") == [True, True])
    qtbot.mouseMove(view.viewport(), point_in(view, view.flow.spots[4], 20, 10))
    qtbot.waitUntil(lambda: revealed(view, "copyAnswer") == [False, True])
    buttons(view, "copyAnswer")[0].setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(lambda: revealed(view, "copyAnswer") == [True, True])
    view.setFocus()
    qtbot.waitUntil(lambda: revealed(view, "copyAnswer") == [False, True])


def test_only_the_last_message_can_be_written_anew(view: Transcript, chat: Chat) -> None:
    chat.user("one")
    chat.answer("half", Status.STOPPED)
    chat.user("two")
    chat.answer("whole")
    chat.user("three")
    view.set_messages(chat.made)
    assert buttons(view, "retryButton") == buttons(view, "regenerateButton") == []
    assert len(buttons(view, "copyAnswer")) == 2
    view.add_message(chat.answer("whole"))
    assert len(buttons(view, "regenerateButton")) == 1
    view.update_message(replace(chat.made[-1], status=Status.STOPPED))
    assert buttons(view, "regenerateButton") == []
    assert len(buttons(view, "retryButton")) == 1


def test_the_focus_of_a_button_that_leaves_the_view_goes_to_the_transcript(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    view.set_messages([chat.answer("```\nx\n```\n\n```\ny\n```\n\n" + "para\n\n" * 100)])
    view.scroll_to_top()
    first = buttons(view, "copyCode")[0]
    first.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(first.hasFocus)
    view.scroll_by(2_000)
    assert view.action_buttons() == []
    qtbot.waitUntil(view.hasFocus)
    view.scroll_to_top()
    assert len(buttons(view, "copyCode")) == 2


def test_copying_code_gives_the_block_exactly(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    view.set_messages(
        [chat.answer("- item\n  ```py\n  x = 1\n\n    y = 2\n  ```\n\n~~~\n```\n~~~\nend")]
    )
    copies = buttons(view, "copyCode")
    assert [button.accessibleName() for button in copies] == ["Copy code"] * 2
    taken = []
    for button in copies:
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        taken.append(QGuiApplication.clipboard().text())
    assert taken == ["x = 1\n\n  y = 2\n", "```\n"]


def test_code_is_coloured_once_its_block_is_complete(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    answer = chat.answer("", Status.STREAMING)
    view.set_messages([answer])
    view.append_text(answer.id, "```python\ndef f():\n    return 'x'\n")
    view.flush()
    spot = find_spot(view, lambda block: isinstance(block, CodeBlock))
    plain = painted_anew(view)
    view.append_text(answer.id, "```\n\nafter\n")
    view.flush()
    block = view.block_at(spot)
    assert isinstance(block, CodeBlock)
    qtbot.waitUntil(lambda: not block.wants_colours())
    coloured = painted_anew(view)
    area = view.spot_rect(spot).adjusted(80, 40, -200, -4)
    assert plain.copy(area) != coloured.copy(area)
    assert view.plain_text() == "Tutti\ndef f():\n    return 'x'\nafter"


def test_the_palette_is_followed_at_run_time(
    view: Transcript, chat: Chat, qtbot: QtBot, qapp: QApplication
) -> None:
    view.set_messages([chat.user("q"), chat.answer("**text** `code`\n\n```\nx = 1\n```\n")])
    light = painted_anew(view)
    assert light.pixelColor(5, 5).name().upper() == theme.LIGHT.ground
    theme.apply(qapp, "dark")
    qtbot.waitUntil(lambda: ground_of(view) == theme.DARK.ground)
    assert painted_anew(view) != light
    theme.apply(qapp, "light")
    qtbot.waitUntil(lambda: ground_of(view) == theme.LIGHT.ground)
    qtbot.waitUntil(lambda: painted_anew(view) == light)


def ground_of(view: Transcript) -> str:
    return painted_anew(view).pixelColor(5, 5).name().upper()


def test_links_are_reported_and_only_web_links(view: Transcript, chat: Chat, qtbot: QtBot) -> None:
    view.set_messages(
        [chat.answer("[one](https://example.org/a)\n\n[two](mailto:x@y.z)\n\n[three](/etc/passwd)")]
    )
    opened: list[str] = []
    view.linkActivated.connect(opened.append)
    for spot in view.flow.spots:
        if isinstance(view.block_at(spot), TextBlock):
            block = view.block_at(spot)
            at = point_in(view, spot, 8, block.gap + 10)
            qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert opened == ["https://example.org/a"]


def test_the_foot_of_a_message_knows_its_row(view: Transcript, chat: Chat) -> None:
    view.set_messages([chat.answer("text")])
    spot = find_spot(view, lambda block: isinstance(block, FootBlock))
    (copy,) = buttons(view, "copyAnswer")
    assert view.spot_rect(spot).contains(copy.geometry())


def test_figures_give_way_to_the_buttons(qapp: QApplication) -> None:
    font, figures = theme.body_font(theme.SMALL_PX), "31 tok/s · 0.2 s · 412 of 900 from cache"
    width = QFontMetrics(font).horizontalAdvance(figures)
    assert fitting(figures, width, font) == figures
    assert fitting(figures, width - 1, font) == "0.2 s · 412 of 900 from cache"
    assert fitting(figures, width // 4, font) == ""
