"""An hour of everything at once, on real processes and tiny models of all kinds of memory; `make test` runs a sample.

`TUTTI_SOAK_SECONDS` is the length of the hour, `TUTTI_SOAK_SEED` the first round's seed.  Each round has its own seed
(the first line of its part of the trace): to do one again, give its seed and a length of one second.
"""

import asyncio
import itertools
import json
import logging
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from app.client.child import Limits
from app.wire import LoadParams
from tests import tiny_models
from tests.scripted_children import threads
from tests.soak.oracle import CLOSE, Oracle
from tests.soak.player import Mix, Player
from tests.soak.trace import Trace
from tests.soak.world import Health, World

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KINDS = tuple(tiny_models.KINDS)
HOUR = float(os.environ.get("TUTTI_SOAK_SECONDS", "3600"))
MOST_OBJECTS = 1_000
"""As many more at the end of an hour, some two hundred rounds, are no leak."""
SEED = int(os.environ.get("TUTTI_SOAK_SEED", "1"))

SLACK = 32 << 20
"""Bytes by which memory may differ between two moments at which the same is open: the allocators' own."""
ASKED_AGAIN = 12
"""Answers of a round that are compared with the oracle's."""


@pytest.fixture(scope="session")
def talkers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("talkers")
    return {kind: tiny_models.talker(folder / f"{kind}.gguf", kind) for kind in KINDS}


@pytest.fixture(scope="session")
def oracles(talkers: dict[str, Path]) -> Iterator[dict[str, Oracle]]:
    made = {kind: Oracle(path) for kind, path in talkers.items()}
    yield made
    for oracle in made.values():
        oracle.close()


@pytest.fixture(autouse=True)
def no_threads_are_left() -> Iterator[None]:
    yield
    assert threads() == set()


Round = Callable[[World, int], Any]


