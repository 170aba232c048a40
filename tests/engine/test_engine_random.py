"""Random schedules on tiny real models: joins, cancels, forks, parks, spills and restores keep every promise.

After every step the mirrors are compared with llama.cpp (`Rig.step` checks), each request ends exactly once and
whole, nothing is left behind, and the neighbour-swap rule holds for what the log tells.
"""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.sampling import Sampling
from app.wire import FinishReason, Priority, Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig
from tests.engine_run import Clock
from tests.replaying import assert_same_bits, family, replay, swapped

KINDS = tuple(tiny_models.KINDS)
SAMPLE, ALL = range(3), range(3, 203)


def text(seed: int, count: int) -> tuple[int, ...]:
    return tuple(int(token) for token in np.random.default_rng(seed).integers(1, 256, count))


class Schedule:
    """What a seed makes happen."""

    def __init__(self, rig: Rig, seed: int) -> None:
        self.rig = rig
        self.chance = random.Random(seed)
        self.asked: dict[int, Submit] = {}
        self.aborted: set[int] = set()

    def prompt(self) -> tuple[int, ...]:
        """New text, a fork of an earlier prompt, or an earlier chat that goes on."""
        kind = self.chance.randrange(4)
        tail = text(self.chance.randrange(10**6), self.chance.randrange(1, 25))
        if kind == 0 or not self.asked:
            return (*text(self.chance.randrange(3), 60), *tail)
        earlier = self.chance.choice(list(self.asked))
        base = self.asked[earlier].tokens
        if kind == 1:
            return (*base[: self.chance.randrange(1, len(base) + 1)], *tail)
        return (*base, *self.rig.tokens(earlier), *tail)[-180:] if kind == 2 else base

    def submit(self, number: int) -> None:
        prompt = self.prompt()
        submit = Submit(
            number,
            prompt,
            Sampling(temperature=self.chance.choice([0.0, 0.9]), seed=self.chance.randrange(99)),
            max_tokens=self.chance.randrange(0, 40),
            ignore_eos=True,
            priority=self.chance.choice(list(Priority)),
            marks=(len(prompt) // 2,) if self.chance.random() < 0.5 else (),
            owner=self.chance.randrange(4),
        )
        self.asked[number] = submit
        self.rig.engine.submit(submit)

    def run(self, requests: int) -> None:
        for number in range(requests):
            self.submit(number)
            for _ in range(self.chance.randrange(8)):
                if self.rig.engine.has_work:
                    self.rig.step()
            if self.chance.random() < 0.25:
                victim = self.chance.randrange(number + 1)
                self.aborted.add(victim)
                self.rig.engine.abort(victim)
            if self.chance.random() < 0.1:
                self.rig.engine.forget(self.chance.randrange(1, 4))
        self.rig.run()

    def check(self) -> None:
        ends = [end for step in self.rig.steps for end in step.finished]
        assert sorted(end.request_id for end in ends) == sorted(self.asked)
        for end in ends:
            wanted = self.asked[end.request_id].max_tokens
            written = len(self.rig.tokens(end.request_id))
            assert written == end.usage.completion_tokens
            if end.reason is FinishReason.CANCELLED:
                assert end.request_id in self.aborted
            else:
                assert (end.reason, written) == (FinishReason.LENGTH, wanted)
        counters = self.rig.steps[-1].counters
        assert counters.cells_used == counters.cells_kept


def one(kind: str, seed: int, tiny_files: dict[str, Path], make_rig: MakeRig) -> None:
    pool = 256 if seed % 2 else 1024
    # A clock that depends on nothing but the calls: a seed that fails fails again.
    clock = Clock(0.004)
    spill = (seed % 3) << 21
    rig = make_rig(tiny_files[kind], pool_tokens=pool, spill_bytes=spill, clock=clock)
    schedule = Schedule(rig, seed)
    schedule.run(14)
    schedule.check()
    if seed % 4 == 0:
        check_neighbours(rig, lambda: make_rig(tiny_files[kind], pool_tokens=pool))


def check_neighbours(rig: Rig, fresh: Callable[[], Rig]) -> None:
    """The neighbour-swap rule for the sequence that was used last."""
    records = rig.records()
    watched = next(r for r in reversed(records) if "decode" in r)["decode"]["sequences"][0]
    rewrite = swapped(family(records, watched), tiny_models.VOCABULARY)
    before = replay(fresh().backend, records)
    assert assert_same_bits(before, replay(fresh().backend, records, rewrite), watched) > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SAMPLE)
def test_random_schedules(
    kind: str, seed: int, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    one(kind, seed, tiny_files, make_rig)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", ALL)
def test_two_hundred_random_schedules(
    kind: str, seed: int, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    one(kind, seed, tiny_files, make_rig)


def test_three_hundred_chats_of_four_turns_recycle_ids_and_cells(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """20 ids and 1,024 cells serve 300 chats that come back; what comes back reads only what is new."""
    rig = make_rig(tiny_files["attention"], pool_tokens=1024, spill_bytes=1 << 28)
    system = text(0, 40)
    histories = {chat: (*system, *text(1000 + chat, 6)) for chat in range(300)}
    number = 0
    for turn in range(4):
        for chat, history in histories.items():
            rig.engine.submit(
                Submit(number, history, Sampling(temperature=0), 3, ignore_eos=True, owner=chat + 1)
            )
            while rig.engine.has_work:
                rig.steps.append(rig.engine.step())
            told = [
                out.token for step in rig.steps for out in step.tokens if out.request_id == number
            ]
            histories[chat] = (*history, *told, *text(5000 + 300 * turn + chat, 5))
            if number % 150 == 0:
                rig.engine.check()
            rig.steps = rig.steps[-1:]
            number += 1
    rig.engine.check()
    counters = rig.steps[-1].counters
    assert counters.ids_used <= counters.ids_total
    # Each chat's own first words (some begin alike), then per turn its new words and the last written token.
    assert counters.read <= 40 + 300 * 6 + 3 * 300 * (5 + 1)
