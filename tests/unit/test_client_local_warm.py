"""Urgency and warm-ups as the engine hears of them, over children played by the test."""

from app.chat.model_state import ModelPhase
from app.chat.urgency import Urgency
from app.wire import (
    Abort,
    Finished,
    FinishReason,
    Priority,
    Rendered,
    SetPriority,
    TextFailed,
    Usage,
)
from tests.played_model import PATH, Made, ask
from tests.scripted_children import (
    begin,
    run,
    step,
    turns,
)


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


def test_a_warm_up_reads_what_goes_before_the_next_message_and_once() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        warming = begin(made.model.warm(ask("hi", "Good day", owner=7)))
        await turns()
        (submit,) = made.submitted
        # The last token of a request that only reads is not read: it stands for the next message.
        assert bytes(submit.tokens) == b"hiGood dayx"
        assert (submit.max_tokens, submit.priority) == (0, Priority.BACKGROUND)
        assert submit.owner == 7
        assert submit.marks == (0,)
        made.engine.say(step(Finished(submit.request_id, FinishReason.LENGTH, Usage(11, 0, 0))))
        await warming
        await made.model.warm(ask("hi", "Good day"))
        assert made.engine.sent == [submit]
        await made.ask("hi", "Good day", "more")
        assert bytes(made.submitted[1].tokens).startswith(b"hiGood day")
        begin(made.model.warm(ask("hi", "Good day", "more", "less")))
        await turns()
        assert len(made.submitted) == 3
        await made.model.close()

    run(scenario())


def test_a_warm_up_that_is_cancelled_or_cut_is_stopped_and_may_come_again() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        warming = begin(made.model.warm(ask("hi")))
        await turns()
        warming.cancel()
        await turns()
        assert made.engine.sent[-1] == Abort(made.submitted[0].request_id)
        warming = begin(made.model.warm(ask("hi")))
        await turns()
        assert len(made.submitted) == 2
        made.engine.die()
        await warming
        assert made.model.state.phase is ModelPhase.LOADING
        await made.model.warm(ask("hi"))
        made.clock.advance(5)
        await turns()
        assert made.submitted == []
        begin(made.model.warm(ask("hi")))
        await turns()
        assert len(made.submitted) == 1
        await made.model.close()

    run(scenario())


def test_what_the_engine_died_of_twice_is_not_read_beforehand_again() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        for _ in range(2):
            warming = begin(made.model.warm(ask("hi")))
            await turns()
            assert len(made.submitted) == 1
            made.engine.die()
            await warming
            made.clock.advance(5)
            await turns()
        await made.model.warm(ask("hi"))
        assert made.submitted == []
        begin(made.model.warm(ask("hi", "Good day")))
        await turns()
        assert len(made.submitted) == 1
        await made.model.close()

    run(scenario())


def test_what_was_read_in_one_engine_is_read_again_in_the_next() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        for _ in range(2):
            warming = begin(made.model.warm(ask("hi")))
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
        await made.model.warm(ask("hi"))
        assert made.engines.links == []
        await made.model.load(PATH)
        refused, empty, long = (begin(made.model.warm(ask(text))) for text in "abc")
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
        warming = begin(made.model.warm(ask("hi")))
        await turns()
        made.clock.advance(31 * 60)
        assert made.model.state.phase is ModelPhase.READY
        await made.model.unload()
        await warming
        await made.model.close()

    run(scenario())
