"""Case 11: a long prompt is read beside a stream, which stands still for no step of it; a short one overtakes it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.chat.models import TabState
from app.engine.scheduler import Pace
from tests.cases.whole import RealModel, answers, open_tabs, over, put, settings, until
from tests.gui.desk import Desk
from tests.replaying import read_log

pytestmark = pytest.mark.slow

LONG = 2_000
STEPS = -(-LONG // Pace().floor) + 20
"""With the smallest chunk that there is; how large it is really, depends on what a step costs on this machine."""


def rows_of(call: dict[str, Any], sequence: int) -> int:
    return int(call["sequences"].count(sequence))


def test_the_stream_goes_on_in_every_step_and_the_short_one_comes_first(
    at_work: Callable[..., None], talker: Path, decode_log: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        desk.preferences.update(max_answer_tokens=0)
        first = desk.front
        put(first, "go on")
        await until(lambda: desk.chat.turn(first.id).written > 20, "the stream")
        desk.preferences.update(max_answer_tokens=8)
        long, short = (await open_tabs(desk, 3))[1:]
        prompts = model.prompts
        prompts.held = lambda submit: submit.max_tokens == 8 and len(submit.tokens) < LONG
        put(short, "hi")
        await until(lambda: prompts.waiting, "the short prompt's tokens")
        put(long, "b" * LONG)
        await until(lambda: desk.chat.turn(long.id).state is TabState.READING, "the long read")
        prompts.release()
        await over(desk, long, short)
        assert desk.chat.turn(first.id).busy, "the stream ended too early to be disturbed"
        desk.chat.stop(first.id)
        await over(desk, first)
        for page in (long, short):
            (answer,) = await answers(desk, page)
            assert answer.usage.completion_tokens == 8
        await until(lambda: model.status.running == 0, "an idle engine")

    model = RealModel(talker, pool_tokens=16_384, batch=32)
    at_work(scenario, model, current=settings())
    calls = [record["decode"] for record in read_log(decode_log) if "decode" in record]
    stream = calls[0]["sequences"][0]
    long, begun = next(
        (name, index)
        for index, call in enumerate(calls)
        for name in set(call["sequences"])
        if name != stream and call["tokens"].count(ord("b")) >= Pace().floor
    )
    reading = [call for call in calls[begun:] if rows_of(call, long) > 1]
    last = calls.index(reading[-1])
    assert all(rows_of(call, stream) == 1 for call in calls[begun : last + 1])
    assert len(reading) <= STEPS
    others = [
        index
        for index, call in enumerate(calls[begun:], begun)
        for row, name in enumerate(call["sequences"])
        if name not in (stream, long) and call["outputs"][row]
    ]
    assert others[0] < last, "the short one waited for the long one"
