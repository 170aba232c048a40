"""The hit rate: what came from the cache, what could have, and why not."""

from dataclasses import replace

import numpy as np
import pytest

from app.chat.model_state import AdviceKind
from app.client.advice import advice
from app.counters import Counters, RecentHits
from app.engine.backend import TokenArray
from app.engine.fake import FakeBackend
from app.engine.hit_rate import HitRate
from tests.engine_run import finish, make_run, request


def text(seed: int, count: int) -> TokenArray:
    return np.random.default_rng(seed).integers(1, 60, count).astype(np.int32)


def test_new_text_could_not_have_been_cached() -> None:
    rate = HitRate()
    rate.began(1, text(1, 100), 0)
    rate.ended(1, text(1, 100))
    rate.began(2, text(2, 100), 0)
    assert rate.hits == RecentHits(prompt=200, requests=2)


def test_what_was_evaluated_once_is_possible_for_ever() -> None:
    rate = HitRate()
    rate.ended(1, text(1, 160))
    rate.began(2, np.concatenate([text(1, 160), text(3, 40)]), 0)
    assert rate.hits == RecentHits(prompt=200, cached=0, possible=160, requests=1)


def test_a_prompt_that_changes_inside_is_told_with_its_place() -> None:
    rate = HitRate()
    rate.ended(1, text(1, 200))
    changed = text(1, 240)
    changed[30:] = text(5, 210)
    rate.began(1, changed, 30)
    assert (rate.hits.changed, rate.hits.changed_at, rate.hits.moved) == (1, 30, 170)


def test_an_edited_question_at_the_end_is_no_changing_prefix() -> None:
    rate = HitRate()
    rate.ended(1, text(1, 200))
    edited = text(1, 200)
    edited[180:] = text(6, 20)
    rate.began(1, edited, 180)
    assert (rate.hits.changed, rate.hits.moved) == (0, 0)


def test_the_engine_tells_it_with_every_step() -> None:
    run = make_run(FakeBackend(cells=100, sequences=4))
    first = tuple(int(token) for token in text(1, 60))
    for number, tokens in enumerate((first, tuple(int(t) for t in text(2, 80)), first)):
        run.engine.submit(replace(request(number, tokens, limit=2), owner=number + 1))
        finish(run)
    recent = run.steps[-1].counters.recent
    # The second prompt pushed the first one out, so that the third request read it again.
    assert (recent.requests, recent.prompt, recent.cached) == (3, 200, 0)
    assert recent.possible == 48


def recent(cached: int, possible: int, changed: int = 0, **others: int) -> RecentHits:
    counts = {"prompt": 5000, "requests": 20, "changed_at": 12} | others
    return RecentHits(cached=cached, possible=possible, changed=changed, **counts)


@pytest.mark.parametrize(
    ("hits", "kind", "words"),
    [
        (recent(1000, 1020), AdviceKind.NEW_TEXT, "last 20 prompts 20 % came from the cache. The rest is new"),
        (recent(1000, 4000), AdviceKind.TOO_SMALL, "3,000 tokens had been read before"),
        (recent(1000, 4000), AdviceKind.TOO_SMALL, "room for 8,192 tokens, the memory for idle chats for 64 MB"),
        (recent(1000, 1500, 7, moved=3000), AdviceKind.CHANGING, "(7 times, the last time at token 12)"),
        (recent(1000, 1000, 1, moved=900), AdviceKind.CHANGING, "(once, the last"),
        (recent(1000, 4000, 1, moved=900), AdviceKind.TOO_SMALL, "3,000 tokens had been read before"),
        (recent(1000, 1020, 1, moved=90), AdviceKind.NEW_TEXT, "The rest is new"),
    ],
)  # fmt: skip
def test_advice_names_the_reason(hits: RecentHits, kind: AdviceKind, words: str) -> None:
    said = advice(Counters(recent=hits, cells_total=8192, spill_total=64 << 20))
    assert said is not None
    assert said.kind is kind
    assert words in said.text


@pytest.mark.parametrize(
    "hits",
    [
        RecentHits(),
        recent(4500, 4600),
        recent(0, 0, prompt=1000),
        recent(0, 0, requests=1),
        recent(0, 0, requests=7),
    ],
    ids=("nothing", "good", "few tokens", "the first message", "few requests"),
)
def test_there_is_no_advice_without_a_reason(hits: RecentHits) -> None:
    assert advice(Counters(recent=hits)) is None


SYSTEM = tuple(int(token) for token in text(50, 80))


def talk(*, warm: bool) -> RecentHits:
    """Three chats of one system prompt, three turns each, with and without reading beforehand."""
    run = make_run(FakeBackend(cells=4000, sequences=20, batch=64))
    histories = dict.fromkeys(range(1, 4), SYSTEM)
    number = 0
    for turn in range(3):
        for owner, history in histories.items():
            number += 1
            message = tuple(int(token) for token in text(100 * owner + turn, 20))
            if warm:
                # What stands before the message, but for the last token, which is not read.
                ahead = replace(request(1000 + number, (*history, 7, 9), limit=0), owner=owner)
                run.engine.submit(ahead)
                finish(run)
            asked = replace(request(number, (*history, 7, *message), limit=5), owner=owner)
            run.engine.submit(asked)
            finish(run)
            histories[owner] = (*asked.tokens, *run.tokens[number])
    counters = run.steps[-1].counters
    assert counters.prompt == counters.recent.prompt
    assert counters.reused == counters.recent.cached
    assert counters.read + counters.reused == counters.prompt
    return counters.recent


def test_reading_beforehand_does_not_change_the_hit_rate() -> None:
    assert talk(warm=True) == talk(warm=False)


def test_a_warm_up_that_nobody_follows_counts_nothing() -> None:
    run = make_run(FakeBackend(cells=400, batch=64))
    run.engine.submit(request(1, (*SYSTEM, 9), limit=0))
    finish(run)
    counters = run.steps[-1].counters
    assert counters.recent == RecentHits()
    assert (counters.prompt, counters.reused, counters.read) == (0, 0, len(SYSTEM))


def test_what_a_warm_up_read_counts_as_read_once_and_is_a_hit_for_all_others() -> None:
    rate = HitRate()
    prompt = text(1, 200)
    rate.warmed(1, prompt[:150], 0)
    assert rate.began(1, prompt, 150) == 0
    assert rate.began(2, prompt, 150) == 150
    assert rate.hits == RecentHits(prompt=400, cached=150, possible=150, requests=2)


def test_of_what_a_warm_up_found_in_the_cache_only_the_rest_counts_as_read() -> None:
    rate = HitRate()
    prompt = text(1, 200)
    rate.ended(1, prompt[:120])
    rate.warmed(1, prompt[:150], 120)
    assert rate.began(1, prompt, 150) == 120


def test_two_warm_ups_for_one_request() -> None:
    """The instructions were read for another chat that was never sent, the rest for this one."""
    rate = HitRate()
    prompt = text(1, 200)
    rate.warmed(2, prompt[:100], 0)
    rate.warmed(1, prompt[:150], 100)
    assert rate.began(1, prompt, 150) == 0
    assert rate.began(2, np.concatenate([prompt[:100], text(9, 50)]), 100) == 100


def test_a_forgotten_chat_leaves_no_text() -> None:
    rate = HitRate()
    rate.warmed(1, text(1, 100), 0)
    rate.ended(1, text(1, 100))
    rate.forget(1)
    assert not rate._last
    assert not rate._warm
