"""Requests and their queues, over a child played by the test."""

from typing import Any

import pytest

from app.client.death import Death
from app.client.engine import EngineClient
from app.errors import EngineError, ModelError
from app.wire import (
    Abort,
    Finished,
    FinishReason,
    Priority,
    ReadingNow,
    Sampling,
    SetPriority,
    Submit,
    TokenOut,
    Usage,
)
from tests.scripted_children import (
    LOADED,
    PARAMS,
    VOCABULARY,
    FakeClock,
    FakeLink,
    FakeLinks,
    run,
    step,
)


def request(*tokens: int, **options: Any) -> Submit:
    return Submit(0, tokens, Sampling(), **options)


class Made:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.links = FakeLinks(LOADED)
        self.deaths: list[Death] = []
        self.client = EngineClient(self.links, clock=self.clock, on_death=self.deaths.append)

    @property
    def link(self) -> FakeLink:
        return self.links.last


def test_each_request_gets_its_own_events_in_order() -> None:
    async def scenario() -> None:
        made = Made()
        first, second = made.client.submit(request(1, 2)), made.client.submit(request(3))
        a, b = first.request_id, second.request_id
        assert made.link.sent == [
            Submit(a, (1, 2), Sampling()),
            Submit(b, (3,), Sampling()),
        ]
        made.link.say(
            step(TokenOut(a, 10), ReadingNow(b, 1, 1, 0)),
            step(TokenOut(a, 11), TokenOut(b, 20), Finished(a, FinishReason.STOP, Usage(2, 2, 0))),
        )
        assert await first.events() == [
            TokenOut(a, 10),
            TokenOut(a, 11),
            Finished(a, FinishReason.STOP, Usage(2, 2, 0)),
        ]
        assert await second.events() == [ReadingNow(b, 1, 1, 0), TokenOut(b, 20)]

    run(scenario())


def test_late_events_of_a_closed_request_are_dropped() -> None:
    async def scenario() -> None:
        made = Made()
        stream = made.client.submit(request(1))
        other = made.client.submit(request(1))
        stream.close()
        stream.close()
        assert Abort(stream.request_id) in made.link.sent
        made.link.say(step(TokenOut(stream.request_id, 5), TokenOut(other.request_id, 6)))
        made.link.say(step(Finished(stream.request_id, FinishReason.CANCELLED, Usage())))
        made.link.say(step(TokenOut(99, 5), Finished(99, FinishReason.STOP, Usage())))
        assert await other.events() == [TokenOut(other.request_id, 6)]
        assert stream._queue.empty()

    run(scenario())


def test_an_aborted_request_still_gets_its_end_and_is_not_aborted_after_it() -> None:
    async def scenario() -> None:
        made = Made()
        stream = made.client.submit(request(1))
        stream.abort()
        stream.set_priority(Priority.FRONT)
        end = Finished(stream.request_id, FinishReason.CANCELLED, Usage(1, 0, 0))
        made.link.say(step(end))
        assert await stream.events() == [end]
        stream.abort()
        stream.set_priority(Priority.NORMAL)
        stream.close()
        assert made.link.sent[1:] == [
            Abort(stream.request_id),
            SetPriority(stream.request_id, Priority.FRONT),
        ]

    run(scenario())


def test_a_death_ends_every_request_once_and_all_that_follow() -> None:
    async def scenario() -> None:
        made = Made()
        streams = [made.client.submit(request(1, 2, 3)) for _ in range(5)]
        done = made.client.submit(request(1))
        made.link.say(
            step(
                ReadingNow(streams[0].request_id, 3, 3, 2),
                TokenOut(streams[0].request_id, 7),
                Finished(done.request_id, FinishReason.STOP, Usage()),
            )
        )
        made.link.die(Death("engine", exitcode=-6))
        made.client.end(FinishReason.ERROR, "too late")
        ends = [(await stream.events())[-1] for stream in [*streams, done]]
        assert [end.reason for end in ends if isinstance(end, Finished)] == [
            *[FinishReason.ENGINE_DIED] * 5,
            FinishReason.STOP,
        ]
        assert isinstance(ends[0], Finished)
        assert ends[0].usage == Usage(3, 1, 2)
        assert "SIGABRT" in ends[0].error
        assert all(stream._queue.empty() for stream in streams)
        late = made.client.submit(request(1))
        assert [type(event) for event in await late.events()] == [Finished]
        assert len(made.deaths) == 1

    run(scenario())


def test_a_stop_ends_requests_with_an_error() -> None:
    async def scenario() -> None:
        made = Made()
        stream = made.client.submit(request(1))
        await made.client.stop()
        (end,) = await stream.events()
        assert isinstance(end, Finished)
        assert end.reason is FinishReason.ERROR
        assert made.link.stops == 1

    run(scenario())


def test_speed_and_cached_share_come_from_the_counters() -> None:
    async def scenario() -> None:
        made = Made()
        assert made.client.cached_share is None
        for total in range(0, 80, 8):
            made.link.say(step(written=total, prompt=200, reused=150, running=8))
            made.clock.advance(0.1)
        assert made.client.tokens_per_second == pytest.approx(80)
        assert made.client.cached_share == 0.75
        assert made.client.counters.running == 8

    run(scenario())


def test_a_load_gives_what_the_engine_said_or_its_reason() -> None:
    async def scenario() -> None:
        made = Made()
        assert await made.client.load(PARAMS, lambda _: None) == LOADED
        for greeting, error in ((ModelError("no"), ModelError), (VOCABULARY, EngineError)):
            client = EngineClient(
                FakeLinks(greeting), clock=FakeClock(), on_death=made.deaths.append
            )
            with pytest.raises(error):
                await client.load(PARAMS, lambda _: None)

    run(scenario())
