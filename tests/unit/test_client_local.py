"""The local model's life and answers, over children played by the test."""

import asyncio
import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import qasync

from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.chat.models import ChatMessage, Role
from app.chat.ports import (
    Counting,
    Ended,
    LeftOut,
    Measured,
    Reading,
    Request,
    Text,
    Thought,
)
from app.chat.urgency import Urgency
from app.client.text_job import LONG
from app.dialogue import ChatLine, Thinking, ThoughtTags, Tool, Toolbox, Wishes
from app.errors import ModelError, TextError
from app.wire import (
    Abort,
    Finished,
    FinishReason,
    LoadParams,
    Priority,
    ReadingNow,
    Render,
    Rendered,
    TextFailed,
    Usage,
)
from tests.played_model import LOADS, PATH, Made, after, ask, collect, ends
from tests.scripted_children import (
    END,
    LOADED,
    VOCABULARY,
    begin,
    run,
    step,
    turns,
    until,
)

THINK = ThoughtTags("<think>", "</think>")

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


@pytest.mark.parametrize("dead", [False, True])
def test_who_leaves_an_answer_may_take_what_was_held_back(dead: bool) -> None:
    """Case 29: it is remembered as part of the answer, also where the engine died meanwhile."""

    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        request = ask("hi", stop=("###END",))
        task = begin(collect(made.model.generate(request)))
        await turns()
        made.write("Result: ##")
        await turns()
        if dead:
            made.engine.die()
            await turns()
        assert request.withheld.take() == [Text("##", 0)]
        task.cancel()
        await turns()
        assert task.cancelled()
        assert made.model.fed("Result: ##") == tuple(b"Result: ##")
        assert request.withheld.take() == ()
        await made.model.close()

    run(scenario())


def test_events_on_their_way_come_before_what_was_held_back() -> None:
    async def scenario() -> None:
        made = Made()
        made.texts.greetings = (replace(VOCABULARY, thinking=Thinking((THINK,))),)
        await made.model.load(PATH)
        request = ask("hi", stop=("###END",))
        events = made.model.generate(request)
        first = begin(after(events))
        await turns()
        made.write("<think>Well.</think>Result: ##")
        assert await first == Thought("Well.", 0)
        assert request.withheld.take() == [Text("Result: ", 30), Text("##", 0)]
        await events.aclose()
        assert request.withheld.take() == ()
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
        assert render.lines[1].ids == tuple(b"one")
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


def test_whatever_fails_in_a_request_fails_before_the_engine_hears_of_it() -> None:
    """Nobody would listen to what is written for it."""

    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        with pytest.raises(ValueError, match="Expecting"):
            await (await made.ask("hi", toolbox=Toolbox((Tool("t", "", "{"),))))
        assert made.engine.sent == []
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
        words = "The template is broken."
        # A program is told that it is at fault.
        assert ends(bad) == Ended(FinishReason.ERROR, Usage(), words, "invalid_value", "messages")
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
    # Qt's parts of the loop are in cycles: collected later, on a child's thread, they would bring the process down.
    gc.collect()


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
            format_name="scripted",
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


@pytest.mark.parametrize("late", ["engine", "text"])
def test_a_file_that_changes_between_the_two_that_open_it_is_refused(late: str) -> None:
    """The engine found one file at the path, and the text worker another, whichever of them was first."""

    async def scenario() -> None:
        made = Made()
        made.texts.greetings = (replace(VOCABULARY, fingerprint="other"), VOCABULARY)
        first = made.engines if late == "engine" else made.texts
        first.gate = asyncio.Event()
        load = begin(made.model.load(PATH))
        await turns()
        first.gate.set()
        await load
        assert made.model.state.phase is ModelPhase.FAILED
        words = "The model's file has changed since it was loaded. Load it again."
        assert made.model.state.error == words
        await made.model.load(PATH)
        assert made.model.state.phase is ModelPhase.READY
        await made.model.close()

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
        await until(lambda: len(made.submitted) == 1)
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
        await until(lambda: made.model.state.phase is ModelPhase.READY)
        assert len(made.engines.links) == 2
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
        await until(lambda: len(made.engines.links) == 2)
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


