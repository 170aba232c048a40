"""Ten thousand hostile inputs, each to a chat of its own, while another chat answers; `make test` brings a few of each.

A part has 250 inputs.  What a fault names ("7 template 31") seeds the dice for that input alone.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from app.chat.models import FinishReason, Usage
from app.chat.ports import Ended
from tests import tiny_models
from tests.scripted_children import threads
from tests.soak import (
    gguf_file,
    hostile_content,
    hostile_grammars,
    hostile_metadata,
    hostile_templates,
)
from tests.soak.doors import LIMITS, Outcome, ended
from tests.soak.house import House
from tests.soak.oracle import CLOSE, Oracle
from tests.soak.siege import Deaths, Report, shown, siege
from tests.soak.trace import Trace

pytestmark = [pytest.mark.crash, pytest.mark.slow]

PARTS = 40
WHOLE = {"typed": 45, "posted": 55, "form": 70, "template": 50, "listed": 22, "file": 8}
FEW = {"typed": 6, "posted": 10, "form": 10, "template": 6, "listed": 8, "file": 1}
MOST_SLOWER = 3.0
"""How many times its median beside an idle text worker 99 of 100 steps of the other chat may take.

Those count in which the engine did nothing else: how long the others may be is for its pace to say.
"""
FEWEST_STEPS = 100


@pytest.fixture(scope="session")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.talker(tmp_path_factory.mktemp("talker") / "talker.gguf")


@pytest.fixture(scope="session")
def slow_talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One whose steps take some milliseconds, as those of real models do: else the system's own slices are all that is
    measured."""
    path = tmp_path_factory.mktemp("talker") / "slow.gguf"
    tiny_models.attention(path, tiny_models.Speech(), width=256, feed=768, layers=4)
    return path


@contextmanager
def oracle_of(path: Path) -> Iterator[Oracle]:
    made = Oracle(path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def no_threads_are_left() -> Iterator[None]:
    yield
    assert threads() == set()


def besieged(
    folder: Path, main: Path, talker: Path, part: int, counts: dict[str, int], *, alone: int
) -> Report:
    """Bring the inputs of a part; every fault is told, and what the other chat wrote with `main` is compared with the
    oracle's."""
    trace = Trace(folder / "trace.txt")

    async def whole() -> Report:
        async with siege(folder, main, talker, trace) as everything:
            await everything.alone(alone)
            report = await everything.run(part, counts)
            answers = everything.witness.answers
        with oracle_of(main) as oracle:
            for submit, text in (answers[0], answers[len(answers) // 2], answers[-1]):
                behind, place = oracle.worst(submit, text)
                if behind >= CLOSE:
                    report.faults.append(f"the other chat goes wrong at {place}: {text!r}")
        return report

    try:
        report = asyncio.run(whole())
    except BaseException as error:
        error.add_note(trace.tail())
        raise
    finally:
        trace.close()
    assert not report.faults, "\n".join([*report.faults, trace.tail()])
    assert report.inputs == sum(counts.values())
    return report


@pytest.mark.parametrize(
    "make",
    [
        hostile_content.typed,
        hostile_content.posted,
        hostile_grammars.form,
        hostile_templates.template,
    ],
)
def test_a_seed_draws_the_same_again_and_some_hundred_draw_every_kind(
    make: Callable[[Random], Any],
) -> None:
    drawn = [make(Random(f"7 {number}")) for number in range(400)]
    assert drawn[:40] == [make(Random(f"7 {number}")) for number in range(40)]
    kinds = {one.kind for one in drawn}
    assert len(kinds) >= 3
    assert all(kinds == {make(Random(f"{start} {n}")).kind for n in range(400)} for start in (8, 9))


def test_a_hostile_file_is_a_good_one_but_for_what_is_wrong(talker: Path) -> None:
    data = talker.read_bytes()
    good = gguf_file.read(data)
    assert good.packed() == data
    made = [hostile_metadata.model_file(Random(f"7 {number}"), good) for number in range(300)]
    assert len({one.kind for one in made}) == 20
    assert data not in [one.data for one in made]
    assert sum(one.data[:8] == data[:8] for one in made) > 200


@pytest.mark.parametrize(
    "words",
    ["Oh.", "It holds \ud800 and more.", "Traceback (most recent call last): x", "It is. " * 300],
)
def test_words_that_nobody_can_read_are_a_fault(words: str) -> None:
    assert Outcome(words).problem
    assert not Outcome("The file is damaged. Get it again.").problem


def test_an_end_without_a_word_is_a_fault() -> None:
    assert ended(None).problem
    assert ended(Ended(FinishReason.ERROR, Usage())).problem
    assert not ended(Ended(FinishReason.LENGTH, Usage())).problem


def test_a_death_that_no_chat_was_told_of_is_a_fault(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "trace.txt")
    house = House(trace, LIMITS)
    deaths = Deaths(house)
    house.ends += ["The text-worker was ended because it took longer.", "The engine stopped."]
    assert len(deaths.faults()) == 2
    deaths.seen(0, Outcome())
    # The engine that stopped of itself was followed by another one, which answered.
    assert deaths.faults() == [
        "no chat was told: The text-worker was ended because it took longer."
    ]
    deaths.seen(0, Outcome("It took longer than 2 s."))
    assert deaths.faults() == []
    trace.close()


def test_a_few_hostile_inputs(tmp_path: Path, talker: Path) -> None:
    report = besieged(tmp_path, talker, talker, 0, FEW, alone=1)
    ends = report.told()["ends"]
    for lane in FEW:
        assert any(end.startswith(lane) for end in ends), ends
    assert any(end.endswith("refused") for end in ends), ends
    assert any(end.endswith("answered") for end in ends), ends


@pytest.mark.soak
@pytest.mark.parametrize("part", range(1, PARTS + 1))
def test_ten_thousand_hostile_inputs(
    part: int, tmp_path: Path, slow_talker: Path, talker: Path, pytestconfig: pytest.Config
) -> None:
    report = besieged(tmp_path, slow_talker, talker, part, WHOLE, alone=4)
    told = report.told()
    pytestconfig.get_terminal_writer().line(f"\npart {part}: {shown(told)}")
    own = told["steps of its own"]
    assert own["count"] >= FEWEST_STEPS, own
    assert own["p99 / alone"] <= MOST_SLOWER, own
