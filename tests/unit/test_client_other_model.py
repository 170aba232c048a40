"""Requests that name a model: it is loaded where another is, once nobody answers with that; and what no memory is told as."""

import asyncio
from pathlib import Path

import pytest

from app.chat.model_state import ModelPhase
from app.chat.ports import Ended, Waiting
from app.client.death import Death
from app.errors import EngineDied, MemoryPart, ModelError, OutOfMemory
from app.wire import Finished, FinishReason, Usage
from tests.played_model import LOADS, Made, ask, ends
from tests.scripted_children import LOADED, begin, run, step, turns, until

TAKEN = Waiting(0, "another model is answering")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two that could be models."""
    paths = tmp_path / "one.gguf", tmp_path / "two.gguf"
    for path in paths:
        path.write_bytes(b"GGUF\x03\0\0\0")
    return str(paths[0]), str(paths[1])


def test_the_model_that_is_named_is_loaded_in_place_of_the_present_one(
    files: tuple[str, str],
) -> None:
    one, two = files

    async def scenario() -> None:
        made = Made()
        await made.model.load(one)
        assert made.model.model == one
        task = await made.ask("hi", model=two)
        await until(lambda: made.model.state.path == two and bool(made.submitted))
        assert made.model.state.phase is ModelPhase.READY
        assert len(made.engines.links) == 2
        made.write("Yes", end=FinishReason.STOP)
        assert (await task)[0] == LOADS
        assert ends(task).reason is FinishReason.STOP
        same = await made.ask("hi", model=two)
        made.write("Yes", end=FinishReason.STOP)
        assert LOADS not in await same
        await made.model.close()

    run(scenario())


def test_it_waits_for_the_answers_of_the_present_one_and_so_do_those_that_come_later(
    files: tuple[str, str],
) -> None:
    one, two = files

    async def scenario() -> None:
        made = Made()
        await made.model.load(one)
        first = await made.ask("hi", model=one)
        other = await made.ask("hi", model=two)
        later = await made.ask("hi")
        assert len(made.submitted) == 1
        made.write("Yes", end=FinishReason.STOP)
        await first
        assert ends(first).reason is FinishReason.STOP
        await until(lambda: made.model.state.path == two and bool(made.submitted))
        await until(lambda: len(made.submitted) == 2)
        for submit in tuple(made.submitted):
            made.engine.say(step(Finished(submit.request_id, FinishReason.STOP, Usage())))
        for task in (other, later):
            assert (await task)[0] == TAKEN
            assert ends(task).reason is FinishReason.STOP
        await made.model.close()

    run(scenario())


def test_a_file_that_is_gone_is_said_and_the_present_model_stays(files: tuple[str, str]) -> None:
    one, two = files
    Path(two).unlink()

    async def scenario() -> None:
        made = Made()
        await made.model.load(one)
        task = await made.ask("hi", model=two)
        words = "There is no file “two.gguf” any more. Choose another model."
        assert await task == [Ended(FinishReason.ERROR, Usage(), words)]
        assert (made.model.state.phase, made.model.state.path) == (ModelPhase.READY, one)
        await made.model.close()

    run(scenario())


def test_what_is_written_aside_changes_no_model(files: tuple[str, str]) -> None:
    one, two = files

    async def scenario() -> None:
        made = Made()
        await made.model.load(one)
        task = await made.ask("sum it up", model=two, aside=True)
        assert ends(task).reason is FinishReason.ERROR
        assert await made.model.measure(ask("hi", model=two)) is None
        await made.model.warm(ask("hi", model=two))
        assert made.submitted == []
        assert made.model.state.path == one
        await made.model.close()

    run(scenario())


def test_a_model_that_is_chosen_by_hand_meanwhile_ends_the_request(files: tuple[str, str]) -> None:
    one, two = files

    async def scenario() -> None:
        made = Made()
        await made.model.load(one)
        task = await made.ask("hi", model=two)
        await until(lambda: made.model.state.path == two)
        await made.model.load(one)
        await turns()
        await task
        assert "Another model was loaded" in ends(task).error
        assert made.model.state.path == one
        await made.model.close()

    run(scenario())


def test_a_load_that_somebody_chose_is_not_given_up_for_a_request(files: tuple[str, str]) -> None:
    one, two = files

    async def scenario() -> None:
        made = Made()
        made.engines.gate = asyncio.Event()
        loading = begin(made.model.load(one))
        await until(lambda: bool(made.engines.links))
        task = await made.ask("hi", model=two)
        await turns()
        assert made.model.state.path == one
        made.engines.gate.set()
        await loading
        await until(lambda: made.model.state.path == two and bool(made.submitted))
        assert ModelPhase.READY in {one.phase for one in made.states if one.path == files[0]}
        made.write("Yes", end=FinishReason.STOP)
        await task
        assert ends(task).reason is FinishReason.STOP
        await made.model.close()

    run(scenario())


@pytest.mark.parametrize(
    ("failure", "short_of"),
    [
        (OutOfMemory("No room for the pool.", part=MemoryPart.POOL), MemoryPart.POOL),
        (EngineDied("It was killed.", starved=True), MemoryPart.UNKNOWN),
        (EngineDied("It crashed."), None),
        (ModelError("It is damaged."), None),
    ],
)
def test_a_load_tells_what_there_was_no_memory_for(
    failure: Exception, short_of: MemoryPart | None
) -> None:
    async def scenario() -> None:
        made = Made(failure, LOADED)
        await made.model.load("/m.gguf")
        state = made.model.state
        assert state.phase is ModelPhase.FAILED
        assert str(failure) in state.error
        assert state.short_of is short_of
        assert made.model.model == "", "no chat is to remember what was never there"
        await made.model.load("/m.gguf")
        assert made.model.state.short_of is None
        await made.model.close()

    run(scenario())


def test_an_end_as_the_system_makes_it_for_want_of_memory() -> None:
    assert Death("engine", exitcode=-9).starved
    for death in (
        Death("engine", exitcode=-9, why="did not answer"),
        Death("engine", exitcode=-9, asked=True),
        Death("engine", exitcode=-11),
        Death("engine", exitcode=9),
        Death("engine"),
    ):
        assert not death.starved


def test_a_model_that_failed_is_tried_again_when_it_is_asked_for_by_name(
    files: tuple[str, str],
) -> None:
    one = files[0]

    async def scenario() -> None:
        made = Made(EngineDied("It is gone."), LOADED)
        await made.model.load(one)
        assert made.model.state.phase is ModelPhase.FAILED
        for told in (await made.ask("hi"), await made.ask("hi", model=one, aside=True)):
            assert ends(told).error == made.model.state.error
        task = await made.ask("hi", model=one)
        await until(lambda: bool(made.submitted))
        made.write("Yes", end=FinishReason.STOP)
        await task
        assert ends(task).reason is FinishReason.STOP
        await made.model.close()

    run(scenario())
