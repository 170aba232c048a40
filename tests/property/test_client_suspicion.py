"""Whoever ends the engine whenever it is let in is set aside, whoever comes, waits, writes and leaves beside it."""

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from app.client.engine import EngineClient
from app.client.stream import EngineStream
from app.client.suspicion import is_suspect
from app.sampling import Sampling
from app.wire import (
    Abort,
    Begun,
    Finished,
    FinishReason,
    Priority,
    SetPriority,
    Submit,
    TokenOut,
    Usage,
    WaitingNow,
)
from tests.scripted_children import LOADED, PARAMS, FakeClock, FakeLinks, run, step, turns

POISON = 7
MOST_DEATHS = 3
"""Two make it a suspect, and the third is that of its trial."""

MOVES = st.lists(
    st.tuples(
        st.sampled_from(["step"] * 8 + ["ask"] * 6 + ["abort", "close", "warm", "class"]),
        st.integers(1, 9),
        st.sampled_from(list(Priority)),
    ),
    max_size=40,
)
"""What the engine and people do: a number is the size of a prompt, or says which request is meant."""


@dataclass
class Crowded:
    """An engine with `room` for so many requests, the most urgent first, which writes a token for each that has been read,
    one of its prompt's tokens in a step.

    It says who waits, and who that has waited begins, before the step in which it dies of one.
    """

    room: int
    links: FakeLinks
    waiting: list[Submit] = field(default_factory=list)
    running: list[Submit] = field(default_factory=list)
    read: dict[int, int] = field(default_factory=dict)
    taken: int = 0
    life: int = 1
    deaths: int = 0

    def take_commands(self) -> None:
        if self.life != len(self.links.links):
            self.life, self.taken = len(self.links.links), 0
            self.waiting, self.running, self.read = [], [], {}
        sent = self.links.last.sent
        while self.taken < len(sent):
            message = sent[self.taken]
            self.taken += 1
            if isinstance(message, Submit):
                self.waiting.append(message)
            elif isinstance(message, SetPriority):
                self.waiting = [_of_class(one, message) for one in self.waiting]
            elif isinstance(message, Abort):
                self.drop(message.request_id)

    def drop(self, request_id: int) -> None:
        known = [one.request_id for one in (*self.waiting, *self.running)]
        self.waiting = [one for one in self.waiting if one.request_id != request_id]
        self.running = [one for one in self.running if one.request_id != request_id]
        if request_id in known:
            self.links.last.say(step(Finished(request_id, FinishReason.CANCELLED, Usage())))

    def step(self) -> None:
        self.take_commands()
        link = self.links.last
        self.waiting.sort(key=lambda one: one.priority)
        while self.waiting and len(self.running) < self.room:
            one = self.waiting.pop(0)
            link.say(Begun((one.request_id,)))
            self.running.append(one)
        link.say(step(*(WaitingNow(one.request_id, 1) for one in self.waiting)))
        if any(one.tokens[0] == POISON for one in self.running):
            self.deaths += 1
            link.die()
            return
        running, self.running = self.running, []
        for one in running:
            self.go_on(one)

    def go_on(self, one: Submit) -> None:
        """Read one token of the prompt, or write one; it stays where it has not ended."""
        link, key = self.links.last, one.request_id
        self.read[key] = self.read.get(key, 0) + 1
        left = one
        if self.read[key] > len(one.tokens) and one.max_tokens:
            link.say(step(TokenOut(key, 5)))
            left = replace(one, max_tokens=one.max_tokens - 1)
        if left.max_tokens == 0 and self.read[key] >= len(one.tokens):
            link.say(step(Finished(key, FinishReason.LENGTH, Usage())))
        else:
            self.running.append(left)


def _of_class(one: Submit, change: SetPriority) -> Submit:
    ours = one.request_id == change.request_id
    return replace(one, priority=change.priority) if ours else one


def _reason(stream: EngineStream) -> FinishReason:
    ends = []
    while not stream._queue.empty():
        event = stream._queue.get_nowait()
        if isinstance(event, Finished):
            ends.append(event.reason)
    (reason,) = ends
    return reason


Move = tuple[str, int, Priority]


