"""Several models at once: beside each other while there is room, else in place of the one that was idle longest."""

import asyncio
import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.chat.model_state import ModelPhase
from app.chat.ports import Ended
from app.errors import MemoryPart, ModelError, OutOfMemory
from app.wire import Abort, FinishReason, Submit, TokenOut
from tests.played_ensemble import Played, done
from tests.played_model import ask, collect, ends
from tests.scripted_children import (
    LOADED,
    VOCABULARY,
    begin,
    run,
    step,
    turns,
    until,
)


def test_a_model_is_loaded_beside_another_and_both_answer_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path)
        first = await played.ask("one")
        second = await played.ask("two")
        assert played.loaded == ["one", "two"]
        assert not first.done()
        for name, task in (("two", second), ("one", first)):
            played.answer(name)
            assert ends(await done(task)).reason is FinishReason.STOP
        state = played.model.state
        assert (state.name, [other.name for other in state.others]) == ("two", ["one"])
        await played.answered("one")
        assert len(played.engines.links) == 2, "it was there"
        assert played.asked == [(played.file("two"), (played.file("one"),))]
        await played.model.close()
        assert played.loaded == []

    run(scenario())


@pytest.mark.parametrize(("room", "most"), [(2, 0), (9, 2)])
def test_without_room_the_one_that_was_idle_longest_goes(
    tmp_path: Path, room: int, most: int
) -> None:
    async def scenario() -> None:
        played = Played(tmp_path, room=room)
        played.model.set_most(most)
        for name in ("one", "two", "one"):
            await played.answered(name)
        await played.answered("three")
        assert played.loaded == ["one", "three"]
        running = await played.ask("one")
        await played.answered("two")
        assert played.loaded == ["one", "two"], "the one that answers stays"
        played.answer("one")
        assert ends(await done(running)).reason is FinishReason.STOP
        await played.model.close()

    run(scenario())


def test_where_all_answer_a_request_waits_for_the_end_of_answers(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path, room=1)
        running = await played.ask("one")
        other = begin(collect(played.model.generate(ask("hi", model=played.file("two")))))
        await turns()
        assert played.loaded == ["one"]
        played.answer("one")
        await until(lambda: played.loaded == ["two"] and played.submitted == 2)
        played.answer("two")
        for task in (running, other):
            assert ends(await done(task)).reason is FinishReason.STOP
        await played.model.close()

    run(scenario())


def test_as_many_go_as_it_takes(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path)
        for name in ("one", "two", "three"):
            await played.answered(name)
        played.room = 1
        await played.answered("four")
        assert played.loaded == ["four"]
        await played.model.close()

    run(scenario())


def test_two_that_come_at_once_for_the_same_model_load_it_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path)
        await played.answered("one")
        tasks = [
            begin(collect(played.model.generate(ask("hi", model=played.file(name)))))
            for name in ("two", "three", "two")
        ]
        await until(lambda: played.submitted == 4)
        assert sorted(played.loaded) == ["one", "three", "two"]
        for task in tasks:
            task.cancel()
            await asyncio.wait([task])
        await played.model.close()

    run(scenario())


def test_a_file_that_is_gone_is_said_at_once_and_nothing_changes(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path)
        await played.answered("one")
        before = played.model.state
        gone = ask("hi", model=str(tmp_path / "gone.gguf"))
        (end,) = await collect(played.model.generate(gone))
        assert isinstance(end, Ended)
        assert "There is no file “gone.gguf” any more" in end.error
        assert played.model.state == before
        await played.model.close()

    run(scenario())


def test_what_is_written_aside_loads_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path)
        await played.answered("one")
        task = await played.ask("two", aside=True)
        assert ends(task).reason is FinishReason.ERROR
        assert played.loaded == ["one"]
        await played.model.close()

    run(scenario())


def test_where_there_was_too_little_memory_after_all_the_idle_ones_go_and_it_is_tried_again(
    tmp_path: Path,
) -> None:
    starved = OutOfMemory("No room for the pool.", part=MemoryPart.POOL)

    async def scenario() -> None:
        played = Played(tmp_path, LOADED, starved, LOADED)
        await played.answered("one")
        await played.answered("two")
        assert played.loaded == ["two"]
        await played.model.close()

    run(scenario())


