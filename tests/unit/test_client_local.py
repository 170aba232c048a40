"""The local model's life and answers, over children played by the test."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import qasync

from app.chat.models import ChatMessage, Role
from app.chat.ports import (
    Ended,
    EngineStatus,
    Event,
    ModelPhase,
    ModelState,
    Reading,
    Request,
    Text,
    Waiting,
)
from app.chat.urgency import Urgency
from app.client.death import Death
from app.client.local import LocalModel
from app.errors import ModelError, TextError
from app.wire import (
    Abort,
    ChatLine,
    Finished,
    FinishReason,
    LoadParams,
    Priority,
    ReadingNow,
    Render,
    Rendered,
    SetPriority,
    Submit,
    TextFailed,
    TokenOut,
    Usage,
    WaitingNow,
)
from tests.scripted_children import (
    END,
    LOADED,
    PARAMS,
    VOCABULARY,
    FakeClock,
    FakeLink,
    FakeLinks,
    begin,
    fake_means,
    run,
    step,
    turns,
)

PATH = "/models/scripted.gguf"
LOADS = Waiting(0, "the model is loading")
AGAIN = Waiting(0, "the engine is starting again")


def ask(*contents: str, **options: Any) -> Request:
    """A conversation in which user and assistant take turns."""
    roles = (Role.USER, Role.ASSISTANT)
    lines = tuple(ChatMessage(roles[i % 2], content) for i, content in enumerate(contents))
    return Request(lines, **options)


class Made:
    """A model whose children the test plays."""

    def __init__(self, *greetings: Any, path: str = "", answering: bool = True) -> None:
        self.clock = FakeClock()
        self.engines = FakeLinks(*(greetings or (LOADED,)))
        self.texts = FakeLinks(VOCABULARY, name="text-worker", replies=answering)
        self.model = LocalModel(
            lambda path: replace(PARAMS, path=path),
            path=path,
            means=fake_means(self.engines, self.texts, self.clock),
        )
        self.states: list[ModelState] = []
        self.leave = self.model.subscribe(self.states.append)
        self.requests: list[asyncio.Task[list[Event]]] = []

    @property
    def engine(self) -> FakeLink:
        return self.engines.last

    @property
    def phases(self) -> list[ModelPhase]:
        found: list[ModelPhase] = []
        for state in self.states:
            if found[-1:] != [state.phase]:
                found.append(state.phase)
        return found

    @property
    def submitted(self) -> list[Submit]:
        return [m for m in self.engine.sent if isinstance(m, Submit)]

    async def ask(self, *contents: str, **options: Any) -> "asyncio.Task[list[Event]]":
        """Ask, and let it get as far as it comes."""
        task = begin(collect(self.model.generate(ask(*contents, **options))))
        await turns()
        return task

    async def die(self, death: Death | None = None) -> None:
        """The engine dies, and after the pause there is another."""
        self.engine.die(death)
        await turns()
        self.clock.advance(5)
        await turns()

    def write(self, text: str | bytes, *, end: FinishReason | None = None) -> None:
        """Have the engine write to the request that came last."""
        request_id = self.submitted[-1].request_id
        data = text.encode() if isinstance(text, str) else text
        events: list[Any] = [TokenOut(request_id, byte) for byte in data]
        if end is not None:
            usage = Usage(len(self.submitted[-1].tokens), len(data), 1)
            events.append(Finished(request_id, end, usage))
        self.engine.say(step(*events))


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


async def after(events: AsyncIterator[Event]) -> Event:
    return await anext(events)


def ends(task: "asyncio.Task[list[Event]]") -> Ended:
    """The one terminal event of a request that is over."""
    found = [event for event in task.result() if isinstance(event, Ended)]
    assert len(found) == 1
    assert task.result()[-1] is found[0]
    return found[0]


# --- answers -------------------------------------------------------------------------------------------------


def test_a_request_is_rendered_submitted_and_told() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask(
            "hi", max_tokens=7, ignore_eos=True, stop=("never",), urgency=Urgency(Priority.FRONT)
        )
        (submit,) = made.submitted
        assert submit.tokens == tuple(b"hi")
        assert (submit.max_tokens, submit.ignore_eos) == (7, True)
        assert submit.end_tokens == (END,)
        assert submit.priority is Priority.FRONT
        made.engine.say(step(ReadingNow(submit.request_id, 2, 2, 1)))
        await turns()
        made.write("Good")
        await turns()
        made.write(" day", end=FinishReason.STOP)
        assert await task == [
            Reading(2, 2, 1),
            Text("Good", 4),
            Text(" day", 4),
            Ended(FinishReason.STOP, Usage(2, 4, 1)),
        ]
        assert made.engine.sent == [submit]
        await made.model.close()

    run(scenario())


def test_a_chat_that_goes_on_is_rendered_with_the_ids_that_were_written() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi")
        made.write("Good day", end=FinishReason.STOP)
        await task
        await made.ask("hi", "Good day", "Good day")
        await made.ask("hi", "Good night", "more")
        renders = [m for m in made.texts.last.sent if isinstance(m, Render)]
        assert renders[1].lines == (
            ChatLine("user", "hi"),
            ChatLine("assistant", "Good day", tuple(b"Good day")),
            ChatLine("user", "Good day"),
        )
        assert renders[2].lines[1] == ChatLine("assistant", "Good night")
        await made.model.close()

    run(scenario())


def test_an_answer_that_was_left_is_remembered_as_far_as_it_was_shown() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        events = made.model.generate(ask("hi"))
        first = begin(after(events))
        await turns()
        made.write("Good")
        assert await first == Text("Good", 4)
        await events.aclose()
        await made.ask("hi", "Good", "go on")
        render = made.texts.last.sent[-1]
        assert isinstance(render, Render)
        assert render.lines[1].ids == tuple(b"Good")
        await made.model.close()

    run(scenario())


def test_the_formats_own_stop_strings_end_an_answer_that_may_end() -> None:
    async def scenario() -> None:
        made = Made()
        made.texts.greetings = (replace(VOCABULARY, stop=("User:",)),)
        await made.model.load(PATH)
        for ignore_eos, text in ((False, "one "), (True, "one User: two")):
            task = await made.ask("hi", ignore_eos=ignore_eos)
            made.write("one User: two", end=FinishReason.LENGTH)
            assert "".join(e.text for e in await task if isinstance(e, Text)) == text
        await made.model.close()

    run(scenario())


def test_what_a_render_had_to_do_otherwise_is_shown_once() -> None:
    async def scenario() -> None:
        made = Made(answering=False)
        await made.model.load(PATH)
        for number in (1, 2):
            await made.ask("hi")
            made.texts.last.say(Rendered(number, (1,), notes=("another format",)))
            await turns()
        assert made.model.state.notes == ("a note", "another format")
        assert len([s for s in made.states if s.notes == made.model.state.notes]) == 1
        await made.model.close()

    run(scenario())


def test_a_stop_string_aborts_the_request_and_ends_it_with_stop() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi", stop=("END",))
        made.write("oneENDtwo")
        await turns()
        assert made.engine.sent[-1] == Abort(made.submitted[0].request_id)
        made.write("three", end=FinishReason.CANCELLED)
        assert await task == [Text("one", 6), Ended(FinishReason.STOP, Usage(2, 6, 1))]
        await made.ask("hi", "one", "more")
        render = made.texts.last.sent[-1]
        assert isinstance(render, Render)
        assert render.lines[1].ids == ()
        await made.model.close()

    run(scenario())


def test_too_long_a_prompt_is_refused_before_the_engine_hears_of_it() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("x" * 1024)
        end = ends(task)
        assert (end.reason, end.code) == (FinishReason.ERROR, "context_length_exceeded")
        assert "1,024" in end.error
        assert made.engine.sent == []
        fits = await made.ask("x" * 1023)
        assert not fits.done()
        assert len(made.submitted) == 1
        await made.model.close()

    run(scenario())


def test_a_text_that_cannot_be_rendered_ends_its_request_alone() -> None:
    async def scenario() -> None:
        made = Made(answering=False)
        await made.model.load(PATH)
        bad, good = await made.ask("one"), await made.ask("two")
        made.texts.last.say(TextFailed(1, "The template is broken."))
        await turns()
        made.texts.last.say(Rendered(2, (1, 2)))
        await turns()
        assert ends(bad) == Ended(FinishReason.ERROR, Usage(), "The template is broken.")
        made.write("ok", end=FinishReason.STOP)
        await good
        assert ends(good).reason is FinishReason.STOP
        await made.model.close()

    run(scenario())


@pytest.mark.parametrize("how", ["close", "cancel", "drop"])
def test_whoever_leaves_early_stops_the_request(how: str) -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        events = made.model.generate(ask("hi"))
        first = begin(after(events))
        await turns()
        made.write("Go")
        await first
        if how == "close":
            await events.aclose()
        elif how == "cancel":
            second = begin(after(events))
            await turns()
            second.cancel()
            await turns()
            assert second.cancelled()
        else:
            del events, first
            await turns()
        assert made.engine.sent == [*made.submitted, Abort(made.submitted[0].request_id)]
        await made.model.close()

    run(scenario())


def test_an_iterator_that_is_dropped_stops_its_request_on_qts_loop_too(qapp: Any) -> None:
    """qasync has no hook that would close it for us."""

    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        events = made.model.generate(ask("hi"))
        first = begin(after(events))
        await turns()
        made.write("Go")
        await first
        del events, first
        await turns()
        assert made.engine.sent == [*made.submitted, Abort(made.submitted[0].request_id)]
        await made.model.close()

    with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(qapp)) as runner:
        runner.run(scenario())


def test_whoever_leaves_while_it_is_rendered_submits_nothing() -> None:
    async def scenario() -> None:
        made = Made(answering=False)
        await made.model.load(PATH)
        task = await made.ask("hi")
        task.cancel()
        await turns()
        made.texts.last.say(Rendered(1, (1, 2)))
        await turns()
        assert task.cancelled()
        assert made.engine.sent == []
        await made.model.close()

    run(scenario())


def test_tokens_are_counted_where_a_model_is_ready() -> None:
    async def scenario() -> None:
        made = Made()
        with pytest.raises(ModelError):
            await made.model.count_tokens("abc")
        await made.model.load(PATH)
        assert await made.model.count_tokens("abc") == 3
        await made.model.unload()
        with pytest.raises(ModelError):
            await made.model.count_tokens("abc")
        await made.model.close()

    run(scenario())


# --- life ----------------------------------------------------------------------------------------------------


def test_a_load_is_told_from_the_first_word_to_the_last() -> None:
    async def scenario() -> None:
        made = Made()
        assert made.model.state == ModelState()
        assert made.model.status == EngineStatus()
        await made.model.load(PATH)
        assert made.engine.params == LoadParams(PATH)
        await turns()
        assert made.phases == [ModelPhase.LOADING, ModelPhase.READY]
        assert any((s.fraction, s.doing) == (0.5, "half way") for s in made.states)
        assert made.states[-1] == made.model.state
        assert made.model.state == ModelState(
            ModelPhase.READY,
            path=PATH,
            name="scripted",
            device="CPU",
            fraction=1.0,
            context_tokens=1024,
            pool_tokens=2048,
            notes=("a note",),
        )
        assert made.model.loaded == LOADED
        made.leave()
        made.leave()
        await made.model.unload()
        await turns()
        assert made.phases[-1] is ModelPhase.READY
        await made.model.close()

    run(scenario())


def test_the_status_is_that_of_the_last_step() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        counts = {"running": 3, "reading": 1, "waiting": 2, "cells_used": 50, "cells_total": 2048}
        made.engine.say(step(prompt=10, reused=4, written=0, **counts))
        made.clock.advance(1.0)
        made.engine.say(step(prompt=10, reused=4, written=30, **counts))
        assert made.model.status == EngineStatus(tokens_per_second=30.0, cached_share=0.4, **counts)
        assert made.model.counters.written == 30
        await made.model.close()

    run(scenario())


def test_without_any_model_a_request_says_so() -> None:
    async def scenario() -> None:
        made = Made()
        task = await made.ask("hi")
        assert "No model is chosen" in ends(task).error
        assert len(task.result()) == 1

    run(scenario())


def test_requests_wait_for_a_load_and_the_first_one_begins_it() -> None:
    async def scenario() -> None:
        made = Made(path=PATH)
        made.engines.gate = asyncio.Event()
        assert made.model.state.phase is ModelPhase.UNLOADED
        tasks = [await made.ask(text) for text in ("a", "bb")]
        assert made.model.state.phase is ModelPhase.LOADING
        made.engines.gate.set()
        await turns()
        assert [submit.tokens for submit in made.submitted] == [(97,), (98, 98)]
        assert len(made.engines.links) == 1
        for submit in made.submitted:
            made.engine.say(step(Finished(submit.request_id, FinishReason.STOP, Usage())))
        for task in tasks:
            assert await task == [LOADS, Ended(FinishReason.STOP, Usage())]
        await made.model.close()

    run(scenario())


def test_a_load_that_fails_says_why_to_all_that_wait_and_that_come() -> None:
    async def scenario() -> None:
        made = Made(ModelError("This is no model."), path=PATH)
        first = await made.ask("hi")
        later = await made.ask("hi")
        assert first.result() == [LOADS, Ended(FinishReason.ERROR, Usage(), "This is no model.")]
        assert later.result() == [Ended(FinishReason.ERROR, Usage(), "This is no model.")]
        assert made.model.state.phase is ModelPhase.FAILED
        assert made.model.state.error == "This is no model."
        await turns()
        assert [link.death is not None for link in made.engines.links] == [True]
        assert made.texts.last.stops == 1

    run(scenario())


def test_a_load_that_is_cancelled_ends_what_waits_for_it_and_the_next_request_loads() -> None:
    async def scenario() -> None:
        made = Made()
        made.engines.gate = asyncio.Event()
        load = begin(made.model.load(PATH))
        await turns()
        waiting = await made.ask("hi")
        await made.model.unload()
        await load
        assert made.model.state == ModelState(ModelPhase.UNLOADED, path=PATH, name="scripted")
        assert "unloaded before the answer began" in (await waiting)[-1].error
        assert made.engine.stops == 1
        assert made.texts.last.stops == 1
        made.engines.gate = None
        await made.ask("again")
        assert len(made.submitted) == 1
        await made.model.close()

    run(scenario())


def test_another_model_ends_the_old_ones_requests_and_starts_when_it_is_gone() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        running = await made.ask("hi")
        old = made.engine
        old.stop_gate = asyncio.Event()
        load = begin(made.model.load("/models/other.gguf"))
        await turns()
        assert made.model.state.name == "other"
        assert made.engine is old
        old.stop_gate.set()
        await load
        end = ends(running)
        assert end.reason is FinishReason.ERROR
        assert "Another model was loaded" in end.error
        assert old.stops == 1
        assert made.engine is not old
        assert made.model.state.name == "other"
        await made.model.close()

    run(scenario())


def test_of_many_loads_the_last_one_counts_and_requests_wait_for_it() -> None:
    async def scenario() -> None:
        made = Made()
        made.engines.gate = asyncio.Event()
        loads = []
        for name in "abc":
            loads.append(begin(made.model.load(f"/models/{name}.gguf")))
            await turns()
            made.engine.stop_gate = made.engines.gate
        assert [link.stops for link in made.engines.links] == [1]
        waiting = await made.ask("hi")
        made.engines.gate.set()
        await asyncio.gather(*loads)
        await turns()
        assert made.model.state.name == "c"
        assert made.model.state.phase is ModelPhase.READY
        assert [link.stops for link in made.engines.links] == [1, 0]
        made.write("x", end=FinishReason.STOP)
        assert (await waiting)[0] == LOADS
        await made.model.close()
        assert [link.stops for link in made.engines.links] == [1, 1]

    run(scenario())


def test_unloading_ends_requests_and_the_next_one_loads_again() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        running = await made.ask("hi")
        await made.model.unload()
        assert ends(running).reason is FinishReason.ERROR
        assert "unloaded" in ends(running).error
        assert made.model.state.phase is ModelPhase.UNLOADED
        assert made.engine.stops == 1
        await made.ask("again")
        assert len(made.engines.links) == 2
        assert made.model.state.phase is ModelPhase.READY
        await made.model.close()

    run(scenario())


def test_a_request_that_is_being_rendered_is_ended_by_an_unload() -> None:
    async def scenario() -> None:
        made = Made(answering=False)
        await made.model.load(PATH)
        rendering = await made.ask("hi")
        await made.model.unload()
        assert "unloaded" in (await rendering)[-1].error
        await made.model.close()

    run(scenario())


def test_a_closed_model_answers_with_an_error_and_loads_nothing() -> None:
    async def scenario() -> None:
        made = Made(path=PATH)
        await made.model.close()
        await made.model.load(PATH)
        task = await made.ask("hi")
        assert ends(task).reason is FinishReason.ERROR
        assert made.engines.links == []
        await made.model.close()

    run(scenario())


# --- the engine dies -----------------------------------------------------------------------------------------


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


def test_an_engine_that_dies_in_its_load_has_failed() -> None:
    async def scenario() -> None:
        made = Made(path=PATH)
        made.engines.gate = asyncio.Event()
        task = await made.ask("hi")
        made.engine.die()
        assert (await task)[-1].reason is FinishReason.ERROR
        assert made.model.state.phase is ModelPhase.FAILED
        assert "stopped unexpectedly" in made.model.state.error
        await turns()
        assert made.texts.last.stops == 1
        await made.model.close()

    run(scenario())


# --- urgency -------------------------------------------------------------------------------------------------


def test_a_change_of_urgency_reaches_the_engine_in_the_middle_of_an_answer() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        urgency = Urgency()
        task = await made.ask("hi", urgency=urgency)
        (submit,) = made.submitted
        urgency.set(Priority.FRONT)
        urgency.set(Priority.FRONT)
        assert made.engine.sent == [submit, SetPriority(submit.request_id, Priority.FRONT)]
        made.engine.die()
        urgency.set(Priority.BACKGROUND)
        made.clock.advance(5)
        await turns()
        assert made.submitted[0].priority is Priority.BACKGROUND
        made.write("x", end=FinishReason.STOP)
        await task
        urgency.set(Priority.NORMAL)
        assert len(made.engine.sent) == 1
        await made.model.close()

    run(scenario())


# --- warm-ups ------------------------------------------------------------------------------------------------


def talk(*contents: str) -> tuple[ChatMessage, ...]:
    return ask(*contents).messages


def test_a_warm_up_reads_what_goes_before_the_next_message_and_once() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        warming = begin(made.model.warm(talk("hi", "Good day")))
        await turns()
        (submit,) = made.submitted
        # The last token of a request that only reads is not read: it stands for the next message.
        assert bytes(submit.tokens) == b"hiGood dayx"
        assert (submit.max_tokens, submit.priority) == (0, Priority.BACKGROUND)
        assert submit.marks == (0,)
        made.engine.say(step(Finished(submit.request_id, FinishReason.LENGTH, Usage(11, 0, 0))))
        await warming
        await made.model.warm(talk("hi", "Good day"))
        assert made.engine.sent == [submit]
        await made.ask("hi", "Good day", "more")
        assert bytes(made.submitted[1].tokens).startswith(b"hiGood day")
        begin(made.model.warm(talk("hi", "Good day", "more", "less")))
        await turns()
        assert len(made.submitted) == 3
        await made.model.close()

    run(scenario())


def test_a_warm_up_that_is_cancelled_or_cut_is_stopped_and_may_come_again() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        warming = begin(made.model.warm(talk("hi")))
        await turns()
        warming.cancel()
        await turns()
        assert made.engine.sent[-1] == Abort(made.submitted[0].request_id)
        warming = begin(made.model.warm(talk("hi")))
        await turns()
        assert len(made.submitted) == 2
        made.engine.die()
        await warming
        assert made.model.state.phase is ModelPhase.LOADING
        await made.model.warm(talk("hi"))
        made.clock.advance(5)
        await turns()
        assert made.submitted == []
        begin(made.model.warm(talk("hi")))
        await turns()
        assert len(made.submitted) == 1
        await made.model.close()

    run(scenario())


def test_what_was_read_in_one_engine_is_read_again_in_the_next() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        for _ in range(2):
            warming = begin(made.model.warm(talk("hi")))
            await turns()
            (submit,) = made.submitted
            made.engine.say(step(Finished(submit.request_id, FinishReason.LENGTH, Usage(3, 0, 0))))
            await warming
            await made.die()
        await made.model.close()

    run(scenario())


def test_a_warm_up_loads_nothing_and_fails_in_silence() -> None:
    async def scenario() -> None:
        made = Made(path=PATH, answering=False)
        await made.model.warm(talk("hi"))
        assert made.engines.links == []
        await made.model.load(PATH)
        refused, empty, long = (begin(made.model.warm(talk(text))) for text in "abc")
        await turns()
        made.texts.last.say(TextFailed(1, "The template is broken."))
        await turns()
        made.texts.last.say(Rendered(2, (1,), ((0, 0), (0, 1))))
        await turns()
        made.texts.last.say(Rendered(3, tuple(range(1100)), ((0, 0), (1099, 1100))))
        for task in (refused, empty, long):
            await task
        assert made.engine.sent == []
        await made.model.close()

    run(scenario())


def test_a_warm_up_keeps_the_model_from_being_unloaded() -> None:
    async def scenario() -> None:
        made = Made()
        made.model.set_idle_unload(30)
        await made.model.load(PATH)
        warming = begin(made.model.warm(talk("hi")))
        await turns()
        made.clock.advance(31 * 60)
        assert made.model.state.phase is ModelPhase.READY
        await made.model.unload()
        await warming
        await made.model.close()

    run(scenario())


# --- left alone, and bugs ------------------------------------------------------------------------------------


def test_an_idle_model_is_unloaded_and_a_busy_one_is_not() -> None:
    async def scenario() -> None:
        made = Made()
        made.model.set_idle_unload(30)
        await made.model.load(PATH)
        made.clock.advance(29 * 60)
        task = await made.ask("hi")
        made.clock.advance(100 * 60)
        made.write("x", end=FinishReason.STOP)
        await task
        made.clock.advance(29 * 60)
        assert made.model.state.phase is ModelPhase.READY
        made.clock.advance(2 * 60)
        assert made.model.state.phase is ModelPhase.UNLOADED
        await turns()
        assert made.engine.stops == 1
        await made.ask("again")
        assert len(made.engines.links) == 2
        await made.model.close()

    run(scenario())


def test_a_listener_that_fails_does_not_hurt_the_model() -> None:
    async def scenario() -> None:
        made = Made()
        seen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))

        def fail(state: ModelState) -> None:
            raise TextError("a bug")

        made.model.subscribe(fail)
        await made.model.load(PATH)
        await turns()
        assert made.model.state.phase is ModelPhase.READY
        assert seen
        assert made.phases[-1] is ModelPhase.READY
        await made.model.close()

    run(scenario())


def test_a_load_that_breaks_by_a_bug_is_a_failed_load_and_the_bug_is_told() -> None:
    async def scenario() -> None:
        made = Made(KeyError("bug"))
        seen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
        await made.model.load(PATH)
        assert made.model.state.phase is ModelPhase.FAILED
        await turns()
        assert [type(context["exception"]) for context in seen] == [KeyError]
        assert made.engine.stops == 1
        await made.model.close()

    run(scenario())
