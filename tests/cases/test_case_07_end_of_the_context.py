"""Case 7: prompts that end around the end of the context, with answers that know no other end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.chat.models import FinishReason, Status
from tests.cases.whole import RealModel, answers, open_tabs, over, put, settings, until
from tests.gui.desk import Desk
from tests.replaying import read_log

pytestmark = pytest.mark.slow

CONTEXT = 512
LENGTHS = range(500, 514)


async def frame(desk: Desk, model: RealModel) -> int:
    """The tokens of a prompt around a message of one letter each a token."""
    desk.preferences.update(max_answer_tokens=1)
    put(desk.front, "a" * 40)
    await over(desk, desk.front)
    desk.preferences.update(max_answer_tokens=0)
    return len(model.prompts.asked[-1].tokens) - 40


def test_every_length_up_to_the_end_and_beyond(
    at_work: Callable[..., None], talker: Path, decode_log: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        assert model.state.context_tokens == CONTEXT
        around = await frame(desk, model)
        pages = await open_tabs(desk, 1 + len(LENGTHS))
        for length, page in zip(LENGTHS, pages[1:], strict=True):
            put(page, "a" * (length - around))
            await over(desk, page)
            (answer,) = await answers(desk, page)
            if length >= CONTEXT:
                assert answer.status is Status.FAILED
                assert str(CONTEXT) in answer.error
                continue
            assert (answer.status, answer.finish) == (Status.DONE, FinishReason.LENGTH)
            assert answer.usage.prompt_tokens == length
            assert answer.usage.completion_tokens == len(answer.text) == CONTEXT - length
            assert "Context full" in page.transcript.plain_text()
        await until(lambda: model.status.running == 0, "an idle engine")

    at_work(scenario, RealModel(talker, pool_tokens=CONTEXT), current=settings())
    assert last_position(decode_log) == CONTEXT - 2, "the last token is not evaluated any more"


def test_two_at_once_end_whole(
    at_work: Callable[..., None], talker: Path, decode_log: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        around = await frame(desk, model)
        _, *pages = await open_tabs(desk, 3)
        for page in pages:
            put(page, "a" * (490 - around))
        await over(desk, *pages)
        for page in pages:
            (answer,) = await answers(desk, page)
            assert (answer.status, answer.finish) == (Status.DONE, FinishReason.LENGTH)
            assert len(answer.text) == CONTEXT - 490
        await until(lambda: model.status.running == 0, "an idle engine")
        assert model.counters.cells_used == model.counters.cells_kept

    at_work(scenario, RealModel(talker, pool_tokens=CONTEXT), current=settings())
    assert last_position(decode_log) == CONTEXT - 2


def last_position(log: Path) -> int:
    """The highest position that was ever evaluated."""
    calls = [record["decode"] for record in read_log(log) if "decode" in record]
    return max(max(call["positions"]) for call in calls)
