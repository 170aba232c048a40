"""Idle chats leave the pool, and those that write then come down to its lowest cells.

What lies where is llama.cpp's own account: with a switch of its own it tells of every search for cells.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app import llama
from app.sampling import Sampling
from app.wire import Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig
from tests.engine_run import Clock

IDLE, HISTORY = 8, 500
PROMPT, WRITTEN = 50, 300
_SEARCH = re.compile(rb"n = *(\d+), used = *(\d+), head")


def text(seed: int, count: int) -> tuple[int, ...]:
    return tuple(int(token) for token in np.random.default_rng(seed).integers(1, 256, count))


def ask(rig: Rig, number: int, tokens: tuple[int, ...], limit: int) -> None:
    greedy = Sampling(temperature=0)
    rig.engine.submit(Submit(number, tokens, greedy, max_tokens=limit, ignore_eos=True))


@dataclass(frozen=True)
class Search:
    """The pool when cells were looked for: one more than the highest in use, and how many are used."""

    highest: int
    used: int


@pytest.fixture
def searches(
    api: Any, make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Search]]:
    """Every search for cells from now on, in contexts that are made from now on."""
    assert make_rig, "its log is put in place first"
    monkeypatch.setenv("LLAMA_KV_CACHE_DEBUG", "1")
    found: list[Search] = []

    def line(_level: int, words: bytes, _data: object) -> None:
        match = _SEARCH.search(words)
        if match:
            found.append(Search(int(match[1]), int(match[2])))

    callback = api.llama_log_callback(line)
    api.llama_log_set(callback, None)
    yield found
    llama.NativeLog(api)


def crowded(path: Path, make_rig: MakeRig, spill_bytes: int) -> tuple[Rig, Clock]:
    """Two chats that write above the cells of eight idle ones."""
    clock = Clock(0.001)
    rig = make_rig(path, pool_tokens=8192, spill_bytes=spill_bytes, clock=clock, batch=512)
    for number in range(IDLE):
        ask(rig, number, text(number, HISTORY), 1)
        rig.run()
    for number in (100, 101):
        ask(rig, number, text(number, PROMPT), WRITTEN)
    while rig.steps[-1].counters.running < 2:
        rig.step()
    return rig, clock


ACTIVE = 2 * (PROMPT + WRITTEN)


@pytest.mark.parametrize("kind", tuple(tiny_models.KINDS))
def test_after_the_idle_chats_are_gone_the_others_lie_lowest(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig, clock = crowded(tiny_files[kind], make_rig, 64 << 20)
    cells = rig.engine._pool.cells
    assert cells.highest > IDLE * HISTORY
    clock.now += 10
    rig.run()
    last = rig.steps[-1].counters
    assert cells.highest <= ACTIVE
    assert last.read == IDLE * HISTORY + 2 * PROMPT, "nothing is read twice"
    # Once, not again and again.
    assert 0 < last.restored < ACTIVE
    assert all(len(rig.tokens(number)) == WRITTEN for number in (100, 101))


def test_they_do_in_llama_cpp_and_the_answers_are_the_same(
    tiny_files: dict[str, Path], make_rig: MakeRig, searches: list[Search]
) -> None:
    rig, clock = crowded(tiny_files["attention"], make_rig, 64 << 20)
    assert searches[-1].highest >= IDLE * HISTORY
    clock.now += 10
    rig.run()
    assert searches[-1].highest <= ACTIVE
    alone = make_rig(tiny_files["attention"], pool_tokens=8192, batch=512)
    for number in (100, 101):
        ask(alone, number, text(number, PROMPT), WRITTEN)
    alone.run()
    for number in (100, 101):
        assert len(rig.tokens(number)) == WRITTEN
        assert rig.tokens(number) == alone.tokens(number)


def test_an_idle_chat_comes_back_without_being_read(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig, clock = crowded(tiny_files["attention"], make_rig, 64 << 20)
    clock.now += 10
    rig.run()
    before = rig.steps[-1].counters.read
    for number in range(IDLE):
        ask(rig, 200 + number, (*text(number, HISTORY), *rig.tokens(number), 5), 1)
        rig.run()
    assert rig.steps[-1].counters.read - before == IDLE * 2


def test_without_memory_for_states_everything_stays_and_nothing_is_lost(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    for spill_bytes in (0, 100_000):
        rig, clock = crowded(tiny_files["attention"], make_rig, spill_bytes)
        clock.now += 10
        rig.run()
        assert rig.steps[-1].counters.read == IDLE * HISTORY + 2 * PROMPT
        assert all(len(rig.tokens(number)) == WRITTEN for number in (100, 101))


def test_the_mirror_knows_how_high_the_pool_is_in_use(
    tiny_files: dict[str, Path], make_rig: MakeRig, searches: list[Search]
) -> None:
    """The estimate that decides agrees with llama.cpp's own account, whatever comes and goes."""
    clock = Clock(0.001)
    rig = make_rig(tiny_files["attention"], pool_tokens=1024, spill_bytes=64 << 20, clock=clock)
    chance = np.random.default_rng(4)
    cells = rig.engine._pool.cells
    for number in range(30):
        shared = text(int(chance.integers(3)), 80)[: int(chance.integers(1, 80))]
        ask(rig, number, (*shared, *text(number, 20)), int(chance.integers(1, 40)))
        for _ in range(int(chance.integers(1, 12))):
            if not rig.engine.has_work:
                break
            before = Search(cells.highest, cells.used)
            steps = len(searches)
            step = rig.step()
            if len(searches) == steps + 1 and step.counters.rows:
                assert searches[-1] == before
        if number % 5 == 0:
            clock.now += 10
    rig.run()
