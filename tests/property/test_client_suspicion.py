"""One request ends the engine whenever it is let in: it is set aside, whoever comes, waits and writes beside it."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from app.client.engine import EngineClient
from app.client.stream import EngineStream
from app.sampling import Sampling
from app.wire import Begun, Finished, FinishReason, Submit, TokenOut, Usage, WaitingNow
from tests.scripted_children import LOADED, PARAMS, FakeClock, FakeLinks, run, step, turns

POISON = 7
MOST_DEATHS = 3
"""Two make it a suspect, and the third is that of its trial."""

MOVES = st.lists(st.one_of(st.just(0), st.integers(1, 9)), max_size=40)
"""A step of the engine, or a request with a prompt of that many tokens."""


@dataclass
class Crowded:
    """An engine with `room` for so many requests, which writes a token for each in every step.

    It says who waits, and who that has waited begins, before the step in which it dies of one.
    """

    room: int
    links: FakeLinks
    waiting: list[Submit] = field(default_factory=list)
    running: list[Submit] = field(default_factory=list)
    taken: int = 0
    life: int = 1
    deaths: int = 0

    def take_commands(self) -> None:
        if self.life != len(self.links.links):
            self.life, self.taken = len(self.links.links), 0
            self.waiting, self.running = [], []
        sent = self.links.last.sent
        self.waiting += [message for message in sent[self.taken :] if isinstance(message, Submit)]
        self.taken = len(sent)

    def step(self) -> None:
        self.take_commands()
        link = self.links.last
        while self.waiting and len(self.running) < self.room:
            one = self.waiting.pop(0)
            link.say(Begun((one.request_id,)))
            self.running.append(one)
        link.say(step(*(WaitingNow(one.request_id, 1) for one in self.waiting)))
        if any(one.tokens[0] == POISON for one in self.running):
            self.deaths += 1
            link.die()
            return
        for one in self.running:
            link.say(step(TokenOut(one.request_id, 5)))
        done = [one for one in self.running if one.max_tokens == 1]
        for one in done:
            link.say(step(Finished(one.request_id, FinishReason.LENGTH, Usage())))
        self.running = [_one_less(one) for one in self.running if one.max_tokens != 1]


def _one_less(one: Submit) -> Submit:
    left = (one.max_tokens or 1) - 1
    return Submit(one.request_id, one.tokens, one.sampling, max_tokens=left)


def _reason(stream: EngineStream) -> FinishReason:
    ends = []
    while not stream._queue.empty():
        event = stream._queue.get_nowait()
        if isinstance(event, Finished):
            ends.append(event.reason)
    (reason,) = ends
    return reason


@settings(max_examples=400)
@given(MOVES, MOVES, st.integers(1, 4), st.integers(1, 9))
def test_whoever_ends_the_engine_is_set_aside_and_nobody_else(
    before: list[int], after: list[int], room: int, size: int
) -> None:
    async def scenario() -> None:
        links = FakeLinks(LOADED)
        clock = FakeClock()
        client = EngineClient(links, clock=clock, on_change=lambda: None)
        await client.load(PARAMS, lambda _: None)
        engine = Crowded(room, links)
        innocent: list[EngineStream] = []

        async def play(moves: list[int]) -> None:
            for move in moves:
                if move:
                    submit = Submit(0, (1,) * move, Sampling(), max_tokens=1 + move % 3)
                    innocent.append(client.submit(submit))
                elif client.serving:
                    engine.step()
                else:
                    clock.advance(5)
                    await turns(8)

        await play(before)
        poisoned = client.submit(Submit(0, (POISON,) * size, Sampling(), max_tokens=2))
        await play(after)
        await play([0] * (20 * (len(innocent) + 1)))

        assert _reason(poisoned) is FinishReason.ERROR
        assert engine.deaths <= MOST_DEATHS
        assert {_reason(stream) for stream in innocent} <= {FinishReason.LENGTH}
        assert client.over is None
        await client.stop()

    run(scenario())