class Soak:
    """Rounds on one world, and what is known of them."""

    def __init__(
        self, world: World, talkers: dict[str, Path], oracles: dict[str, Oracle], folder: Path
    ) -> None:
        self.world = world
        self.rounds = self.failed = 0
        self.checked = self.steps = self.written = self.peak = 0
        self.deaths: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.health: list[Health] = []
        self.engine_growth: list[int] = []
        self._talkers, self._oracles = talkers, oracles
        self._states = folder / "states"

    def params(self, kind: str, dice: random.Random, **changes: Any) -> LoadParams:
        return replace(
            LoadParams(
                str(self._talkers[kind]),
                pool_tokens=dice.choice((1024, 2048, 4096)),
                sequences=dice.choice((2, 4, 8)),
                batch=dice.choice((64, 256)),
                threads=dice.choice((1, 2)),
                spill_bytes=dice.choice((0, 1 << 18, 8 << 20)),
                states_folder=dice.choice(("", str(self._states), str(self._states))),
                disk_bytes=dice.choice((200_000, 64 << 20)),
            ),
            **changes,
        )

    async def round(self, kind: str, seed: int, actions: int, mix: Mix, **changes: Any) -> None:
        """Load, play, settle, ask the oracle, delete and unload all."""
        world = self.world
        params = self.params(kind, random.Random(f"{seed} {kind}"), **changes)
        world.trace(f"round {self.rounds}: {kind}, seed {seed}, {params}")
        world.params, world.ledger.context = params, params.pool_tokens
        await world.model.load(params.path)
        assert world.model.loaded is not None, world.model.state.error
        player = Player(world, seed, mix)
        await player.play(actions)
        await player.finish()
        self._ask_again(self._oracles[kind])
        world.house.engine_memory  # noqa: B018  its peak is kept
        self._end(await world.empty())

    async def crowd(self, kind: str, seed: int, chats: int, at_once: int) -> None:
        """Many chats open, and many of them written in at once, twice each."""
        world, dice = self.world, random.Random(seed)
        params = self.params(kind, dice, pool_tokens=4096, sequences=8, batch=256)
        world.trace(f"round {self.rounds}: a crowd on {kind}, seed {seed}, {params}")
        world.params, world.ledger.context = params, params.pool_tokens
        await world.model.load(params.path)
        player = Player(world, seed, Mix())
        for _ in range(chats):
            await player.new(dice)
        before = Counter(world.ledger.ends)
        for _ in range(2):
            order = dice.sample(player.chats, chats)
            for start in range(0, chats, at_once):
                for chat in order[start : start + at_once]:
                    await player.send(chat, player.words(dice))
                assert len(world.chat._turns) <= at_once
                await world.until(lambda: not world.busy, "the end of the crowd's turns")
                assert not world.faults, world.faults
        await player.finish()
        ended = world.ledger.ends - before
        assert ended["done"] + ended["blank"] == 2 * chats, ended
        self._ask_again(self._oracles[kind])
        self._end(await world.empty())

    async def long_life(self, kind: str, seed: int, actions: int) -> None:
        """One engine that nothing ends: its own memory, after it has got warm."""
        world = self.world
        seen: list[int] = []
        world.house.on_step = lambda _: (
            seen.append(world.house.engine_memory) if not world.house.steps % 100 else None
        )
        calm = Mix(kill=0, hang=0, poison=0, worker=0, unload=0)
        lives = world.house.deaths.total()
        await self.round(kind, seed, actions, calm, spill_bytes=1 << 18)
        world.house.on_step = lambda _: None
        assert world.house.deaths.total() == lives
        third = len(seen) // 3
        grown = max(seen[-third:]) - max(seen[:third])
        self.engine_growth.append(grown)
        world.trace(f"engine: {len(seen)} looks, grown by {grown >> 10} kB to {seen[-1] >> 20} MB")
        assert grown < SLACK

    def _ask_again(self, oracle: Oracle) -> None:
        world = self.world
        pairs = world.ledger.written
        for submit, text in random.Random(self.rounds).sample(pairs, min(ASKED_AGAIN, len(pairs))):
            behind, place = oracle.worst(submit, text)
            assert behind < CLOSE, (
                f"chat {submit.owner}: {text!r} goes wrong at {place} ({behind:.2f})"
            )
            self.checked += 1
        pairs.clear()

    def _end(self, health: Health) -> None:
        self.rounds += 1
        self.health.append(health)
        self.world.trace(health)
        first = self.health[0]
        assert health.children == 0, health
        assert health.threads == first.threads, health
        assert health.on_disk == 0, health

    def check_growth(self, warm: int) -> None:
        """Compare the last rounds with those up to the `warm`-th."""
        before, after = self.health[:warm], self.health[-warm:]
        if len(self.health) < 2 * warm:
            return
        assert min(one.files for one in after) <= max(one.files for one in before)
        grown = min(one.objects for one in after) - max(one.objects for one in before)
        assert grown < MOST_OBJECTS, f"{grown} objects more"
        grown = min(one.memory for one in after) - max(one.memory for one in before)
        assert grown < SLACK, f"{grown >> 20} MB more"

    async def renew(self) -> None:
        """Another world in place of this one, in which something went wrong."""
        old = self.world
        self._count(old)
        self.failed += 1
        await old.close()
        shutil.rmtree(old.folder)
        self.world = await World.open(old.folder, old.trace, old.house.limits)

    def _count(self, world: World) -> None:
        house = world.house
        self.steps, self.written = self.steps + house.steps, self.written + house.written
        self.peak = max(self.peak, house.peak)
        self.deaths += house.deaths
        self.ends += world.ledger.ends
        house.steps = house.written = 0
        house.deaths, world.ledger.ends = Counter(), Counter()

    def tell(self) -> dict[str, Any]:
        """All numbers so far, also beside the trace."""
        self._count(self.world)
        memory = [one.memory >> 20 for one in self.health]
        told = {
            "rounds": self.rounds,
            "failed": self.failed,
            "deaths": dict(self.deaths),
            "answers": dict(self.ends),
            "checked by the oracle": self.checked,
            "steps": self.steps,
            "tokens": self.written,
            "app, MB: first, last, peak": [memory[0], memory[-1], max(memory)] if memory else [],
            "engine, peak MB": self.peak >> 20,
            "engine, growth in kB": [grown >> 10 for grown in self.engine_growth],
            "health": [asdict(one) for one in (self.health[:1] + self.health[-1:])],
        }
        path = self.world.trace.path.with_name("report.json")
        path.write_text(json.dumps(told, indent=2), encoding="utf-8")
        return told


