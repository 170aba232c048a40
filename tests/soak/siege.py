"""Hostile inputs by every door at once, while another chat answers; what came of each, and what it cost that chat."""

import asyncio
import json
import statistics
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from app.store.conversations import open_store
from app.wire import LoadParams
from tests.cases.whole import served
from tests.soak import hostile_content, hostile_grammars, hostile_metadata, hostile_templates
from tests.soak.doors import (
    LIMITS,
    SMALL,
    ApiDoor,
    Editor,
    ModelFiles,
    Outcome,
    Shelf,
    Window,
    opened,
)
from tests.soak.gguf_file import read
from tests.soak.house import House
from tests.soak.trace import Trace
from tests.soak.witness import Times, Witness

PATIENCE = 180.0
"""Seconds after which an input that has no end is a fault.  The longest deadline of the app is below it; a text of 9,000
tokens, read in the gaps of the other chat, took 12 s on two cores that did nothing else."""
_SLOW = 3.0
_MAIN = LoadParams("", pool_tokens=16_384, sequences=8, batch=256, threads=1, spill_bytes=8 << 20)

Bring = Callable[[Any, Random], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Lane:
    """A kind of input, the door that it takes, and where the children live that it meets; one comes after the other."""

    name: str
    make: Callable[[Random], Any]
    bring: Bring
    house: House


@dataclass
class Deaths:
    """The ends of children in one house, and whether the chats that they happened to were told."""

    house: House
    told: dict[int, bool] = field(default_factory=dict)

    def seen(self, before: int, outcome: Outcome) -> None:
        """An input ended like this; `before` of the ends were there when it came."""
        for number in range(before, len(self.house.ends)):
            self.told[number] = self.told.get(number, False) or bool(outcome.words)

    def faults(self) -> list[str]:
        """A child that was too slow has cost its chat an error.  One that died of itself may be followed by another that
        goes on with the same."""
        found = []
        for number, words in enumerate(self.house.ends):
            if number not in self.told:
                found.append(f"nothing was asked of it: {words}")
            elif not self.told[number] and "ended because" in words:
                found.append(f"no chat was told: {words}")
        return found


@dataclass
class Report:
    """What came of all inputs.  `ends` counts, by lane and kind, answers and refusals; times in seconds."""

    ends: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    deaths: Counter[str] = field(default_factory=Counter)
    quiet: Times = field(default_factory=Times)
    busy: Times = field(default_factory=Times)
    seconds: float = 0.0

    @property
    def inputs(self) -> int:
        return self.ends.total()

    def told(self) -> dict[str, Any]:
        """The figures; times in milliseconds."""
        return {
            "inputs": self.inputs,
            "per second": round(self.inputs / self.seconds, 1),
            "faults": len(self.faults),
            "deaths": dict(self.deaths),
            "steps": _figures(self.quiet.steps, self.busy.steps),
            "steps of its own": _figures(self.quiet.own, self.busy.own),
            "gaps": _figures(self.quiet.gaps, self.busy.gaps),
            "ends": dict(sorted(self.ends.items())),
        }


def _figures(quiet: list[float], busy: list[float]) -> dict[str, float]:
    """The median alone; beside the inputs the median, the 99th of 100, and that one by the median alone."""
    alone = statistics.median(quiet)
    late = percentile(busy, 0.99)
    return {
        "alone": round(alone * 1e3, 2),
        "alone, p99": round(percentile(quiet, 0.99) * 1e3, 2),
        "median": round(statistics.median(busy) * 1e3, 2),
        "p99": round(late * 1e3, 2),
        "p99 / alone": round(late / alone, 2),
        "count": len(busy),
    }


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Siege:
    """All processes, the doors into them, and the chat beside them."""

    def __init__(self, lanes: dict[str, Lane], witness: Witness, trace: Trace) -> None:
        self.witness = witness
        self.report = Report()
        self._lanes = lanes
        self._deaths = {id(lane.house): Deaths(lane.house) for lane in lanes.values()}
        self._trace = trace

    async def alone(self, answers: int) -> None:
        """The other chat, while nothing else is done."""
        await self.witness.answer()
        self.witness.take_times()
        for _ in range(answers):
            await self.witness.answer()
        self.report.quiet = self.witness.take_times()

    async def run(self, part: int, counts: dict[str, int]) -> Report:
        """So many inputs by each lane, all lanes at once; the same for the same `part`."""
        began = time.monotonic()
        with self.witness.going_on():
            async with asyncio.TaskGroup() as tasks:
                for name, count in counts.items():
                    tasks.create_task(self._walk(self._lanes[name], part, count))
        report = self.report
        report.seconds = time.monotonic() - began
        report.busy = self.witness.take_times()
        report.faults += self.witness.faults
        for deaths in self._deaths.values():
            report.deaths += Counter(words[:90] for words in deaths.house.ends)
            report.faults += deaths.faults()
        return report

    async def _walk(self, lane: Lane, part: int, count: int) -> None:
        for number in range(count):
            name = f"{part} {lane.name} {number}"
            dice = Random(name)
            thing = lane.make(dice)
            began, ends = time.monotonic(), len(lane.house.ends)
            try:
                async with asyncio.timeout(PATIENCE):
                    outcome = await lane.bring(thing, dice)
            except TimeoutError:
                outcome = Outcome(fault=f"it has no end within {PATIENCE:.0f} s")
            except Exception:  # noqa: BLE001  whatever comes out of the app is a fault of this input
                outcome = Outcome(fault=f"it came out of the app: {traceback.format_exc()[-900:]}")
            self._deaths[id(lane.house)].seen(ends, outcome)
            seconds = time.monotonic() - began
            end = "refused" if outcome.words else "answered"
            self.report.ends[f"{lane.name}, {thing.kind}: {end}"] += 1
            self.report.words[f"{lane.name}: {outcome.words[:160]}"] += bool(outcome.words)
            if seconds > _SLOW:
                self._trace(f"{name} ({thing.kind}) took {seconds:.1f} s: {outcome}")
            if outcome.problem:
                self._trace(f"{name} ({thing.kind}) FAULT: {outcome}")
                self.report.faults.append(
                    f"{name} ({thing.kind}): {outcome.problem}: {outcome.words!r}"
                )


@asynccontextmanager
async def siege(folder: Path, main: Path, talker: Path, trace: Trace) -> AsyncIterator[Siege]:
    """Everything open: `main`, which the other chat is with, behind a window and an API; a `talker`, whose template
    changes; and files made of it."""
    good = read(await asyncio.to_thread(talker.read_bytes))
    store = await open_store(folder / "chats.db")
    files_house = House(trace, LIMITS)
    async with (
        opened(main, trace, _MAIN) as (model, house),
        opened(talker, trace, SMALL) as (
            edited,
            edited_house,
        ),
    ):
        window = Window(store, model)
        async with served(model) as api:
            door = ApiDoor(api)
            made = partial(hostile_metadata.model_file, good=good)
            files, shelf = ModelFiles(folder, files_house), Shelf(folder / "shelf")
            lanes = [
                Lane("typed", hostile_content.typed, window.bring, house),
                Lane("posted", hostile_content.posted, door.bring, house),
                Lane("form", hostile_grammars.form, door.bring, house),
                Lane("template", hostile_templates.template, Editor(edited).bring, edited_house),
                Lane("file", made, files.bring, files_house),
                Lane("listed", made, shelf.bring, files_house),
            ]
            yield Siege({lane.name: lane for lane in lanes}, Witness(model, house), trace)
        await window.service.close()
    await store.close()


def shown(told: dict[str, Any]) -> str:
    return json.dumps(told, indent=1)
