"""Whatever happens in whatever order, the screen shows what a full paint would, and the sums of heights agree."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.chat.models import Message, Status
from app.ui.selection import Position
from app.ui.transcript import Transcript
from tests.gui.transcripts import Chat, answer_of, chat, on_screen, painted_anew, view, wheel

__all__ = ["chat", "view"]

PIECES = (
    "word ", "\n", "\n\n", "- item\n", "1. one\n", "> quote\n", "```py\n", "x = 1\n", "```\n", "|a|b|\n|-|-|\n",
    "| cell | other |\n", "# head\n", "---\n", "**b", "** `c` ", "[x]: /u\n", "[x] ", "אבג ", "x" * 300, answer_of(200),
)  # fmt: skip


class Acts:
    """Random acts on a view; each name is a thing that may happen."""

    def __init__(self, view: Transcript, chat: Chat, seed: int) -> None:
        self.view, self.chat, self.random = view, chat, random.Random(seed)
        self.writing: Message | None = None

    def append(self) -> None:
        if self.writing is not None:
            self.view.append_text(self.writing.id, "".join(self.random.choices(PIECES, k=4)))
            if self.random.random() < 0.8:
                self.view.flush()

    def scroll(self) -> None:
        self.view.scroll_by(self.random.randint(-400, 400))

    def turn_wheel(self) -> None:
        wheel(self.view, self.random.choice([-1, 1, 2]))

    def begin(self) -> None:
        self.writing = self.chat.answer("", Status.STREAMING)
        self.view.add_message(self.writing)

    def ask(self) -> None:
        self.view.add_message(
            self.chat.user(self.random.choice(["short", "long\n" * 20, "```\nx\n```"]))
        )

    def finish(self) -> None:
        if self.writing is not None:
            text = self.random.choice(["", "short", answer_of(900)])
            status = self.random.choice([Status.DONE, Status.FAILED, Status.STREAMING])
            self.view.update_message(replace(self.writing, text=text, status=status, error="why"))

    def resize(self) -> None:
        self.view.resize(self.random.choice([400, 900, 1000]), self.random.choice([200, 300, 700]))

    def hide_and_show(self) -> None:
        self.view.hide()
        self.append()
        self.view.show()

    def select(self) -> None:
        if self.view.flow.spots:
            start, end = self.random.choices(self.view.flow.spots, k=2)
            self.view.selection.begin(Position(start.entry, start.block, 2))
            self.view.selection.extend(Position(end.entry, end.block, 9))
            self.view.viewport().update()

    def remove(self) -> None:
        entries = self.view.flow.entries
        if len(entries) > 3 and self.random.random() < 0.3:
            gone = self.random.choice(entries[2:]).message.id
            self.view.remove_from(gone)
            if self.writing is not None and self.writing.id >= gone:
                self.writing = None

    def drag_bar(self) -> None:
        bar = self.view.verticalScrollBar()
        bar.setValue(self.random.randint(0, bar.maximum()))

    def any(self) -> Callable[[], None]:
        rare = [
            self.turn_wheel,
            self.begin,
            self.ask,
            self.finish,
            self.resize,
            self.select,
            self.remove,
        ]
        return self.random.choice(
            [self.append] * 8 + [self.scroll] * 4 + [*rare, self.drag_bar, self.hide_and_show]
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_screen_is_always_right(view: Transcript, chat: Chat, qtbot: QtBot, seed: int) -> None:
    view.set_messages(chat.history(3))
    acts = Acts(view, chat, seed)
    acts.begin()
    for _ in range(60):
        acts.any()()
        qtbot.waitUntil(lambda: on_screen(view) == painted_anew(view))
        view.selected_text()
        assert view.flow.total == sum(entry.height for entry in view.flow.entries)
        assert view.flow.alive <= 160 + len(view.flow.spots)


def test_a_message_that_shrinks_above_the_anchor_is_survived(view: Transcript, chat: Chat) -> None:
    answer = chat.answer("para\n\n" * 100, Status.STREAMING)
    view.set_messages([answer])
    view.scroll_by(-500)
    view.selection.begin(Position(0, 90, 0))
    view.selection.extend(Position(0, 95, 1))
    view.update_message(replace(answer, text="short", status=Status.DONE))
    assert view.plain_text() == "Tutti\nshort"
    assert view.selected_text() == ""
    assert on_screen(view) == painted_anew(view)