def soak(
    scenario: Callable[[Soak], Any],
    limits: Limits,
    folder: Path,
    talkers: dict[str, Path],
    oracles: dict[str, Oracle],
) -> dict[str, Any]:
    """Run it on a new world; when it fails, the end of the trace is told with it."""
    trace = Trace(folder / "trace.txt")

    async def whole() -> dict[str, Any]:
        place = folder / "data"
        made = Soak(await World.open(place, trace, limits), talkers, oracles, place)
        try:
            await scenario(made)
            assert not made.world.faults
        except BaseException as error:
            error.add_note(trace.tail())
            raise
        finally:
            await made.world.close()
        return made.tell()

    try:
        return asyncio.run(whole())
    finally:
        trace.close()


def test_a_sample_of_the_soak(
    tmp_path: Path, talkers: dict[str, Path], oracles: dict[str, Oracle]
) -> None:
    async def scenario(made: Soak) -> None:
        # Seeds whose few actions hold something of everything that costs little time.
        for seed, kind in zip((0, 1, 26, 47), KINDS, strict=True):
            mix = Mix(new=10, burst=6, kill=6, poison=0, worker=1, unload=1, count=1)
            await made.round(kind, seed, 12, mix)

    told = soak(scenario, Limits(), tmp_path, talkers, oracles)
    assert told["answers"]["done"] > 10, told
    assert told["deaths"]["killed"] > 2, told
    assert told["checked by the oracle"] > 10, told


@pytest.mark.soak
def test_an_hour_of_everything(
    tmp_path: Path,
    talkers: dict[str, Path],
    oracles: dict[str, Oracle],
    caplog: pytest.LogCaptureFixture,
) -> None:
    # A warning of every death, kept by pytest for its report, would count as what the app has not let go of.
    caplog.set_level(logging.ERROR, logger="app")
    limits = Limits(ready=600.0, silence=45.0, grace=5.0)
    failures: list[str] = []

    async def one(made: Soak, seed: int) -> None:
        kind = KINDS[seed % len(KINDS)]
        if seed % 12 == 8:
            await made.crowd(kind, seed, 300, 64)
        elif seed % 6 == 3:
            await made.long_life(kind, seed, 300)
        else:
            await made.round(kind, seed, 120, Mix(hang=seed % 5 == 0))

    async def scenario(made: Soak) -> None:
        end = time.monotonic() + HOUR
        for seed in itertools.count(SEED):
            try:
                await one(made, seed)
            except AssertionError as error:
                # The hour goes on, with a new world: there may be more than one fault in it.
                made.world.trace("FAILED:", error)
                failures.append(f"seed {seed}: {error}\n{made.world.trace.tail()}")
                await made.renew()
            made.tell()
            if time.monotonic() > end:
                break
        made.check_growth(warm=8)

    told = soak(scenario, limits, tmp_path, talkers, oracles)
    assert not failures, "\n\n".join(failures)
    assert told["rounds"] > 0


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_three_hundred_chats_and_sixty_four_at_once(
    kind: str, tmp_path: Path, talkers: dict[str, Path], oracles: dict[str, Oracle]
) -> None:
    async def scenario(made: Soak) -> None:
        await made.crowd(kind, 1, 300, 64)

    soak(scenario, Limits(), tmp_path, talkers, oracles)