def test_one_that_cannot_be_loaded_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    starved = OutOfMemory("No room for the pool.", part=MemoryPart.POOL)

    async def scenario() -> None:
        played = Played(tmp_path, LOADED, starved)
        running = await played.ask("one")
        task = await played.ask("two")
        assert "No room for the pool" in ends(task).error
        state = played.model.state
        assert (state.phase, state.short_of) == (ModelPhase.FAILED, MemoryPart.POOL)
        assert [other.name for other in state.others] == ["one"]
        await played.model.load(played.file("one"))
        await turns()
        assert (played.model.state.name, played.model.state.others) == ("one", ())
        played.answer("one")
        assert ends(await done(running)).reason is FinishReason.STOP
        assert played.loaded == ["one"], "and it was not loaded again"
        await played.model.close()

    run(scenario())


def test_by_hand_a_model_comes_beside_comes_forward_and_goes_by_itself(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path)
        one, two = played.file("one"), played.file("two")
        await played.model.load(one)
        running = await played.ask("")
        assert await played.model.spares(two)
        await played.model.load(two)
        assert (played.loaded, played.model.model) == (["one", "two"], two)
        played.model.show(one)
        assert played.model.model == one
        assert await played.model.spares(two)
        assert not await played.model.spares(one), "it would be loaded again"
        await played.model.unload(two)
        assert (played.loaded, played.model.state.others) == (["one"], ())
        assert not running.done()
        await played.model.unload()
        await done(running)
        assert played.model.state.phase is ModelPhase.UNLOADED
        await played.model.close()

    run(scenario())


def test_by_hand_and_without_room_answers_are_ended_as_was_said_before(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path, room=1)
        await played.model.load(played.file("one"))
        assert await played.model.spares(played.file("two"))
        running = await played.ask("one")
        assert not await played.model.spares(played.file("two"))
        await played.model.load(played.file("two"))
        assert "Another model was loaded" in ends(await done(running)).error
        assert played.loaded == ["two"]
        await played.model.close()

    run(scenario())


def test_a_model_that_waits_for_its_turn_is_not_there_yet(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path, room=1)
        await played.model.load(played.file("one"))
        two = played.file("two")
        running = await played.ask("one")
        other = begin(collect(played.model.generate(ask("hi", model=two))))
        await turns()
        played.model.show(two)
        assert played.model.state.name == "one"
        assert not await played.model.spares(two)
        await played.model.load(two)
        assert (played.loaded, played.model.state.name) == (["two"], "two")
        assert ends(await done(running)).reason is FinishReason.ERROR
        await until(lambda: other.done() or played.submitted == 2)
        assert not other.done()
        played.answer("two")
        assert ends(await done(other)).reason is FinishReason.STOP
        await played.model.close()

    run(scenario())


def test_each_model_is_unloaded_when_nobody_has_asked_it_for_a_while(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path)
        played.model.set_idle_unload(1)
        await played.answered("one")
        played.clock.advance(40)
        await played.answered("two")
        played.clock.advance(30)
        await turns()
        assert played.loaded == ["two"]
        assert played.model.state.others == ()
        played.clock.advance(40)
        await turns()
        assert played.loaded == []
        assert played.model.state.phase is ModelPhase.UNLOADED
        await played.answered("")
        assert played.loaded == ["two"], "it is there again when it is asked"
        await played.model.close()

    run(scenario())


def test_the_first_request_loads_the_model_of_the_last_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        played = Played(tmp_path, path="one")
        assert played.model.state.phase is ModelPhase.UNLOADED
        await played.answered("")
        assert (played.loaded, played.asked) == (["one"], [])
        await played.model.close()

    run(scenario())


