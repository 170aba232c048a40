"""A model is loaded once its file has passed its check, and not before."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.chat.model_state import ModelPhase, ModelState
from app.client.local import LocalModel
from app.client.trust import Trust
from app.errors import ModelError, Unproven
from app.verdict import CHECKING, SOUND, Finding, Verdict
from app.verdicts import Verdicts
from app.wire import Examined, LoadParams
from tests.played_model import ask, collect, ends
from tests.scripted_children import (
    LOADED,
    PARAMS,
    VOCABULARY,
    FakeClock,
    FakeLinks,
    begin,
    fake_means,
    run,
    turns,
    until,
)

CRASHED = Verdict(Finding.CRASHED, "It crashes the engine.", "Choose another.")
SLOW = Verdict(Finding.SLOW, "It took too long.", "It may hang.")


class Made:
    """A model whose check and children the test plays; `planned` are the files for which a plan was made."""

    def __init__(self, folder: Path, *found: Any) -> None:
        self.path = folder / "m.gguf"
        self.path.write_bytes(b"GGUF\x03\0\0\0" + bytes(100))
        self.checks = FakeLinks(*map(Examined, found), name="check")
        self.engines = FakeLinks(LOADED)
        self.planned: list[str] = []
        texts = FakeLinks(VOCABULARY, name="text-worker", replies=True)
        self.model = LocalModel(
            self._params,
            trust=Trust(Verdicts(folder / "checked.json"), self.checks, clock=FakeClock()),
            means=fake_means(self.engines, texts, FakeClock()),
        )
        self.states: list[ModelState] = []
        self.model.subscribe(self.states.append)

    def _params(self, path: str) -> LoadParams:
        self.planned.append(path)
        return replace(PARAMS, path=path)

    async def load(self) -> ModelState:
        await self.model.load(str(self.path))
        await turns()
        return self.model.state


def test_a_sound_file_is_loaded_and_the_check_is_shown(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, SOUND)
        assert (await made.load()).phase is ModelPhase.READY
        doing = [state.doing for state in made.states if state.phase is ModelPhase.LOADING]
        assert doing == ["starting the engine", CHECKING, "half way", "starting the engine", "half way"]  # fmt: skip
        await made.load()
        assert [len(links.links) for links in (made.checks, made.engines)] == [1, 2]
        await made.model.close()

    run(scenario())


@pytest.mark.parametrize(("verdict", "unproven"), [(CRASHED, False), (SLOW, True)])
def test_no_engine_and_no_plan_is_made_for_a_file_that_did_not_pass(
    tmp_path: Path, verdict: Verdict, unproven: bool
) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, verdict)
        state = await made.load()
        assert state.phase is ModelPhase.FAILED
        assert state.error == f"{verdict.what} {verdict.remedy}"
        assert state.unproven is unproven
        assert (made.engines.links, made.planned) == ([], [])
        await made.model.accept(str(made.path))
        assert (await made.load()).phase is (ModelPhase.READY if unproven else ModelPhase.FAILED)
        assert not (await made.load()).unproven
        await made.model.close()

    run(scenario())


def test_a_check_beside_a_serving_model_ends_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, SOUND, CRASHED, SLOW)
        await made.load()
        other = tmp_path / "other.gguf"
        other.write_bytes(b"GGUF\x03\0\0\0")
        told: list[float] = []
        with pytest.raises(ModelError, match="crashes the engine"):
            await made.model.examine(str(other), told.append)
        assert told == [0.0, 0.5]
        with pytest.raises(Unproven):
            await made.model.examine(str(other), told.append)
        told.clear()
        await made.model.examine(str(made.path), told.append)
        assert told == []
        assert made.model.state.phase is ModelPhase.READY
        assert made.engines.last.stops == 0
        await made.model.close()

    run(scenario())


def test_a_load_is_cancelled_in_the_middle_of_the_check(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, SOUND)
        made.checks.gate = asyncio.Event()
        load = begin(made.load())
        await until(lambda: bool(made.checks.links))
        await made.model.unload()
        await load
        assert made.model.state.phase is ModelPhase.UNLOADED
        assert made.checks.last.stops == 1
        assert made.engines.links == []
        await made.model.close()

    run(scenario())


@pytest.mark.parametrize("verdict", [CRASHED, SOUND])
def test_for_a_request_the_serving_model_goes_once_the_other_file_has_passed(
    tmp_path: Path, verdict: Verdict
) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, SOUND, verdict)
        await made.load()
        other = tmp_path / "other.gguf"
        other.write_bytes(b"GGUF\x03\0\0\0")
        made.checks.gate = asyncio.Event()
        request = begin(collect(made.model.generate(ask("hi", model=str(other)))))
        await until(lambda: len(made.checks.links) == 2)
        assert made.model.state.phase is ModelPhase.READY
        made.checks.gate.set()
        if verdict is CRASHED:
            await request
            assert ends(request).error == "It crashes the engine. Choose another."
            assert (made.model.state.phase, made.engines.last.stops) == (ModelPhase.READY, 0)
            assert made.model.state.path == str(made.path)
        else:
            await until(lambda: made.model.state.path == str(other))
            await until(lambda: len(made.engines.links) == 2)
            assert made.engines.links[0].stops == 1
            request.cancel()
        await made.model.close()

    run(scenario())
