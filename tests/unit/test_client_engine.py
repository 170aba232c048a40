"""Requests and their queues, over an engine played by the test, which dies as often as the test wants."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.client.death import Death
from app.client.engine import EngineClient
from app.client.recovery import DELAYS
from app.client.stream import EngineStream, Interrupted
from app.errors import EngineDied, EngineError, MemoryPart, ModelError, OutOfMemory
from app.sampling import Sampling
from app.wire import (
    Abort,
    Finished,
    FinishReason,
    Priority,
    ReadingNow,
    SetPriority,
    Submit,
    TokenOut,
    Usage,
    WaitingNow,
)
from tests.scripted_children import (
    LOADED,
    PARAMS,
    VOCABULARY,
    FakeClock,
    FakeLink,
    FakeLinks,
    begin,
    run,
    step,
    turns,
)


def request(*tokens: int, **options: Any) -> Submit:
    return Submit(0, tokens, Sampling(), **options)


def written(stream: EngineStream, *tokens: int) -> Any:
    return step(*(TokenOut(stream.request_id, token) for token in tokens))


class Made:
    """A client; `changes` counts what it told its owner."""

    def __init__(self, *greetings: Any) -> None:
        self.clock = FakeClock()
        self.links = FakeLinks(*(greetings or (LOADED,)))
        self.changes: list[bool] = []
        self.client = EngineClient(self.links, clock=self.clock, on_change=self._changed)

    def _changed(self) -> None:
        self.changes.append(self.client.serving)

    @property
    def link(self) -> FakeLink:
        return self.links.last

    @property
    def submitted(self) -> list[Submit]:
        """What the present engine was given."""
        return [message for message in self.link.sent if isinstance(message, Submit)]

    async def load(self) -> "Made":
        await self.client.load(PARAMS, lambda _: None)
        return self

    async def die(self, *, delay: float = DELAYS[-1]) -> None:
        """The engine dies, the pause passes, the next one is loaded."""
        self.link.die()
        await self.pass_pause(delay)

    async def pass_pause(self, delay: float = DELAYS[-1]) -> None:
        self.clock.advance(delay)
        await turns()


async def loaded(*greetings: Any) -> Made:
    return await Made(*greetings).load()


async def last(stream: EngineStream) -> Finished:
    """The end of a request that is over, which comes once and last."""
    events = await stream.events()
    ends = [event for event in events if isinstance(event, Finished)]
    assert len(ends) == 1
    assert events[-1] is ends[0]
    assert stream._queue.empty()
    return ends[0]


# --- one life ------------------------------------------------------------------------------------------------


def test_each_request_gets_its_own_events_in_order() -> None:
    async def scenario() -> None:
        made = await loaded()
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
        made = await loaded()
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
        made = await loaded()
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


def test_a_stop_ends_requests_with_an_error() -> None:
    async def scenario() -> None:
        made = await loaded()
        stream = made.client.submit(request(1))
        await made.client.stop()
        assert (await last(stream)).reason is FinishReason.ERROR
        assert made.link.stops == 1
        late = made.client.submit(request(1))
        assert (await last(late)).reason is FinishReason.ERROR
        await made.pass_pause()
        assert len(made.links.links) == 1

    run(scenario())


def test_speed_and_cached_share_come_from_the_counters() -> None:
    async def scenario() -> None:
        made = await loaded()
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
            with pytest.raises(error):
                await loaded(greeting)

    run(scenario())


def test_an_engine_that_dies_in_its_first_load_is_not_started_again() -> None:
    async def scenario() -> None:
        made = Made()
        made.links.gate = asyncio.Event()
        load = begin(made.load())
        await turns()
        made.link.die()
        with pytest.raises(EngineDied, match="SIGSEGV"):
            await load
        await made.pass_pause()
        assert len(made.links.links) == 1

    run(scenario())


# --- from one life to the next -------------------------------------------------------------------------------


def test_a_request_goes_on_from_what_it_had_written() -> None:
    async def scenario() -> None:
        made = await loaded()
        stream = made.client.submit(
            request(1, 2, 3, max_tokens=5, ignore_eos=True, end_tokens=(9,), marks=(1,))
        )
        (asked,) = made.submitted
        made.link.say(step(ReadingNow(stream.request_id, 3, 3, 2)), written(stream, 7, 8))
        await made.die()
        assert made.client.serving
        (again,) = made.submitted
        assert again == replace(
            asked, tokens=(1, 2, 3, 7, 8), max_tokens=3, marks=(1, 2), written=2
        )
        made.link.say(step(ReadingNow(stream.request_id, 5, 5, 4)), written(stream, 6))
        await made.die()
        assert made.submitted == [
            replace(asked, tokens=(1, 2, 3, 7, 8, 6), max_tokens=2, marks=(1, 2), written=3)
        ]
        end = Finished(stream.request_id, FinishReason.LENGTH, Usage(6, 2, 0))
        made.link.say(written(stream, 5, 4), step(end))
        events = await stream.events()
        assert [event.token for event in events if isinstance(event, TokenOut)] == [7, 8, 6, 5, 4]
        assert sum(isinstance(event, Interrupted) for event in events) == 2
        assert events[-1] == replace(end, usage=Usage(3, 5, 0))

    run(scenario())


def test_what_some_life_had_to_read_is_not_counted_as_cached() -> None:
    async def scenario() -> None:
        for told, expected in (((2, 3), 2), ((3, 2), 2), ((None, 3), 0)):
            made = await loaded()
            stream = made.client.submit(request(1, 2, 3, 4))
            if told[0] is not None:
                made.link.say(step(ReadingNow(stream.request_id, 4, 4, told[0])))
            await made.die()
            end = Finished(stream.request_id, FinishReason.STOP, Usage(4, 0, told[1] or 0))
            made.link.say(step(end))
            assert (await last(stream)).usage == Usage(4, 0, expected)

    run(scenario())


def test_requests_that_waited_are_asked_again_after_those_that_came_before() -> None:
    async def scenario() -> None:
        made = await loaded()
        streams = [made.client.submit(request(number)) for number in range(6)]
        made.link.say(
            *(step(WaitingNow(stream.request_id, 1)) for stream in streams[4:]),
            *(written(stream, 50) for stream in streams[:4]),
        )
        streams[1].close()
        made.link.die()
        meanwhile = made.client.submit(request(6))
        assert await meanwhile.events() == [Interrupted(meanwhile.request_id)]
        await made.pass_pause()
        assert [submit.tokens for submit in made.submitted] == [
            (0, 50),
            (2, 50),
            (3, 50),
            (4,),
            (5,),
            (6,),
        ]

    run(scenario())


def test_who_leaves_during_the_pause_is_not_asked_again() -> None:
    async def scenario() -> None:
        made = await loaded()
        aborted, closed, kept = (made.client.submit(request(number)) for number in range(3))
        made.link.die()
        aborted.abort()
        closed.close()
        kept.set_priority(Priority.FRONT)
        assert (await last(aborted)).reason is FinishReason.CANCELLED
        await made.pass_pause()
        (again,) = made.link.sent
        assert isinstance(again, Submit)
        assert (again.tokens, again.priority) == ((2,), Priority.FRONT)

    run(scenario())


def test_an_aborted_or_complete_request_ends_with_the_engine() -> None:
    async def scenario() -> None:
        made = await loaded()
        aborted, complete = made.client.submit(request(1)), made.client.submit(request(2))
        full = made.client.submit(request(3, max_tokens=2))
        only_read = made.client.submit(request(4, 5, max_tokens=0))
        end = Finished(complete.request_id, FinishReason.STOP, Usage())
        made.link.say(written(aborted, 7), written(full, 7, 8), step(end))
        aborted.abort()
        await made.die()
        assert made.submitted == []
        assert await last(complete) == end
        assert await last(aborted) == Finished(
            aborted.request_id, FinishReason.CANCELLED, Usage(1, 1, 0)
        )
        assert (await last(full)).reason is FinishReason.LENGTH
        assert (await last(only_read)).reason is FinishReason.ENGINE_DIED

    run(scenario())


def test_the_pause_grows_and_begins_anew_after_a_healthy_minute() -> None:
    async def scenario() -> None:
        made = await loaded()
        stream = made.client.submit(request(1))
        for delay in (*DELAYS, DELAYS[-1], DELAYS[-1]):
            made.link.say(written(stream, 5))
            births = len(made.links.links)
            await made.die(delay=delay * 0.9)
            assert len(made.links.links) == births + (not delay)
            await made.pass_pause(delay * 0.2)
            assert len(made.links.links) == births + 1
        made.clock.advance(60)
        await made.die(delay=DELAYS[0])
        assert made.client.serving
        assert made.client.counters.written == 0

    run(scenario())


def test_the_owner_hears_of_every_change() -> None:
    async def scenario() -> None:
        made = await loaded()
        assert made.changes == [True]
        made.link.die(Death("engine", exitcode=-6))
        assert (made.changes, made.client.death) == ([True, False], Death("engine", exitcode=-6))
        await made.pass_pause()
        # Half way, then there.
        assert made.changes == [True, False, False, True]
        assert made.client.fraction == 0.5

    run(scenario())


def test_an_engine_that_cannot_be_loaded_again_is_tried_three_times() -> None:
    async def scenario() -> None:
        starved = OutOfMemory("No memory.", part=MemoryPart.POOL)
        made = await loaded(LOADED, starved, EngineError("Broken."), LOADED)
        stream = made.client.submit(request(1))
        made.link.say(written(stream, 5))
        for _ in range(3):
            await made.die()
        assert made.client.serving
        assert [link.stops for link in made.links.links] == [0, 1, 1, 0]
        assert made.submitted[0].tokens == (1, 5)

        made = await loaded(LOADED, starved)
        stream = made.client.submit(request(1))
        for _ in range(5):
            await made.die()
        assert not made.client.serving
        assert len(made.links.links) == 3
        end = await last(stream)
        assert end.reason is FinishReason.ENGINE_DIED
        assert "could not be started again: No memory." in end.error
        assert "given up" in end.error
        assert made.client.over == (FinishReason.ENGINE_DIED, end.error)

    run(scenario())


def test_an_engine_that_refuses_the_file_is_the_last() -> None:
    async def scenario() -> None:
        made = await loaded(LOADED, ModelError("There is no such file."), LOADED)
        stream = made.client.submit(request(1))
        made.link.say(written(stream, 5))
        await made.die()
        end = await last(stream)
        assert end.reason is FinishReason.ENGINE_DIED
        assert end.error == "The engine could not be started again: There is no such file."
        assert made.client.over == (FinishReason.ENGINE_DIED, end.error)
        made.clock.advance(1000)
        await turns()
        assert [link.stops for link in made.links.links] == [0, 1]

    run(scenario())


def test_a_file_that_has_changed_is_not_gone_on_with() -> None:
    async def scenario() -> None:
        made = await loaded(LOADED, replace(LOADED, fingerprint="other"))
        stream = made.client.submit(request(1))
        made.link.say(written(stream, 5))
        await made.die()
        end = await last(stream)
        assert end.reason is FinishReason.ENGINE_DIED
        assert "file has changed" in end.error
        assert made.link.stops == 1
        assert made.changes[-1] is False

    run(scenario())


def test_a_load_that_hangs_is_ended_and_tried_again() -> None:
    async def scenario() -> None:
        made = await loaded()
        stream = made.client.submit(request(1))
        made.links.gate = asyncio.Event()
        await made.die()
        hung = made.link
        made.links.gate = None
        await made.pass_pause(59)
        assert hung.killed == []
        await made.pass_pause(2)
        assert hung.killed == ["did not load within 60 s"]
        await made.pass_pause()
        assert made.client.serving
        assert made.submitted[0].request_id == stream.request_id

    run(scenario())


@pytest.mark.parametrize("when", ["in the pause", "in the load"])
def test_a_stop_ends_a_restart(when: str) -> None:
    async def scenario() -> None:
        made = await loaded()
        stream = made.client.submit(request(1))
        made.links.gate = asyncio.Event()
        made.link.die()
        if when == "in the load":
            await made.pass_pause()
        births = len(made.links.links)
        await made.client.stop()
        assert (await last(stream)).reason is FinishReason.ERROR
        await made.pass_pause(100)
        assert len(made.links.links) == births
        assert made.link.death is not None

    run(scenario())


# --- who is to blame -----------------------------------------------------------------------------------------


def test_a_lone_request_that_ends_the_engine_twice_is_set_aside() -> None:
    async def scenario() -> None:
        made = await loaded()
        made.clock.advance(100)
        deadly, waiting = made.client.submit(request(1)), made.client.submit(request(2))
        for _ in range(2):
            made.link.say(step(WaitingNow(waiting.request_id, 1)))
            await made.die()
        end = await last(deadly)
        assert end.reason is FinishReason.ERROR
        assert "ended the engine twice" in end.error
        assert "SIGSEGV" in end.error
        assert [submit.tokens for submit in made.submitted] == [(2,)]

    run(scenario())


def test_deaths_with_a_token_in_between_set_nothing_aside() -> None:
    async def scenario() -> None:
        made = await loaded()
        stream = made.client.submit(request(1))
        for _ in range(20):
            made.link.say(written(stream, 5))
            await made.die()
        assert made.submitted[0].tokens == (1, *[5] * 20)

    run(scenario())


def test_of_several_suspects_each_is_let_in_by_itself_until_the_guilty_one_is_found() -> None:
    async def scenario() -> None:
        made = await loaded()
        streams = {
            name: made.client.submit(request(*name.encode())) for name in ("long", "bad", "x")
        }
        await made.die()
        assert len(made.submitted) == 3
        await made.die()
        # The shortest first; the others wait for its first token.
        assert [bytes(submit.tokens) for submit in made.submitted] == [b"x"]
        newcomer = made.client.submit(request(1))
        assert len(made.submitted) == 2
        made.link.say(written(streams["x"], 5), written(newcomer, 5))
        assert bytes(made.submitted[-1].tokens) == b"bad"
        assert len(made.submitted) == 3
        await made.die()
        assert (await last(streams["bad"])).reason is FinishReason.ERROR
        # The newcomer and the cleared one go on beside the last suspect.
        tokens = [bytes(submit.tokens) for submit in made.submitted]
        assert tokens == [b"x\x05", b"\x01\x05", b"long"]
        made.link.say(*(written(stream, 5) for stream in (*streams.values(), newcomer)))
        await made.die()
        assert len(made.submitted) == 3

    run(scenario())


def test_a_suspect_that_waits_keeps_the_next_one_out_and_one_that_leaves_lets_it_in() -> None:
    async def scenario() -> None:
        made = await loaded()
        streams = [made.client.submit(request(*range(size))) for size in (1, 2, 3)]
        await made.die()
        await made.die()
        assert len(made.submitted) == 1
        made.link.say(step(WaitingNow(streams[0].request_id, 1)))
        assert len(made.submitted) == 1
        streams[0].close()
        # The engine may be in the middle of it.
        assert len(made.submitted) == 1
        made.link.say(step(Finished(streams[0].request_id, FinishReason.CANCELLED, Usage())))
        assert len(made.submitted) == 2
        made.link.say(step(Finished(streams[1].request_id, FinishReason.STOP, Usage())))
        assert len(made.submitted) == 3

    run(scenario())


def test_the_engine_may_die_of_a_request_that_was_closed_a_moment_before() -> None:
    async def scenario() -> None:
        made = await loaded()
        deadly, reader = made.client.submit(request(1)), made.client.submit(request(1, 2))
        await made.die()
        deadly.close()
        await made.die()
        assert [submit.tokens for submit in made.submitted] == [(1, 2)]
        made.link.say(written(reader, 5))
        assert not reader.deaths

    run(scenario())


def test_a_suspect_that_others_wait_for_counts_as_the_most_urgent_of_them() -> None:
    async def scenario() -> None:
        made = await loaded()
        low = made.client.submit(request(1))
        other = made.client.submit(request(1, 2))
        await made.die()
        await made.die()
        (tried,) = made.submitted
        assert tried.request_id == low.request_id
        other.set_priority(Priority.FRONT)
        assert made.link.sent[-1] == SetPriority(low.request_id, Priority.FRONT)
        made.link.say(written(low, 5))
        assert SetPriority(low.request_id, low.priority) in made.link.sent
        assert made.submitted[-1].priority is Priority.FRONT

    run(scenario())


def test_nothing_is_read_beforehand_while_there_is_a_suspect() -> None:
    async def scenario() -> None:
        made = await loaded()
        streams = [made.client.submit(request(number)) for number in range(2)]
        await made.die()
        await made.die()
        warm_up = made.client.submit(request(9, max_tokens=0))
        assert len(made.submitted) == 1
        made.link.say(written(streams[0], 5))
        assert len(made.submitted) == 2
        made.link.say(written(streams[1], 5))
        assert made.submitted[-1].request_id == warm_up.request_id

    run(scenario())


def test_an_engine_that_has_worked_is_not_given_up_for_one_message_sent_again_and_again() -> None:
    async def scenario() -> None:
        made = await loaded()
        good = made.client.submit(request(1, max_tokens=1))
        made.link.say(
            written(good, 5), step(Finished(good.request_id, FinishReason.LENGTH, Usage()))
        )
        made.clock.advance(100)
        for _ in range(5):
            bad = made.client.submit(request(7))
            await made.die()
            await made.die()
            assert (await last(bad)).reason is FinishReason.ERROR
        assert made.client.serving

    run(scenario())


def test_the_front_suspect_is_tried_first() -> None:
    async def scenario() -> None:
        made = await loaded()
        _short = made.client.submit(request(1))
        front = made.client.submit(request(1, 2, 3, priority=Priority.FRONT))
        await made.die()
        await made.die()
        assert [submit.request_id for submit in made.submitted] == [front.request_id]

    run(scenario())


def test_an_engine_that_dies_three_times_in_vain_is_given_up() -> None:
    async def scenario() -> None:
        made = await loaded()
        streams = [made.client.submit(request(number)) for number in range(2)]
        made.link.say(*(written(stream, 5) for stream in streams))
        await made.die()  # with progress before it: not in vain
        await made.die()
        for stream in streams:
            stream.close()
            gone = Finished(stream.request_id, FinishReason.CANCELLED, Usage())
            made.link.say(step(gone))
        await made.die()
        assert made.client.serving
        last_one = made.client.submit(request(1))
        made.link.die()
        end = await last(last_one)
        assert end.reason is FinishReason.ENGINE_DIED
        assert "given up" in end.error
        assert made.changes[-1] is False
        await made.pass_pause()
        assert len(made.links.links) == 4

    run(scenario())
