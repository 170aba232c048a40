"""A megabyte of text is counted while typing, and sent, while another chat writes: that goes on, and so does the window."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.chat.models import ChatMessage, Role
from app.wire import LoadParams
from tests.scripted_children import begin
from tests.soak.doors import ask, opened
from tests.soak.siege import percentile
from tests.soak.trace import Trace
from tests.soak.witness import Witness

pytestmark = pytest.mark.soak

SIZE = 1_000_000
TEXTS = {
    "prose": "It was late, and the ships had gone. ",
    "tags": "<",
    "page": '<div class="a"><p>One &amp; two</p></div>\n',
    "data": '{"name": "value", "numbers": [1, 22, 333]},',
    "han": "从前有一座山，山里有一座庙。",
    "one word": "a",
}
"""Numbered when they are repeated, for what was counted just before is not counted again."""

PARAMS = LoadParams("", pool_tokens=4096, sequences=4, batch=256, threads=2, spill_bytes=8 << 20)
MOST_SLOWER = 3.0
"""As beside hostile inputs: 99 of 100 steps by the median of those without company."""
MOST_STALL = 0.05
"""Seconds for which the loop, which in the app is the window's, may stand still."""


@dataclass
class Ticks:
    """How late the loop comes to what is due every few milliseconds."""

    worst: float = 0.0

    async def go_on(self) -> None:
        while True:
            due = time.perf_counter() + 0.005
            await asyncio.sleep(0.005)
            self.worst = max(self.worst, time.perf_counter() - due)


def megabyte(piece: str) -> str:
    times = SIZE // len(piece.encode()) + 1
    each = max(1, times // 10_000)
    text = "".join(f"{piece * each}{number}" for number in range(times // each + 1))
    return text.encode()[:SIZE].decode(errors="ignore")


def test_a_megabyte_holds_up_nobody(
    starter: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    trace = Trace(tmp_path / "trace.txt")
    lines: list[str] = []

    async def scenario() -> None:
        async with opened(starter, trace, PARAMS) as (model, house):
            witness = Witness(model, house, letters=False)
            for _ in range(2):
                await witness.answer()
            alone = percentile(witness.take_times().own, 0.5)
            for name, piece in TEXTS.items():
                text = megabyte(piece)
                ticks = Ticks()
                clock = begin(ticks.go_on())
                with witness.going_on():
                    began = time.monotonic()
                    tokens = await model.count_tokens(text)
                    counted = time.monotonic() - began
                    outcome = await ask(model, (ChatMessage(Role.USER, text),))
                    sent = time.monotonic() - began - counted
                clock.cancel()
                own = witness.take_times().own
                late = percentile(own, 0.99)
                lines.append(
                    f"{name}: {tokens:,} tokens counted in {counted:.2f} s, refused in {sent:.2f} s; "
                    f"{len(own)} steps, p99 {late * 1e3:.1f} ms, {late / alone:.2f} of {alone * 1e3:.1f}; "
                    f"the loop at most {ticks.worst * 1e3:.0f} ms late"
                )
                assert "tokens" in outcome.words, outcome
                assert not outcome.problem
                assert late <= MOST_SLOWER * alone, lines[-1]
                assert ticks.worst <= MOST_STALL, lines[-1]
            assert not witness.faults

    try:
        asyncio.run(scenario())
    finally:
        trace.close()
        pytestconfig.get_terminal_writer().line("\n" + "\n".join(lines))
