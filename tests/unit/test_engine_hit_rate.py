"""The hit rate: what came from the cache, what could have, and why not."""

from dataclasses import replace

import numpy as np
import pytest

from app.chat.ports import AdviceKind
from app.client.advice import advice
from app.engine.fake import FakeBackend
from app.engine.hit_rate import HitRate, Hits
from app.wire import Counters, RecentHits
from tests.engine_run import finish, make_run, request


def text(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 60, count).astype(np.int32)


def test_new_text_could_not_have_been_cached() -> None:
    rate = HitRate()
    rate.began(1, text(1, 100), 0)
    rate.ended(1, text(1, 100))
    rate.began(2, text(2, 100), 0)
    assert rate.hits == Hits(prompt=200, requests=2)


def test_what_was_evaluated_once_is_possible_for_ever() -> None:
    rate = HitRate()
    rate.ended(1, text(1, 160))
    rate.began(2, np.concatenate([text(1, 160), text(3, 40)]), 0)
    assert rate.hits == Hits(prompt=200, cached=0, possible=160, requests=1)


def test_a_prompt_that_changes_inside_is_told_with_its_place() -> None:
    rate = HitRate()
    rate.ended(1, text(1, 200))
    changed = text(1, 240)
    changed[30:] = text(5, 210)
    rate.began(1, changed, 30)
    assert (rate.hits.changed, rate.hits.changed_at) == (1, 30)


def test_an_edited_question_at_the_end_is_no_changing_prefix() -> None:
    rate = HitRate()
    rate.ended(1, text(1, 200))
    edited = text(1, 200)
    edited[180:] = text(6, 20)
    rate.began(1, edited, 180)
    assert rate.hits.changed == 0


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
        (recent(1000, 4000, 7), AdviceKind.CHANGING, "(7 times, the last time at token 12)"),
        (recent(1000, 4000, 1), AdviceKind.CHANGING, "(once, the last"),
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
