"""The local model over real processes that die, hang and loop."""

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from app.chat.models import ChatMessage, Role
from app.chat.ports import Ended, Event, ModelPhase, Request, Text
from app.client.local import LocalModel
from app.client.pair import Means
from app.client.text import TextClient
from app.errors import TextError
from app.wire import ChatLine, FinishReason
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


class Made:
    def __init__(self, *scripts: Script) -> None:
        self.engines = Births(scripted_children.engine, *scripts)
        self.texts = Births(scripted_children.text_worker)
        self.model = LocalModel(lambda _: PARAMS, means=Means(self.engines, self.texts))

    async def stream(self, content: str, events: list[Event]) -> None:
        request = Request((ChatMessage(Role.USER, content),))
        async for event in self.model.generate(request):
            events.append(event)  # noqa: PERF401, looked at while it grows


def written(events: list[Event]) -> int:
    return sum(event.tokens for event in events if isinstance(event, Text))


async def kill_in_the_middle_of_five_streams() -> None:
    made = Made(ENDLESS, Script(answer=b"Well again."))
    await made.model.load("/models/scripted.gguf")
    streams: list[list[Event]] = [[] for _ in range(5)]
    tasks = [begin(made.stream(f"chat {i}", events)) for i, events in enumerate(streams)]
    await until(lambda: all(written(events) > 3 for events in streams))
    pid = made.engines.children[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await asyncio.gather(*tasks)
    for events in streams:
        ends = [event for event in events if isinstance(event, Ended)]
        assert [end.reason for end in ends] == [FinishReason.ENGINE_DIED]
        assert events[-1] is ends[0]
        assert "SIGKILL" in ends[0].error
        text = "".join(event.text for event in events if isinstance(event, Text))
        assert ends[0].usage.completion_tokens == written(events) == len(text)
        assert text == ("on and on " * 99)[: len(text)]
    assert made.model.state.phase is ModelPhase.UNLOADED
    again: list[Event] = []
    await made.stream("again", again)
    assert "".join(event.text for event in again if isinstance(event, Text)) == "Well again."
    assert made.model.state.phase is ModelPhase.READY
    await made.model.close()
    assert [len(births.deaths) for births in (made.engines, made.texts)] == [2, 2]
    assert threads() == set()


def _with_asyncio(qapp: Any, scenario: Any) -> None:
    run(scenario)


def _with_qt(qapp: Any, scenario: Any) -> None:
    import qasync

    with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(qapp)) as runner:
        runner.run(scenario)


@pytest.mark.parametrize("loop", [_with_asyncio, _with_qt], ids=["asyncio", "qt"])
def test_a_killed_engine_ends_each_of_five_streams_once(
    qapp: Any, loop: Callable[[Any, Any], None]
) -> None:
    loop(qapp, kill_in_the_middle_of_five_streams())
    assert [
        child
        for child in psutil.Process().children()
        if "resource_tracker" not in " ".join(child.cmdline())
    ] == []


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
        assert len(births.children) == 2
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
