"""The local model over real processes that die, hang and loop."""

import asyncio
import gc
import operator
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psutil
import pytest

from app.chat.model_state import ModelPhase
from app.chat.models import ChatMessage, Role
from app.chat.ports import Ended, Event, Reading, Request, Text, Waiting
from app.client.clock import Clock
from app.client.local import LocalModel
from app.client.means import Means
from app.client.text import TextClient
from app.dialogue import ChatLine
from app.errors import TextError
from app.wire import FinishReason, Usage
from tests import scripted_children
from tests.scripted_children import (
    PARAMS,
    Births,
    FakeClock,
    Script,
    begin,
    run,
    threads,
    turns,
    until,
)

pytestmark = [pytest.mark.crash, pytest.mark.slow]

ENDLESS = Script(answer=b"on and on ", endless=True)
FOLLOWING = Script(
    answer="".join(chr(65 + n % 26) + str(n) for n in range(250)).encode(), follows=True
)
"""Each of its places is known by what stands before it."""

AGAIN = Waiting(0, "the engine is starting again")
QUICKLY = (0.01,)


class Made:
    def __init__(self, *scripts: Script, clock: Clock | None = None) -> None:
        self.engines = Births(scripted_children.engine, *scripts, clock=clock)
        self.texts = Births(scripted_children.text_worker)
        means = Means(self.engines, self.texts, delays=QUICKLY)
        self.model = LocalModel(lambda _: PARAMS, means=means)

    async def stream(self, content: str, events: list[Event]) -> None:
        request = Request((ChatMessage(Role.USER, content),))
        async for event in self.model.generate(request):
            events.append(event)  # noqa: PERF401, looked at while it grows


def written(events: list[Event]) -> int:
    return sum(event.tokens for event in events if isinstance(event, Text))


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


async def all_write_on(streams: list[list[Event]]) -> None:
    """Wait until each has written some more than now."""
    goals = [written(events) + 10 for events in streams]
    await until(lambda: all(map(operator.ge, map(written, streams), goals)))


async def kill_in_the_middle_of_five_streams() -> None:
    """Five times over; each answer is at last what it would have been, and counted once."""
    made = Made(FOLLOWING)
    await made.model.load("/models/scripted.gguf")
    streams: list[list[Event]] = [[] for _ in range(5)]
    prompts = [f"chat {number}: " for number in range(5)]
    tasks = [
        begin(made.stream(prompt, events)) for prompt, events in zip(prompts, streams, strict=True)
    ]
    for kill in range(1, 6):
        await all_write_on(streams)
        pid = made.engines.children[-1].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(lambda kill=kill: all(events.count(AGAIN) == kill for events in streams))
    await asyncio.gather(*tasks)
    for prompt, events in zip(prompts, streams, strict=True):
        assert text_of(events) == FOLLOWING.answer.decode()
        ends = [event for event in events if isinstance(event, Ended)]
        length = len(FOLLOWING.answer)
        assert ends == [Ended(FinishReason.STOP, Usage(len(prompt), length, 0))]
        assert events[-1] is ends[0]
        assert written(events) == length
        assert events.count(AGAIN) == 5
    assert made.model.state.phase is ModelPhase.READY
    await made.model.close()
    assert [len(births.deaths) for births in (made.engines, made.texts)] == [6, 1]
    assert threads() == set()


def _with_asyncio(qapp: Any, scenario: Any) -> None:
    run(scenario)


def _with_qt(qapp: Any, scenario: Any) -> None:
    import qasync

    with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(qapp)) as runner:
        runner.run(scenario)
    # Qt's parts of the loop are in cycles: collected later, on a child's thread, they would bring the process down.
    gc.collect()


@pytest.mark.parametrize("loop", [_with_asyncio, _with_qt], ids=["asyncio", "qt"])
def test_a_killed_engine_ends_none_of_five_streams(
    qapp: Any, loop: Callable[[Any, Any], None]
) -> None:
    loop(qapp, kill_in_the_middle_of_five_streams())
    assert [
        child
        for child in psutil.Process().children()
        if "resource_tracker" not in " ".join(child.cmdline())
    ] == []


