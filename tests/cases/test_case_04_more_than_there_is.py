"""Case 4: all tabs together need more of the pool than there is; each is answered, whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.chat.models import FinishReason, Status
from tests.cases.whole import RealModel, answers, open_tabs, over, put, settings, until
from tests.gui.desk import Desk

pytestmark = pytest.mark.slow

POOL = 2048
LENGTH = 600


async def nothing_is_held(desk: Desk, model: RealModel) -> None:
    """Afterwards only idle chats hold cells, and a new chat is answered."""
    await until(lambda: model.status.running == 0, "an idle engine")
    assert model.counters.cells_used == model.counters.cells_kept
    count = len(desk.tabs)
    *_, page = await open_tabs(desk, count + 1)
    desk.seen.clear()
    put(page, "hi")
    await over(desk, page)
    (answer,) = await answers(desk, page)
    assert answer.status is Status.DONE


def test_six_long_answers_in_a_pool_for_three(at_work: Callable[..., None], talker: Path) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        assert model.state.pool_tokens == POOL
        pages = await open_tabs(desk, 6)
        for page in pages:
            put(page, "Count upwards from 1.")
        await over(desk, *pages)
        assert len(pages) * LENGTH > POOL
        assert model.counters.parked > 0
        for page in pages:
            (answer,) = await answers(desk, page)
            assert (answer.status, answer.finish) == (Status.DONE, FinishReason.LENGTH)
            assert answer.usage.completion_tokens == LENGTH == len(answer.text)
            assert answer.error == ""
        await nothing_is_held(desk, model)

    model = RealModel(talker, pool_tokens=POOL)
    at_work(scenario, model, current=settings(max_answer_tokens=LENGTH))


def test_one_chat_that_fills_the_pool_and_a_new_one(
    at_work: Callable[..., None], talker: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        large, small = await open_tabs(desk, 2)
        put(large, "a" * 1880)
        await until(lambda: desk.chat.turn(large.id).written > 5, "the large one writes")
        put(small, "Count upwards from 1.")
        await over(desk, large, small)
        (long,), (short,) = await answers(desk, large), await answers(desk, small)
        assert (long.status, short.status) == (Status.DONE, Status.DONE)
        assert long.usage.prompt_tokens > 1880
        assert long.usage.prompt_tokens + long.usage.completion_tokens == POOL
        assert short.usage.completion_tokens == LENGTH
        await nothing_is_held(desk, model)

    model = RealModel(talker, pool_tokens=POOL)
    at_work(scenario, model, current=settings(max_answer_tokens=LENGTH))