def test_the_present_model_comes_back_in_place_of_another_where_there_is_no_room(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        played = Played(tmp_path)
        await played.answered("one")
        await played.answered("two")
        played.model.show(played.file("one"))
        await played.model.unload()
        state = played.model.state
        assert (state.phase, played.loaded) == (ModelPhase.UNLOADED, ["two"])
        played.room = 1
        await played.answered("")
        assert (played.loaded, played.model.state.name) == (["one"], "one")
        await played.model.close()

    run(scenario())


def test_a_present_model_that_failed_says_so_and_nobody_answers_in_its_place(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        played = Played(tmp_path, LOADED, ModelError("It is damaged."), LOADED, room=1)
        await played.model.load(played.file("one"))
        running = await played.ask("one")
        played.room = 2
        await played.model.load(played.file("two"))
        assert played.model.state.phase is ModelPhase.FAILED
        played.room = 1
        played.answer("one")
        await done(running)
        assert "It is damaged" in ends(await played.ask("")).error
        assert played.loaded == ["one"]
        await played.answered("two")
        assert played.loaded == ["two"], "asked for by name it is tried again"
        await played.model.close()

    run(scenario())


def test_facts_are_those_of_the_model_that_is_asked(tmp_path: Path) -> None:
    other = replace(LOADED, context_tokens=77, fingerprint="0ther")

    async def scenario() -> None:
        played = Played(tmp_path, LOADED, other)
        played.texts.greetings = (VOCABULARY, replace(VOCABULARY, fingerprint="0ther"))
        await played.answered("one")
        await played.answered("two")
        one, two = played.file("one"), played.file("two")
        found = [played.model.context_of(path) for path in (one, two, "", "/none.gguf")]
        assert found == [LOADED.context_tokens, 77, 77, 0]
        assert await played.model.measure(ask("hi", model=one)) is not None
        assert await played.model.measure(ask("hi", model="/none.gguf")) is None
        task = await played.ask("one", owner=5)
        played.answer("one")
        await done(task)
        fed = played.model.fed_prompt(5)
        assert fed is not None
        assert fed.model == LOADED.fingerprint
        await played.model.forget(5)
        assert played.model.fed_prompt(5) is None
        await played.model.close()

    run(scenario())


@pytest.mark.parametrize("dropped", [False, True])
def test_a_request_that_is_left_ends_in_its_engine(tmp_path: Path, *, dropped: bool) -> None:
    """Closed, or only let go of."""

    async def scenario() -> None:
        played = Played(tmp_path)
        events = played.model.generate(ask("hi", model=played.file("one")))
        await anext(events)  # that it waits
        text = begin(after(events))
        await until(lambda: played.submitted == 1)
        number = next(
            one for one in played.engine("one").sent if isinstance(one, Submit)
        ).request_id
        played.engine("one").say(step(TokenOut(number, 65)))
        await text
        if dropped:
            del events
            gc.collect()
        else:
            await events.aclose()  # type: ignore[attr-defined]
        await turns()
        assert Abort(number) in played.engine("one").sent
        await played.model.close()

    async def after(events: Any) -> Any:
        return await anext(events)

    run(scenario())


@pytest.mark.parametrize("kept", [True, False])
def test_a_model_that_is_given_up_stays_among_those_there_are_where_it_is_to(
    tmp_path: Path, *, kept: bool
) -> None:
    async def scenario() -> None:
        played = Played(tmp_path, kept=("one", "two") if kept else ())
        await played.answered("one")
        await played.answered("two")
        played.model.show(played.file("one"))
        await played.give_up("two")
        state = played.model.state
        assert (state.name, state.phase) == ("one", ModelPhase.READY)
        found = [(other.name, other.phase) for other in state.others]
        assert found == ([("two", ModelPhase.FAILED)] if kept else [])
        if kept:
            assert "3 times in a row" in state.others[0].error
        await played.answered("one")
        await played.model.close()

    run(scenario())


def test_a_kept_model_that_failed_gives_its_place_to_no_other(tmp_path: Path) -> None:
    """The first of those that a server was given is the present one, whatever became of it meanwhile."""

    async def scenario() -> None:
        played = Played(tmp_path, kept=("one", "two"))
        one, two = played.file("one"), played.file("two")
        await played.model.load(one)
        await played.give_up("one")
        await played.model.load(two)
        played.model.show(one)
        state = played.model.state
        assert (state.path, state.phase) == (one, ModelPhase.FAILED)
        assert [(other.path, other.phase) for other in state.others] == [(two, ModelPhase.READY)]
        await played.answered("two")
        await played.model.close()

    run(scenario())