def test_a_message_that_kills_is_set_aside_and_its_neighbours_are_answered() -> None:
    async def scenario() -> None:
        made = Made(replace(FOLLOWING, answer=bytes(range(100, 200))))
        await made.model.load("/models/scripted.gguf")
        deadly: list[Event] = []
        good: list[list[Event]] = [[], []]
        tasks = [
            begin(made.stream("one", good[0])),
            begin(made.stream("KILL", deadly)),
            begin(made.stream("another one", good[1])),
        ]
        await asyncio.gather(*tasks)
        (end,) = (event for event in deadly if isinstance(event, Ended))
        assert end.reason is FinishReason.ERROR
        assert "ended the engine twice" in end.error
        assert "exit code 6" in end.error
        for events in good:
            (end,) = (event for event in events if isinstance(event, Ended))
            assert (end.reason, end.usage.completion_tokens) == (FinishReason.STOP, 100)
        assert made.model.state.phase is ModelPhase.READY
        assert len(made.engines.deaths) <= 3
        await made.model.close()
        assert threads() == set()

    run(scenario())


def test_an_engine_that_hangs_is_killed_and_its_requests_go_on() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        made = Made(Script(fault="stall"), Script(answer=b"Well again."), clock=clock)
        await made.model.load("/models/scripted.gguf")
        events: list[Event] = []
        task = begin(made.stream("hi", events))
        await until(lambda: events == [Reading(1, 2, 0)])
        clock.advance(70)
        await task
        assert "did not answer for" in made.engines.deaths[0].why
        assert text_of(events) == "Well again."
        await made.model.close()

    run(scenario())


def test_stopping_frees_the_engine_at_once_and_the_next_request_is_served() -> None:
    async def scenario() -> None:
        made = Made(ENDLESS)
        await made.model.load("/models/scripted.gguf")
        for _ in range(20):
            events: list[Event] = []
            task = begin(made.stream("hi", events))
            await until(lambda events=events: written(events) > 0)
            task.cancel()
            await asyncio.wait([task])
            assert not any(isinstance(event, Ended) for event in events)
        await until(lambda: made.model.status.running == 0)
        await made.model.close()

    run(scenario())


def test_closing_in_the_middle_of_a_load_leaves_nothing() -> None:
    async def scenario() -> None:
        made = Made(Script(fault="hang in load"))
        load = begin(made.model.load("/models/scripted.gguf"))
        await until(lambda: made.model.state.fraction == 0.5)
        await made.model.close()
        await load
        assert made.model.state.phase is ModelPhase.UNLOADED
        assert [len(births.deaths) for births in (made.engines, made.texts)] == [1, 1]
        assert threads() == set()

    run(scenario())


def test_an_endless_text_is_given_up_while_another_is_rendered() -> None:
    async def scenario() -> None:
        births = Births(scripted_children.text_worker)
        clock = FakeClock()
        client = TextClient(births, PARAMS, clock=clock)
        await client.load(lambda _: None)
        endless = begin(client.render([ChatLine("user", "LOOP")]))
        other = begin(client.render([ChatLine("user", "hello")]))
        count = begin(client.count("four"))
        await turns()
        clock.advance(2.1)
        with pytest.raises(TextError, match="took longer than"):
            await endless
        assert (await other).tokens == tuple(b"hello")
        assert await count == 4
        assert len(births.children) == 3  # one beside it, and one in its place
        assert births.deaths[0].exitcode == -signal.SIGKILL
        await client.stop()
        assert threads() == set()

    run(scenario())


def test_a_text_that_ends_its_worker_costs_its_own_request_alone() -> None:
    async def scenario() -> None:
        births = Births(scripted_children.text_worker)
        client = TextClient(births, PARAMS, clock=FakeClock())
        await client.load(lambda _: None)
        deadly, other = begin(client.render([ChatLine("user", "DIE")])), begin(client.count("four"))
        with pytest.raises(TextError, match="exit code 9"):
            await deadly
        assert await other == 4
        with pytest.raises(TextError, match="bad"):
            await client.render([ChatLine("user", "BAD")])
        assert len(births.children) == 3
        await client.stop()

    run(scenario())