@dataclass
class House:
    """The client, its engine, and who asks."""

    client: EngineClient
    engine: Crowded
    clock: FakeClock
    innocent: list[EngineStream] = field(default_factory=list)
    warm_ups: list[EngineStream] = field(default_factory=list)
    closed: list[EngineStream] = field(default_factory=list)

    def ask(self, first: int, size: int, most: int, priority: Priority) -> EngineStream:
        tokens = (first, *[1] * (size - 1))
        submit = Submit(0, tokens, Sampling(), max_tokens=most, priority=priority)
        return self.client.submit(submit)

    async def play(self, moves: list[Move]) -> None:
        for what, number, priority in moves:
            chosen = self.innocent[number % len(self.innocent)] if self.innocent else None
            if what == "ask":
                self.innocent.append(self.ask(1, number, 1 + number % 3, priority))
            elif what == "warm":
                self.warm_ups.append(self.ask(1, number, 0, Priority.BACKGROUND))
            elif what == "step":
                await self.go_on()
            elif chosen is not None and what == "abort":
                chosen.abort()
            elif chosen is not None and what == "class":
                chosen.set_priority(priority)
            elif chosen is not None and what == "close":
                self.innocent.remove(chosen)
                self.closed.append(chosen)
                chosen.close()

    async def go_on(self) -> None:
        if self.client.serving:
            self.engine.step()
        else:
            self.clock.advance(5)
            await turns(8)

    async def finish(self) -> None:
        """Until the engine has nothing to do."""
        while self.client._streams:
            await self.go_on()

    async def show_that_it_works(self) -> None:
        """An engine that never wrote is given up sooner."""
        first = self.ask(1, 1, 1, Priority.FRONT)
        await self.finish()
        assert _reason(first) is FinishReason.LENGTH

    def kill(self) -> None:
        """End the engine from outside, unless somebody is just looked for, who would be found."""
        if self.client.serving and not any(map(is_suspect, self.client._streams.values())):
            self.engine.take_commands()
            self.engine.links.last.die()

    def check(self) -> None:
        ends = {_reason(stream) for stream in self.innocent}
        assert ends <= {FinishReason.LENGTH, FinishReason.CANCELLED}
        for warm_up in self.warm_ups:
            assert _reason(warm_up) in (FinishReason.LENGTH, FinishReason.ENGINE_DIED)
        assert all(stream._queue.empty() or stream._finished for stream in self.closed)
        assert self.client.over is None


async def _house(room: int) -> House:
    links = FakeLinks(LOADED)
    clock = FakeClock()
    client = EngineClient(links, clock=clock, on_change=lambda: None)
    await client.load(PARAMS, lambda _: None)
    return House(client, Crowded(room, links), clock)


@settings(max_examples=100)
@given(MOVES, MOVES, st.integers(1, 4), st.integers(1, 9), st.sampled_from(list(Priority)))
def test_whoever_ends_the_engine_is_set_aside_and_nobody_else(
    before: list[Move], after: list[Move], room: int, size: int, priority: Priority
) -> None:
    async def scenario() -> None:
        house = await _house(room)
        await house.play(before)
        poisoned = house.ask(POISON, size, 2, priority)
        await house.play(after)
        await house.finish()
        assert _reason(poisoned) is FinishReason.ERROR
        assert house.engine.deaths <= MOST_DEATHS
        house.check()
        await house.client.stop()

    run(scenario())


@settings(max_examples=80)
@given(MOVES, MOVES, MOVES, st.integers(1, 4), st.tuples(st.integers(1, 9), st.integers(1, 9)))
def test_nobody_is_set_aside_for_one_death_by_another_hand_and_those_of_one_request(
    before: list[Move], after: list[Move], then: list[Move], room: int, sizes: tuple[int, int]
) -> None:
    async def scenario() -> None:
        house = await _house(room)
        await house.show_that_it_works()
        await house.play(before)
        if sizes[0] % 2:
            house.kill()
        poisoned = house.ask(POISON, sizes[1], 2, Priority.NORMAL)
        await house.play(after)
        if not sizes[0] % 2:
            house.kill()
        await house.play(then)
        await house.finish()
        assert _reason(poisoned) is FinishReason.ERROR
        house.check()
        await house.client.stop()

    run(scenario())


@settings(max_examples=80)
@given(MOVES, MOVES, MOVES, st.integers(1, 4), st.tuples(st.integers(1, 9), st.integers(1, 9)))
def test_two_that_end_the_engine_are_both_set_aside(
    before: list[Move], between: list[Move], after: list[Move], room: int, sizes: tuple[int, int]
) -> None:
    async def scenario() -> None:
        house = await _house(room)
        await house.show_that_it_works()
        await house.play(before)
        poisoned = [house.ask(POISON, sizes[0], 2, Priority.NORMAL)]
        await house.play(between)
        poisoned.append(house.ask(POISON, sizes[1], 2, Priority.FRONT))
        await house.play(after)
        await house.finish()
        assert [_reason(one) for one in poisoned] == [FinishReason.ERROR] * 2
        assert house.client.over is None
        await house.client.stop()

    run(scenario())