def test_a_file_is_looked_at_and_nothing_ends_for_it(tmp_path: Path) -> None:
    letter = tmp_path / "letter.gguf"
    letter.write_text("Dear reader")

    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi")
        with pytest.raises(ModelError, match=r"“letter\.gguf” is not a model in the GGUF format"):
            await made.model.check(str(letter))
        assert made.model.state.phase is ModelPhase.READY
        made.write("on", end=FinishReason.STOP)
        assert (await task)[-1].reason is FinishReason.STOP
        await made.model.close()

    run(scenario())


def test_reasoning_is_told_apart_and_given_back_with_its_own_ids() -> None:
    async def scenario() -> None:
        made = Made()
        made.texts.greetings = (replace(VOCABULARY, thinking=Thinking((THINK,))),)
        await made.model.load(PATH)
        task = await made.ask("hi")
        made.write("<think>\nWell.\n</th")
        await turns()
        made.write("ink>\n\nHello", end=FinishReason.STOP)
        told = await task
        assert [event for event in told if isinstance(event, Thought)] == [Thought("Well.", 18)]
        assert [event for event in told if isinstance(event, Text)] == [Text("Hello", 11)]
        assert made.model.fed("Hello") == tuple(b"Hello")
        assert made.model.fed("Well.") == tuple(b"Well.")
        lines = (
            ChatMessage(Role.USER, "hi"),
            ChatMessage(Role.ASSISTANT, "Hello", reasoning="Well."),
            ChatMessage(Role.USER, "and?"),
        )
        events = made.model.generate(Request(lines, thinking=False, effort="low", since=5.0))
        first = begin(after(events))
        await turns()
        render = made.texts.last.sent[-1]
        assert isinstance(render, Render)
        assert render.lines[1] == ChatLine(
            "assistant", "Hello", tuple(b"Hello"), "Well.", tuple(b"Well.")
        )
        assert render.wishes == Wishes(thinking=False, effort="low", now=5.0)
        await made.model.close()
        await first

    run(scenario())


def test_ids_that_the_chat_has_stored_go_before_what_is_remembered() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        line = ChatMessage(Role.ASSISTANT, "Hello", (1, 2), "Well.", (3,))
        events = made.model.generate(Request((line,)))
        first = begin(after(events))
        await turns()
        render = made.texts.last.sent[-1]
        assert isinstance(render, Render)
        assert render.lines == (ChatLine("assistant", "Hello", (1, 2), "Well.", (3,)),)
        await made.model.close()
        await first

    run(scenario())


# --- a chat that is full -------------------------------------------------------------------------------------


def talk(turns: int, size: int = 100) -> tuple[ChatMessage, ...]:
    """A system prompt, so many questions and answers, and the last question."""
    lines = [ChatMessage(Role.SYSTEM, "Be brief.")]
    for turn in range(turns):
        lines.append(ChatMessage(Role.USER, f"q{turn}".ljust(size, ".")))
        lines.append(ChatMessage(Role.ASSISTANT, f"a{turn}".ljust(size, ".")))
    return (*lines, ChatMessage(Role.USER, "and now?"))


def test_the_oldest_messages_are_left_out_where_not_all_fit() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        messages = talk(10)
        events = made.model.generate(Request(messages, max_tokens=50, may_leave_out=True))
        told = await anext(events)
        assert isinstance(told, LeftOut)
        (submit,) = made.submitted
        prompt = bytes(submit.tokens).decode()
        assert prompt.startswith("Be brief.q")
        assert prompt.endswith("and now?")
        # Two exchanges of 200 tokens are as near to six tenths of 1,024 as whole ones come, from below.
        assert len(submit.tokens) <= 0.6 * (LOADED.context_tokens - 50)
        assert told.messages == len(messages) - (len(submit.tokens) - 17) // 100 - 2
        assert submit.marks[-1] == len(submit.tokens) - len("and now?")
        await events.aclose()
        await made.model.close()

    run(scenario())


def test_without_leave_it_is_refused_with_numbers() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        ended = [event async for event in made.model.generate(Request(talk(10)))]
        assert ended[0].code == "context_length_exceeded"
        assert "2,017" in ended[0].error
        assert "1,024" in ended[0].error
        assert made.submitted == []
        await made.model.close()

    run(scenario())


