"""Case 2: eight tabs with a word each, cancelled and asked again at random; no word comes into another's prompt."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from app.chat.models import Status
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
)
from tests.engine.conftest import MakeRig
from tests.gui.desk import Desk
from tests.replaying import (
    assert_same_bits,
    family,
    moments,
    read_log,
    replay,
    swapped,
    used_cells,
)

pytestmark = pytest.mark.slow

WORDS = ("zebra", "quartz", "violin", "mango", "harbour", "pencil", "tundra", "oboe")
ROUNDS = 20
CALLS = 900
"""Records of the log that are done again."""


def words_in(text: str) -> set[str]:
    return {word for word in WORDS if word in text}


@pytest.mark.parametrize(
    ("pool", "rounds"),
    [
        pytest.param(PARAMS.pool_tokens, 6, id="roomy"),
        pytest.param(1024, 6, id="crowded"),
        pytest.param(PARAMS.pool_tokens, ROUNDS, id="roomy, all rounds", marks=pytest.mark.soak),
        pytest.param(1024, ROUNDS, id="crowded, all rounds", marks=pytest.mark.soak),
    ],
)
def test_each_chat_sees_its_own_word_only(
    pool: int,
    rounds: int,
    at_work: Callable[..., None],
    talker: Path,
    decode_log: Path,
    make_rig: MakeRig,
) -> None:
    rng = random.Random(2)
    model = RealModel(talker, pool_tokens=pool)

    async def scenario(desk: Desk, model: RealModel) -> None:
        pages = await open_tabs(desk, len(WORDS))
        asked = 0

        async def round_of(chosen: list[int]) -> None:
            nonlocal asked
            cancelled = set(rng.sample(chosen, len(chosen) // 2))
            for index in chosen:
                put(pages[index], f"My code word is {WORDS[index]}. Say my code word only.")
            asked += len(chosen)
            for index in cancelled:
                least = rng.randrange(1, 11)
                page = pages[index]
                await until(
                    lambda page=page, least=least: (
                        desk.chat.turn(page.id).written >= least
                        or (page.id in desk.seen and not desk.chat.turn(page.id).busy)
                    ),
                    "some tokens",
                )
                page.stop()
            await over(desk, *pages)

        for _ in range(rounds):
            desk.seen.clear()
            await round_of(list(range(len(WORDS))))
        await until(lambda: len(model.prompts.asked) == asked, "all requests")
        await until(lambda: model.status.running == 0, "an idle engine")
        counters = model.counters
        stopped = [
            message
            for page in pages
            for message in await answers(desk, page)
            if message.status is Status.STOPPED
        ]
        assert len(stopped) > rounds
        assert counters.restored or pool == PARAMS.pool_tokens, "the crowd was pushed out"
        # What is in use is what idle chats keep, and as much as the log says that they share.
        assert counters.cells_used == counters.cells_kept
        records = read_log(decode_log)
        assert counters.cells_used == used_cells(records)
        vocabulary = pieces(model)
        for submit in model.prompts.asked:
            assert len(words_in(vocabulary.join(submit.tokens).decode())) == 1
        seen = set()
        for moment in moments(records):
            held = words_in(vocabulary.join(moment.tokens).decode("utf-8", "replace"))
            assert len(held) == 1, f"{held} in sequence {moment.sequence} at call {moment.call}"
            seen |= held
        assert seen == set(WORDS)

    at_work(scenario, model, current=settings(max_answer_tokens=16))

    # Neighbour-swap rule, for the sequence that wrote most.
    records = read_log(decode_log)[:CALLS]
    facts = {"pool_tokens": pool, "batch": PARAMS.batch, "most_running": 8}
    original = replay(make_rig(talker, **facts).backend, records)
    watched, most = Counter(sequence for sequence, _, _ in original).most_common(1)[0]
    rewrite = swapped(family(records, watched), make_rig(talker).backend.info.vocabulary)
    other = replay(make_rig(talker, **facts).backend, records, rewrite)
    assert assert_same_bits(original, other, watched) == most
