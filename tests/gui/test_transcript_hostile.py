"""Texts that want to stop the window, load something, or pass for something else."""

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent, QTextDocument
from PySide6.QtWidgets import QToolTip
from pytestqt.qtbot import QtBot

from app.chat.models import Role, Status
from app.ui.blocks import TextBlock
from app.ui.code import CodeBlock
from app.ui.entry import SLICE
from app.ui.markdown import TAIL_LIMIT
from app.ui.table_block import RowBlock
from app.ui.transcript import Transcript
from tests.gui.transcripts import Chat, chat, find_spot, paint, point_in, stream, view

__all__ = ["chat", "view"]

HUGE = {
    "unbroken": "x" * 1_000_000,
    "angles": "<" * 200_000,
    "table": "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 2_000,
    "brackets": "[" * 50_000,
    "quotes": ">" * 50_000,
    "links": "[a](b) " * 20_000,
    "base64": "QUJD" * 170_000,
    "code": "```\n" + "x = 1\n" * 20_000 + "```\n",
}


@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT])
@pytest.mark.parametrize("kind", HUGE)
def test_huge_inputs_cost_what_is_seen_of_them(
    view: Transcript, chat: Chat, kind: str, role: Role
) -> None:
    """Case 38: few blocks and characters laid out, the copy whole; the same when it is the last open chat."""
    view.set_messages([chat.say(role, HUGE[kind])])
    paint(view)
    counts = view.counts()
    assert counts.laid_out < 60
    assert counts.painted_blocks < 60
    laid_out = [view.block_at(spot) for spot in view.flow.spots]
    characters = sum(block.length for block in laid_out if isinstance(block, TextBlock | RowBlock))
    assert characters <= 4 * 4_000
    view.select_all()
    assert view.selected_text() == HUGE[kind]
    assert sum(len(block._layouts) for block in laid_out if isinstance(block, CodeBlock)) < 150


DENSE = {
    "mixed": "".join(
        f"## H {n}\n\n- **{n}** `code`\n  - [l](/{n})\n\n| a | b |\n|--|--|\n| {n} | 2 |\n\n> quote\n\n"
        for n in range(1_000)
    ),
    "one item": "- x\n\n  ```python\n" + "  return 1\n" * 12_000,
    "one paragraph": "word word word\n" * 12_000,
    "nested": "- x\n" + "  - y\n" * 12_000,
    "definitions": "[a]: /b\n" * 12_000 + "\n[a]\n",
}


@pytest.mark.parametrize("kind", DENSE)
def test_dense_markdown_is_read_in_slices(
    view: Transcript, chat: Chat, qtbot: QtBot, kind: str
) -> None:
    """Case 38: no look at a huge message reads all of it, however it is written; in the end all of it is there."""
    source = DENSE[kind]
    view.set_messages([chat.answer(source)])
    entry = view.flow.entries[0]
    assert entry.is_behind
    flush = view.flush
    reads = []
    while entry.is_behind:
        before = view.counts().parsed
        flush()
        reads.append(view.counts().parsed - before)
    assert max(reads) <= 3 * (SLICE + TAIL_LIMIT)
    assert len(reads) >= len(source) // SLICE
    assert view.following
    view.select_all()
    assert view.selected_text() == source
    assert entry.blocks[-2].place is not None
    assert entry.blocks[-2].place.end >= source.rstrip().count("\n")


