"""Which files may be loaded: by a check whose process the test plays, and by what is remembered."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.client import trial
from app.client.death import Death
from app.client.trust import Trust
from app.errors import EngineDied, ModelError, Unproven
from app.trial import limits
from app.verdict import SOUND, Finding, Verdict
from app.verdicts import Verdicts, identify
from app.wire import Examined, Progress
from tests.scripted_children import FakeClock, FakeLinks, begin, run, turns, until

LARGE = Verdict(Finding.LARGE, "It is too large.", "Close other programs.")
REFUSED = Verdict(Finding.REFUSED, "It is damaged.", "Download it again.")


class Checks:
    """A model file, what is known of files, and processes that find what the test says."""

    def __init__(self, folder: Path, *found: Any, **options: Any) -> None:
        self.path = folder / "m.gguf"
        self.path.write_bytes(b"GGUF\x03\0\0\0" + bytes(100))
        self.verdicts = Verdicts(folder / "checked.json")
        self.clock = FakeClock()
        self.links = FakeLinks(*found, name="check")
        self.told: list[Progress] = []
        self.trust = Trust(self.verdicts, self.links, clock=self.clock, **options)

    async def check(self) -> None:
        await self.trust.check(str(self.path), self.told.append)

    def refusal(self) -> ModelError:
        with pytest.raises(ModelError) as refusal:
            run(self.check())
        return refusal.value


def test_a_good_file_is_checked_once(tmp_path: Path) -> None:
    checks = Checks(tmp_path, Examined(SOUND))
    run(checks.check())
    assert [step.doing for step in checks.told] == ["Checking the file", "half way"]
    checks.told.clear()
    run(checks.check())
    assert checks.told == []
    assert [link.stops for link in checks.links.links] == [1]


def test_a_file_that_has_changed_is_checked_again(tmp_path: Path) -> None:
    checks = Checks(tmp_path, Examined(SOUND), Examined(REFUSED))
    run(checks.check())
    os.utime(checks.path, ns=(0, 7))
    assert str(checks.refusal()) == "It is damaged. Download it again."


@pytest.mark.parametrize("verdict", [REFUSED, LARGE])
def test_a_bad_file_is_looked_at_again_when_it_is_asked_for(tmp_path: Path, verdict: Verdict) -> None:  # fmt: skip
    checks = Checks(tmp_path, Examined(verdict), Examined(SOUND))
    assert str(checks.refusal()) == f"{verdict.what} {verdict.remedy}"
    assert checks.verdicts.get(identify(checks.path)) == verdict
    run(checks.check())
    assert checks.verdicts.get(identify(checks.path)) == SOUND


@pytest.mark.parametrize(
    ("verdict", "may"),
    [(LARGE, True), (Verdict(Finding.SLOW, "a", "b"), True), (REFUSED, False), (Verdict(Finding.CRASHED, "a", "b"), False)],
)  # fmt: skip
def test_only_what_was_not_proven_may_be_loaded_all_the_same(tmp_path: Path, verdict: Verdict, may: bool) -> None:  # fmt: skip
    checks = Checks(tmp_path, Examined(verdict))
    assert isinstance(checks.refusal(), Unproven) == may
    run(checks.trust.accept(str(checks.path)))
    if may:
        run(checks.check())
        assert len(checks.links.links) == 1
    else:
        checks.refusal()
    (tmp_path / "lenient").mkdir()
    lenient = Checks(tmp_path / "lenient", Examined(verdict), lenient=True)
    if may:
        run(lenient.check())
    else:
        lenient.refusal()


def test_who_asks_at_the_same_time_waits_for_the_first(tmp_path: Path) -> None:
    async def scenario() -> None:
        checks = Checks(tmp_path, Examined(SOUND))
        checks.links.gate = asyncio.Event()
        first, second = begin(checks.check()), begin(checks.check())
        await until(lambda: bool(checks.links.links))
        await turns()
        assert len(checks.links.links) == 1
        checks.links.gate.set()
        await asyncio.gather(first, second)
        assert len(checks.links.links) == 1

    run(scenario())


def test_cancelling_ends_the_process_and_nothing_is_remembered(tmp_path: Path) -> None:
    async def scenario() -> None:
        checks = Checks(tmp_path, Examined(SOUND))
        checks.links.gate = asyncio.Event()
        task = begin(checks.check())
        await until(lambda: bool(checks.links.links))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert checks.links.last.stops == 1
        assert checks.verdicts.get(identify(checks.path)) is None

    run(scenario())


def test_a_check_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async def scenario() -> None:
        checks = Checks(tmp_path, Examined(SOUND))
        checks.links.gate = asyncio.Event()
        task = begin(checks.check())
        await until(lambda: bool(checks.links.links))
        checks.clock.advance(limits.seconds(108) - 1)
        assert checks.links.last.killed == []
        checks.clock.advance(2)
        with pytest.raises(Unproven, match="too long"):
            await task
        assert checks.links.last.killed == ["took too long"]

    run(scenario())


def test_a_file_that_is_gone_or_no_model_needs_no_process(tmp_path: Path) -> None:
    checks = Checks(tmp_path, Examined(SOUND))
    checks.path.write_text("a letter")
    assert "not a model" in str(checks.refusal())
    checks.path.unlink()
    assert "no file" in str(checks.refusal())
    assert checks.links.links == []


def test_a_process_that_cannot_be_started_says_nothing_of_the_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        checks = Checks(tmp_path, Examined(SOUND))
        checks.links.gate = asyncio.Event()
        task = begin(checks.check())
        await until(lambda: bool(checks.links.links))
        checks.links.last.die(Death("check", started=False, why="no memory"))
        with pytest.raises(ModelError, match=r"could not be checked.*no memory"):
            await task
        assert checks.verdicts.get(identify(checks.path)) is None

    run(scenario())


@pytest.mark.parametrize(
    ("death", "finding", "words"),
    [
        (Death("check", exitcode=-signal.SIGSEGV), Finding.CRASHED, "SIGSEGV"),
        (Death("check", exitcode=-signal.SIGABRT), Finding.CRASHED, "SIGABRT"),
        (Death("check", exitcode=-250), Finding.CRASHED, "signal 250"),
        (Death("check", exitcode=1, last_words="x"), Finding.CRASHED, "exit code 1"),
        (Death("check", exitcode=0), Finding.CRASHED, "exit code 0"),
        (Death("check", exitcode=-signal.SIGXCPU), Finding.SLOW, "too long"),
        (Death("check", exitcode=-signal.SIGKILL, why="took too long"), Finding.SLOW, "too long"),
        (Death("check", exitcode=-signal.SIGKILL), Finding.LARGE, "memory"),
    ],
)
def test_the_end_of_the_process_is_a_verdict(death: Death, finding: Finding, words: str) -> None:
    verdict = trial.judged(death, "m.gguf")
    assert verdict.finding is finding
    assert words in verdict.what
    assert "m.gguf" in verdict.what
    assert verdict.remedy


@pytest.mark.parametrize(
    "death",
    [
        Death("check", started=False, why="no memory"),
        Death("check", exitcode=-signal.SIGILL),
        Death("check", exitcode=-signal.SIGKILL, why="speaks protocol 1 instead of 2"),
    ],
)
def test_an_end_that_is_no_fault_of_the_file_is_none(death: Death) -> None:
    with pytest.raises(EngineDied):
        trial.judged(death, "m.gguf")


def test_a_crash_before_llama_has_the_file_is_none() -> None:
    for number in (signal.SIGABRT, signal.SIGSEGV):
        with pytest.raises(EngineDied, match="the file is not at fault") as caught:
            trial.judged(Death("check", exitcode=-number), "m.gguf", began=False)
        assert caught.value.early
    for number, finding in ((signal.SIGKILL, Finding.LARGE), (signal.SIGXCPU, Finding.SLOW)):
        verdict = trial.judged(Death("check", exitcode=-number), "m.gguf", began=False)
        assert verdict.finding is finding


@pytest.mark.parametrize("limit", [limits.seconds, limits.processor_seconds, limits.memory])
def test_a_larger_file_may_take_more(limit: Callable[[int], float]) -> None:
    assert limit(0) < limit(10**9) < limit(10**12)


def test_what_was_found_does_not_count_for_a_file_that_came_meanwhile(tmp_path: Path) -> None:
    checks = Checks(tmp_path, Examined(SOUND), Examined(REFUSED))

    async def scenario() -> None:
        checks.links.gate = asyncio.Event()
        check = begin(checks.check())
        await until(lambda: bool(checks.links.links))
        checks.path.write_bytes(b"GGUF\x03\0\0\0" + bytes(99))
        checks.links.gate.set()
        with pytest.raises(ModelError, match=r"changed while it was checked\."):
            await check
        with pytest.raises(ModelError, match="It is damaged"):
            await checks.check()

    run(scenario())
