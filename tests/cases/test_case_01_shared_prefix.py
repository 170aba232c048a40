"""Case 1: chats with one long system prompt read it once, whether they come after one another or all together."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.chat.models import ChatMessage, Role
from tests.cases.whole import (
    PARAMS,
    RealModel,
    answers,
    open_tabs,
    over,
    pieces,
    put,
    settings,
    until,
    user,
)
from tests.engine.conftest import MakeRig
from tests.gui.desk import Desk
from tests.replaying import moments, read_log, read_with_cuts, replay

pytestmark = pytest.mark.slow

RULES = "".join(f"rule {number}. " for number in range(1, 151))
SPARE = 64
"""Tokens that a chat may read beside its own message."""


def own(model: RealModel, text: str) -> int:
    """Tokens of a message, one for each byte at most."""
    return len(text.encode())


def test_a_second_chat_and_a_branch_read_only_what_is_their_own(
    at_work: Callable[..., None], talker: Path, decode_log: Path, make_rig: MakeRig
) -> None:
    model = RealModel(talker)
    firsts: list[int] = []

    async def scenario(desk: Desk, model: RealModel) -> None:
        first, second = await open_tabs(desk, 2)
        for text in ("one", "and", "more"):
            desk.seen.clear()
            put(first, text)
            await over(desk, first)
        assert model.counters.read > len(RULES)
        before = model.counters.read
        put(second, "two")
        await over(desk, second)
        assert model.counters.read - before <= own(model, "two") + SPARE
        # Branching is done by the API for now: the history up to message 3 of 6, and another one.
        history = [
            ChatMessage(message.role, message.text)
            for message in await desk.store.messages(first.id)
        ]
        assert len(history) == 6
        before = model.counters.read
        told = await model.ask(ChatMessage(Role.SYSTEM, RULES), *history[:2], user("three"))
        assert told.text
        assert model.counters.read - before <= own(model, "three") + SPARE
        firsts.extend(len(submit.tokens) for submit in model.prompts.asked[-2:])

    at_work(scenario, model, current=settings(system_prompt=RULES))

    records = read_log(decode_log)
    facts = {"pool_tokens": PARAMS.pool_tokens, "batch": PARAMS.batch, "most_running": 8}
    outputs = replay(make_rig(talker, **facts).backend, records)
    told = list(zip(moments(records), outputs, strict=True))
    for length in firsts:
        # The last prompt of this length in the log is the one that was asked for last.
        moment, output = [pair for pair in told if len(pair[0].cells) == length][-1]
        fresh = make_rig(talker, **facts)
        logits = read_with_cuts(fresh.backend, moment.tokens, moment.cuts)
        assert len(moment.cuts) > 2
        assert np.array_equal(logits, output[2])


def test_eight_chats_that_begin_together_read_the_common_part_once(
    at_work: Callable[..., None], talker: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        pages = await open_tabs(desk, 8)
        for number, page in enumerate(pages):
            put(page, f"question {number}")
        await over(desk, *pages)
        own_parts = len(pages) * (own(model, "question 0") + SPARE)
        assert model.counters.read <= len(RULES) + own_parts
        for page in pages:
            (answer,) = await answers(desk, page)
            assert answer.usage.completion_tokens == 8

    at_work(scenario, RealModel(talker), current=settings(system_prompt=RULES))


@pytest.mark.model
def test_the_same_with_the_starter_model(at_work: Callable[..., None], starter: Path) -> None:
    model = RealModel(starter, pool_tokens=4096, threads=2)
    rules = RULES[: RULES.index("rule 51. ")]

    async def scenario(desk: Desk, model: RealModel) -> None:
        first, second = await open_tabs(desk, 2)
        put(first, "one")
        await over(desk, first)
        before = model.counters.read
        assert before > 200
        put(second, "two")
        await over(desk, second)
        assert model.counters.read - before <= await model.count_tokens("two") + SPARE
        assert pieces(model).join(model.prompts.asked[1].tokens).decode().count("rule 50. ") == 1
        await until(lambda: "% cached" in desk.window.status.text(), "the share in the status line")

    at_work(scenario, model, current=settings(system_prompt=rules, max_answer_tokens=2))
