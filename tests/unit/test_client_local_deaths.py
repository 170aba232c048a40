"""What a death of the engine is to answers, and how it is shown, over children played by the test."""

import asyncio
from pathlib import Path

import pytest

from app.chat.model_state import EngineStatus, ModelPhase
from app.chat.ports import (
    Ended,
    Text,
)
from app.client.death import Death
from app.wire import (
    Finished,
    FinishReason,
    Forget,
    Rendered,
    Usage,
    WaitingNow,
)
from tests.played_model import AGAIN, PATH, Made, ends
from tests.scripted_children import (
    run,
    step,
    turns,
)


def test_answers_go_on_in_the_next_engine_as_if_nothing_had_been() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi", max_tokens=20, stop=("END",))
        made.write("Good \N{EURO SIGN}".encode()[:-1])
        await made.die(Death("engine", exitcode=-6))
        (again,) = made.submitted
        assert bytes(again.tokens) == "hiGood \N{EURO SIGN}".encode()[:-1]
        assert again.max_tokens == 20 - 7
        made.write("\N{EURO SIGN}".encode()[-1:] + b"uro EN")
        await made.die(Death("engine", exitcode=-6))
        made.write(b"D and more")
        await turns()
        made.write(b"", end=FinishReason.CANCELLED)
        assert await task == [
            Text("Good ", 7),
            AGAIN,
            Text("\N{EURO SIGN}uro ", 7),
            AGAIN,
            Ended(FinishReason.STOP, Usage(2, 15, 0)),
        ]
        assert made.texts.last.stops == 0
        await made.model.close()

    run(scenario())


def test_a_death_is_shown_as_a_load_and_told_once_it_is_over() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi")
        made.engine.die(Death("engine", exitcode=-6))
        await turns()
        state = made.model.state
        assert (state.phase, state.doing, state.error) == (
            ModelPhase.LOADING,
            "the engine is starting again",
            "",
        )
        assert made.model.status == EngineStatus()
        # Another question takes its place behind it.
        other = await made.ask("and this")
        made.clock.advance(5)
        await turns()
        assert made.phases == [
            ModelPhase.LOADING,
            ModelPhase.READY,
            ModelPhase.LOADING,
            ModelPhase.READY,
        ]
        assert any(s.fraction == 0.5 for s in made.states[-3:])
        assert made.model.state.context_tokens == 1024
        assert made.model.state.notes[0] == "a note"
        assert "SIGABRT" in made.model.state.notes[1]
        assert "started again" in made.model.state.notes[1]
        for submit in made.submitted:
            made.engine.say(step(Finished(submit.request_id, FinishReason.STOP, Usage(9, 0, 0))))
        assert await task == [AGAIN, Ended(FinishReason.STOP, Usage(2, 0, 0))]
        assert await other == [AGAIN, Ended(FinishReason.STOP, Usage(9, 0, 0))]
        await made.model.close()

    run(scenario())


def test_a_stop_string_that_the_death_overtakes_still_ends_the_answer() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi", stop=("END",))
        made.write("oneENDtwo")
        made.engine.die()
        assert await task == [Text("one", 6), Ended(FinishReason.STOP, Usage(2, 6, 0))]
        made.clock.advance(5)
        await turns()
        assert made.submitted == []
        await made.model.close()

    run(scenario())


def test_whoever_leaves_while_there_is_no_engine_is_forgotten() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi")
        made.engine.die()
        await turns()
        task.cancel()
        await turns()
        assert task.cancelled()
        made.clock.advance(5)
        await turns()
        assert made.model.state.phase is ModelPhase.READY
        assert made.submitted == []
        await made.model.close()

    run(scenario())


@pytest.mark.parametrize("how", ["unload", "load", "close"])
def test_what_waits_for_the_next_engine_is_ended_with_the_model(how: str) -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi")
        made.engine.die()
        await turns()
        if how == "load":
            await made.model.load("/models/other.gguf")
        else:
            await (made.model.unload() if how == "unload" else made.model.close())
        assert ends(task).reason is FinishReason.ERROR
        births = len(made.engines.links)
        made.clock.advance(100)
        await turns()
        assert len(made.engines.links) == births
        await made.model.close()

    run(scenario())


