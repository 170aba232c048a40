"""Case 37: a long answer in a long chat, many tabs open, four streaming: what is drawn grows in step with the text."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from app.chat.events import ChatEvent, TextAppended
from app.chat.models import Role, Status
from app.chat.ports import Text
from app.ui.chat_tab import ChatTab
from app.ui.transcript import ViewCounts
from tests.cases.whole import open_tabs, over, put, settings, until
from tests.fakes import FakeGenerator
from tests.gui.desk import Desk
from tests.gui.transcripts import answer_of

pytestmark = pytest.mark.slow

OLDER = 500
TABS = 30
STREAMS = 4
SIZE = 48_000
PIECE = 16
REDRAWS = 30
"""The most redraws in a second."""
MOST_BLOCKS = 20
"""As many are in view."""


@dataclass
class Halves:
    """What the view in front had done at the beginning, at half of its answer, and at the end."""

    page: ChatTab
    received: int = 0
    half: ViewCounts | None = None

    def hear(self, event: ChatEvent) -> None:
        if isinstance(event, TextAppended) and event.conversation_id == self.page.id:
            self.received += len(event.text)
            if self.half is None and self.received >= SIZE // 2:
                self.page.transcript.flush()
                self.half = self.page.transcript.counts()


def test_the_second_half_costs_what_the_first_did(with_desk: Callable[..., None]) -> None:
    text = answer_of(SIZE)
    script = [Text(text[at : at + PIECE]) for at in range(0, SIZE, PIECE)]

    async def scenario(desk: Desk) -> None:
        front = desk.front
        for number in range(OLDER // 2):
            await desk.store.add_message(front.id, Role.USER, f"question {number}", Status.DONE)
            await desk.store.add_message(front.id, Role.ASSISTANT, answer_of(300), Status.DONE)
        await front.load()
        pages = await open_tabs(desk, TABS)
        desk.window.tabs.setCurrentWidget(front)
        before = {page.id: page.transcript.counts() for page in pages}
        halves = Halves(front)
        desk.chat.subscribe(halves.hear)
        began = time.monotonic()
        streaming = (front, *pages[-STREAMS + 1 :])
        for page in streaming:
            put(page, "go")
        await over(desk, *streaming)
        front.transcript.flush()
        seconds = time.monotonic() - began
        start, half, end = before[front.id], halves.half, front.transcript.counts()
        assert half is not None
        assert end.parsed - start.parsed >= SIZE
        # There are at most 30 redraws a second, and what one costs does not depend on the length of the answer.
        assert end.flushes - start.flushes <= REDRAWS * seconds + 4
        assert half.parsed - start.parsed < 1.2 * (end.parsed - half.parsed)
        assert end.parsed - half.parsed < 1.2 * (half.parsed - start.parsed)
        for one, other in ((start, half), (half, end)):
            redraws = other.flushes - one.flushes
            assert other.laid_out - one.laid_out <= MOST_BLOCKS * (redraws + 2)
            assert other.painted_blocks - one.painted_blocks <= MOST_BLOCKS * (redraws + 2)
        # The other 500 messages were not touched, and those who stream behind only took notes.
        assert end.opened - start.opened <= 2
        for page in streaming[1:]:
            assert page.transcript.counts().laid_out == before[page.id].laid_out
        for page in streaming:
            desk.window.tabs.setCurrentWidget(page)
            await until(
                lambda page=page: (
                    page.transcript.message_text(-1).count("Some words") == text.count("Some words")
                ),
                "the whole answer",
            )

    with_desk(scenario, generator=FakeGenerator([script]), current=settings(max_answer_tokens=0))