def test_the_rest_of_a_huge_message_is_read_by_itself(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    answer = chat.answer(DENSE["mixed"], Status.STREAMING)
    view.set_messages([answer])
    view.update_message(replace(answer, status=Status.DONE))
    entry = view.flow.entries[0]
    assert entry.is_behind
    qtbot.waitUntil(lambda: not entry.is_behind)
    assert entry.foot.verbs


def test_a_link_that_is_defined_after_slices_is_a_link(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    view.set_messages([chat.answer("[late]\n\n" + "word\n\n" * 8_000 + "[late]: https://x.org\n")])
    view.scroll_to_top()
    qtbot.waitUntil(lambda: not view.flow.entries[0].is_behind)
    spot = find_spot(view, lambda block: isinstance(block, TextBlock))
    block = view.block_at(spot)
    assert block.link_at(QPointF(4, block.gap + 8)) == "https://x.org"


def test_a_huge_line_that_streams_costs_only_its_end(view: Transcript, chat: Chat) -> None:
    answer = chat.answer("x" * 21_000, Status.STREAMING)
    view.set_messages([answer])
    before = view.counts()
    stream(view, answer.id, "y" * 50_000, 1_000)
    after = view.counts()
    assert after.parsed == before.parsed
    assert after.laid_out - before.laid_out <= 50 * 4


# --- cases 94 and 95: pictures and addresses ---------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A loopback server that nobody should come to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def test_no_picture_is_fetched(
    view: Transcript, chat: Chat, qtbot: QtBot, server: socket.socket
) -> None:
    port = server.getsockname()[1]
    address = f"http://127.0.0.1:{port}/p?q=SECRET"
    texts = [
        f"![x]({address})\n\n[![y]({address})]({address})",
        f"![ref][r]\n\n[r]: {address}\n",
        f"| a |\n|---|\n| ![x]({address}) |",
        f"<img src={address}>\n\n<table background={address}>\n\n<link rel=stylesheet href={address}>",
        f"![](//127.0.0.1:{port}/x)\n\n<div style='background:url({address})'>\n\n{address}",
    ]
    view.set_messages(
        [chat.say(role, text) for text in texts for role in (Role.ASSISTANT, Role.USER)]
    )
    paint(view)
    for spot in view.flow.spots:
        qtbot.mouseMove(view.viewport(), point_in(view, spot, 20, 20))
    view.select_all()
    view.copy()
    shown = view.plain_text()
    assert shown.count(f"127.0.0.1:{port}") >= 10
    with pytest.raises(BlockingIOError):
        server.accept()


def test_no_local_file_is_opened(view: Transcript, chat: Chat, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    addresses = [
        "file:///dev/zero",
        "/dev/random",
        f"file://{pipe}",
        str(pipe),
        "file:///srv/u/secret.png",
        "\\\\\\\\host\\s\\a.png",
        "file://host/s/a.png",
        "qrc:/x.png",
    ]
    view.set_messages(
        [
            chat.say(role, "\n\n".join(f"![x]({a})" for a in addresses))
            for role in (Role.ASSISTANT, Role.USER)
        ]
    )
    paint(view)
    with pytest.raises(OSError, match="No such device"):  # nobody reads the pipe
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    for address in (
        "file:///dev/zero",
        "/dev/random",
        str(pipe),
        "qrc:/x.png",
        "file://host/s/a.png",
    ):
        assert address in view.plain_text()
    assert view.findChildren(QTextDocument) == []


def test_a_picture_inside_the_text_is_bounded(view: Transcript, chat: Chat) -> None:
    view.set_messages(
        [chat.answer(f"before\n\n![x](data:image/png;base64,{'A' * 5_000_000})\n\nafter")]
    )
    paint(view)
    assert view.counts().laid_out < 40
    short = f"![x](data:image/png;base64,{'A' * 2_000})"
    view.set_messages([chat.answer(short)])
    assert len(view.plain_text()) < 400


# --- case 100: markup in places that are not messages ------------------------------------------------------------


def test_an_error_text_is_shown_literally_and_bounded(view: Transcript, chat: Chat) -> None:
    error = '<b>x</b><img src="file:///dev/zero"> AT&T &File \u202e' + "y" * 10_000
    view.set_messages([chat.answer("", Status.FAILED, error=error)])
    shown = view.plain_text()
    assert '<b>x</b><img src="file:///dev/zero"> AT&T &File ' in shown
    assert "\u202e" not in shown
    assert len(shown) < 700


@pytest.mark.qt_log_ignore("This plugin does not support raise")
def test_the_tool_tip_of_a_link_is_not_read_as_markup(
    view: Transcript, chat: Chat, qtbot: QtBot
) -> None:
    view.set_messages([chat.answer("[ok](https://example.org/a&lt;b>x?p=1&amp;q=2)\n\nplain")])
    at = point_in(view, view.flow.spots[1], 5, 10)
    help_event = QHelpEvent(QEvent.Type.ToolTip, at, view.viewport().mapToGlobal(at))
    QCoreApplication.sendEvent(view.viewport(), help_event)
    qtbot.waitUntil(QToolTip.isVisible)
    assert QToolTip.text() == "<span>https://example.org/a%3Cb%3Ex?p=1&amp;q=2</span>"
    QToolTip.hideText()


# --- case 41: right to left --------------------------------------------------------------------------------------

RIGHT = [
    "افتح الملف report.txt ثم شغّل make test (مرتين).",
    "הרץ את `ls -la` ואז פתח (קובץ) 3.5",
    "(קובץ) first",
]
LEFT = ["An English answer with one word שלום in it", "123 file", "report.txt ואז"]


@pytest.mark.parametrize("text", [*RIGHT, *LEFT])
def test_a_paragraph_runs_as_its_first_strong_letter(
    view: Transcript, chat: Chat, text: str
) -> None:
    view.set_messages([chat.answer(text), chat.user(text)])
    for spot in (spot for spot in view.flow.spots if isinstance(view.block_at(spot), TextBlock)):
        block = view.block_at(spot)
        assert isinstance(block, TextBlock)
        assert block.right_to_left == (text in RIGHT)
        width = view.column()[1]
        at_edge = block.covers_text(
            point_in(view, spot, width - 3, 10) - point_in(view, spot, 0, 0)
        )
        assert at_edge == (text in RIGHT)
        assert block.visible().replace("`", "") == text.replace("`", "")


def test_lists_and_tables_turn_round_and_code_does_not(view: Transcript, chat: Chat) -> None:
    view.set_messages(
        [
            chat.answer(
                "- أولاً\n- ثانياً\n- ثالثاً\n\n| שם | ערך |\n|---|---|\n| א | ב |\n\n```\nls # תיקייה\n```\n"
            )
        ]
    )
    rows = [b for b in map(view.block_at, view.flow.spots) if isinstance(b, RowBlock)]
    assert [row.columns.right_to_left for row in rows] == [True, True]
    lefts = [x for x, _, _ in rows[1]._lefts()]
    assert lefts == sorted(lefts, reverse=True)
    code = view.block_at(find_spot(view, lambda block: isinstance(block, CodeBlock)))
    assert isinstance(code, CodeBlock)
    assert code._layout(0).textOption().textDirection() == Qt.LayoutDirection.LeftToRight
    assert code.hit(QPoint(0, code.gap + 40).toPointF()) == 0


def test_the_cursor_goes_through_mixed_text_without_jumping_out(
    view: Transcript, chat: Chat
) -> None:
    view.set_messages([chat.answer(RIGHT[1])])
    spot = find_spot(view, lambda block: isinstance(block, TextBlock))
    block = view.block_at(spot)
    width = view.column()[1]
    places = [block.hit(QPoint(x, 10).toPointF()) for x in range(0, width, 2)]
    assert set(places) <= set(range(block.length + 1))
    assert max(places) >= block.length - 1
    assert min(places) <= 1
