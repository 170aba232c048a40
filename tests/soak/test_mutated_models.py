"""2,000 damaged and hostile model files, as a user would open them: none brings down the app, an engine or a neighbour.

Each goes the whole way: the head by the app's own reader (what the list of models and the plans read), the throw-away
process, and where that finds nothing the real engine, which writes some tokens.  Meanwhile another engine answers, and
always the same.  A file is refused with a reason, or loaded; an engine that ends, an exception of our own in the check,
or a check that is not over in time fails the soak.  `make test` runs the few of `tests/crash/test_trial.py`.

`TUTTI_SOAK_SEED` moves the seeds, so that other files are made.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.client.child import trial_child
from app.client.clock import LoopClock
from app.client.trial import examine
from app.errors import ModelError
from app.sizing import extent
from app.sizing.header import read_header
from app.verdict import Finding, Verdict
from app.wire import FinishReason
from tests import tiny_models
from tests.cases.whole import RealModel, user
from tests.mutations import Mutant, mutant
from tests.scripted_children import threads

pytestmark = [pytest.mark.soak, pytest.mark.crash, pytest.mark.slow]

FILES, EACH = 2000, 40
FIRST = int(os.environ.get("TUTTI_SOAK_SEED", "0"))
TOKENS = 5
AT_ONCE = 2
PARAMS = {"pool_tokens": 512, "sequences": 2, "batch": 64}


@dataclass
class Outcome:
    """What came of the files of one part; `wrong` is what must not be."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def talkers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("talkers")
    return [tiny_models.talker(folder / f"{kind}.gguf", kind) for kind in tiny_models.KINDS]


@pytest.mark.parametrize("part", range(FILES // EACH))
def test_each_is_refused_with_a_reason_or_loaded(
    part: int,
    talkers: list[Path],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    sources = [path.read_bytes() for path in talkers]
    seeds = range(FIRST + part * EACH, FIRST + (part + 1) * EACH)
    outcome = asyncio.run(_part(sources, seeds, talkers[0], tmp_path))
    record_property("ends", dict(outcome.ends))
    assert outcome.wrong == []
    assert sum(outcome.ends.values()) == EACH
    assert threads() == set()


async def _part(sources: list[bytes], seeds: range, good: Path, folder: Path) -> Outcome:
    outcome = Outcome()
    neighbour = await RealModel(good, **PARAMS).open()
    told = (await neighbour.ask(user("hello"), tokens=TOKENS)).text
    left = iter(seeds)

    async def work() -> None:
        for seed in left:
            made = mutant(sources, seed)
            path = folder / f"{seed}.gguf"
            path.write_bytes(made.data)
            await _one(made, path, outcome)
            path.unlink()
            if (await neighbour.ask(user("hello"), tokens=TOKENS)).text != told:
                outcome.wrong.append(f"{seed}, {made.what}: the neighbour answers otherwise")

    try:
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    finally:
        await neighbour.close()
    return outcome


async def _one(made: Mutant, path: Path, outcome: Outcome) -> None:
    head = _head(path)
    verdict = await examine(path, trial_child, LoopClock(), lambda _: None)
    outcome.ends[verdict.finding.value] += 1
    problem = _problem(head, verdict)
    if verdict.finding is Finding.SOUND:
        problem = problem or await _loaded(path)
    if problem:
        outcome.wrong.append(f"{made.seed}, {made.what}: {problem}")


def _head(path: Path) -> str:
    """Why the app's own reader refuses it, "" where it does not; anything but a ModelError fails the soak."""
    try:
        return extent.problem(path, read_header(path))
    except ModelError as error:
        return error.what


def _problem(head: str, verdict: Verdict) -> str:
    if verdict.finding is Finding.SOUND:
        return f"found sound, but its head is not: {head}" if head else ""
    if not verdict.what or not verdict.remedy:
        return f"refused without a reason or a remedy: {verdict}"
    if "exit code" in verdict.what:
        return f"an exception of our own: {verdict.what}"
    return "" if verdict.finding is not Finding.SLOW else f"hung: {verdict.what}"


async def _loaded(path: Path) -> str:
    """What goes wrong when the real engine takes it; "" where it writes."""
    model = RealModel(path, **PARAMS)
    try:
        await model.load(str(path))
        if model.loaded is None:
            return f"found sound, but not loaded: {model.state.error}"
        end = (await model.ask(user("hello"), tokens=TOKENS)).end
        if end.reason not in (FinishReason.LENGTH, FinishReason.STOP):
            return f"found sound, but it writes nothing: {end.error}"
        return f"the engine died: {model.state.notes}" if model._pair.engine.death else ""
    finally:
        await model.close()