def test_what_cannot_fit_alone_is_refused_though_the_rest_was_left_out() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        lines = (*talk(3)[:-1], ChatMessage(Role.USER, "x" * 2000))
        request = Request(lines, may_leave_out=True)
        ended = [event async for event in made.model.generate(request)]
        assert [event.code for event in ended] == ["context_length_exceeded"]
        assert "2,009" in ended[0].error
        assert made.submitted == []
        assert len(made.texts.last.sent) == 1, "it is counted once"
        await made.model.close()

    run(scenario())


@pytest.mark.parametrize("missing", [0, 1])
def test_the_tokens_of_a_long_text_are_counted_before_all_else(missing: int) -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        events = made.model.generate(ask("x" * (LONG - missing)))
        told = [event async for event in events]
        assert [type(event) for event in told] == [*[Counting] * (not missing), Ended]
        await made.model.close()

    run(scenario())


def test_a_count_that_is_stopped_ends_at_once_and_disturbs_nobody() -> None:
    async def scenario() -> None:
        made = Made(answering=False)
        await made.model.load(PATH)
        long = begin(collect(made.model.generate(ask("x" * LONG))))
        await turns()
        first, second = made.texts.links
        long.cancel()
        await asyncio.wait([long])
        other = begin(after(made.model.generate(ask("hello"))))
        await turns()
        (asked,) = second.sent
        second.say(Rendered(asked.request_id, (1, 2), ((0, 2),)))
        await turns()
        assert [submit.tokens for submit in made.submitted] == [(1, 2)]
        assert [type(message) for message in first.sent] == [Render]
        assert first.death is None
        await made.model.close()
        await other

    run(scenario())


def test_what_fits_is_sent_whole() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        events = made.model.generate(Request(talk(4), may_leave_out=True))
        first = begin(after(events))
        await turns()
        (submit,) = made.submitted
        assert len(submit.tokens) == 817
        await made.model.close()
        assert isinstance(await first, Ended)

    run(scenario())


# --- summaries ---------------------------------------------------------------------------------------------------

STANDS = ChatMessage(Role.USER, "It was about questions.", stays=True)


def test_what_stands_for_older_messages_is_sent_though_some_are_left_out() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        system, *rest = talk(10)
        events = made.model.generate(Request((system, STANDS, *rest), may_leave_out=True))
        told = await anext(events)
        (submit,) = made.submitted
        prompt = bytes(submit.tokens).decode()
        assert prompt.startswith("Be brief.It was about questions.q")
        assert isinstance(told, LeftOut)
        kept = (len(submit.tokens) - len("Be brief.It was about questions.and now?")) // 100
        assert told.messages == 20 - kept, "it is no message of the chat"
        await events.aclose()
        await made.model.close()

    run(scenario())


def test_it_goes_before_the_last_question_does() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        long = ChatMessage(Role.USER, "x" * 890)
        request = Request((ChatMessage(Role.SYSTEM, "Be brief."), STANDS, long), may_leave_out=True)
        first = begin(after(made.model.generate(request)))
        await turns()
        (submit,) = made.submitted
        assert bytes(submit.tokens).decode() == "Be brief." + "x" * 890
        await made.model.close()
        assert isinstance(await first, Ended)

    run(scenario())


def test_a_prompt_is_measured_without_the_engine() -> None:
    async def scenario() -> None:
        made = Made()
        lines = (ChatMessage(Role.SYSTEM, "Be brief."), ChatMessage(Role.USER, "and now?"))
        assert made.model.context_of("") == 0
        assert await made.model.measure(Request(lines)) is None
        await made.model.load(PATH)
        assert made.model.context_of(PATH) == made.model.context_of("") == LOADED.context_tokens
        assert made.model.context_of("/models/other.gguf") == 0
        assert await made.model.measure(Request(lines)) == Measured(17, (0, 9))
        assert made.submitted == []
        await made.model.close()

    run(scenario())


def test_the_prompt_of_an_answer_aside_is_not_the_last_one_of_its_chat() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        turn = await made.ask("a question", owner=3)
        fed = made.model.fed_prompt(3)
        assert fed is not None
        aside = await made.ask("something else", owner=3, aside=True)
        assert made.model.fed_prompt(3) == fed
        await made.model.close()
        await turn
        await aside

    run(scenario())