def test_a_request_that_is_being_rendered_when_the_engine_dies_waits_for_the_next() -> None:
    async def scenario() -> None:
        made = Made(answering=False)
        await made.model.load(PATH)
        rendering = await made.ask("hi")
        made.engine.die()
        made.texts.last.say(Rendered(1, (1, 2)))
        await turns()
        made.clock.advance(5)
        await turns()
        assert made.submitted[0].tokens == (1, 2)
        made.write("x", end=FinishReason.STOP)
        assert (await rendering)[0] == AGAIN
        await made.model.close()

    run(scenario())


def test_a_message_that_ends_the_engine_twice_is_set_aside_with_words() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi")
        await made.die()
        await made.die()
        assert ends(task).reason is FinishReason.ERROR
        assert "ended the engine twice" in ends(task).error
        assert ends(task).usage == Usage(2, 0, 0)
        good = await made.ask("ho")
        made.write("x", end=FinishReason.STOP)
        assert (await good)[-1] == Ended(FinishReason.STOP, Usage(2, 1, 1))
        await made.model.close()

    run(scenario())


def test_an_engine_that_keeps_dying_soon_is_given_up_until_it_is_loaded_by_hand() -> None:
    async def scenario() -> None:
        made = Made(path=PATH)
        first = await made.ask("hi")
        made.write("a")
        made.clock.advance(100)
        await made.die()
        for _ in range(3):
            assert made.model.state.phase is ModelPhase.READY
            # It waits, so that it is not to blame.
            made.engine.say(step(WaitingNow(made.submitted[0].request_id, 1)))
            await made.die()
        assert made.model.state.phase is ModelPhase.FAILED
        assert "given up" in made.model.state.error
        assert ends(first) == Ended(
            FinishReason.ENGINE_DIED, Usage(2, 1, 0), made.model.state.error
        )
        refused = await made.ask("hi")
        assert "given up" in ends(refused).error
        assert len(made.engines.links) == 4
        assert made.texts.last.stops == 1
        await made.model.load(PATH)
        assert made.model.state.phase is ModelPhase.READY
        assert made.model.state.notes == ("a note",)
        await made.model.close()

    run(scenario())


def test_a_chat_that_is_deleted_while_there_is_no_engine_is_forgotten_by_the_next() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        await made.model.forget(3)
        assert made.engine.sent == [Forget(3)]
        made.engine.die()
        await made.model.forget(4)
        await made.model.forget(5)
        made.clock.advance(5)
        await turns()
        assert set(made.engine.sent) == {Forget(4), Forget(5)}
        await made.model.close()

    run(scenario())


def test_an_engine_that_dies_while_the_vocabulary_is_read_is_started_again() -> None:
    async def scenario() -> None:
        made = Made(path=PATH)
        made.texts.gate = asyncio.Event()
        task = await made.ask("hi")
        # The engine has loaded, its text worker has not.
        made.engine.die()
        made.texts.gate.set()
        await turns()
        assert made.model.state.phase is ModelPhase.LOADING
        made.clock.advance(5)
        await turns()
        assert made.model.state.phase is ModelPhase.READY
        made.write("x", end=FinishReason.STOP)
        assert (await task)[-1].reason is FinishReason.STOP
        await made.model.close()

    run(scenario())


def test_an_engine_that_is_given_up_while_the_vocabulary_is_read_has_failed() -> None:
    async def scenario() -> None:
        made = Made(path=PATH)
        made.texts.gate = asyncio.Event()
        task = await made.ask("hi")
        for _ in range(3):
            await made.die()
        made.texts.gate.set()
        assert (await task)[-1].reason is FinishReason.ERROR
        assert "given up" in made.model.state.error
        assert made.model.state.phase is ModelPhase.FAILED
        await turns()
        assert made.texts.last.stops >= 1
        await made.model.close()

    run(scenario())


def test_an_engine_that_dies_in_its_load_has_failed() -> None:
    async def scenario() -> None:
        made = Made(path=PATH)
        made.engines.gate = asyncio.Event()
        task = await made.ask("hi")
        made.engine.die()
        end = (await task)[-1]
        assert isinstance(end, Ended)
        assert end.reason is FinishReason.ERROR
        assert end.error == made.model.state.error
        assert made.model.state.phase is ModelPhase.FAILED
        # What, why, and what to do.
        assert f"“{Path(PATH).name}” could not be loaded. " in end.error
        assert "stopped unexpectedly" in end.error
        assert end.error.endswith("get it again, or choose another model.")
        await turns()
        assert made.texts.last.stops == 1
        await made.model.close()

    run(scenario())
