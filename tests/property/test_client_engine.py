"""Any series of requests, steps, deaths, waits and departures: every request that stays is written once and whole."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from app.client.engine import EngineClient
from app.client.stream import EngineStream, StreamEvent
from app.errors import EngineError
from app.sampling import Sampling
from app.wire import Abort, Finished, FinishReason, ReadingNow, Submit, TokenOut, Usage, WaitingNow
from tests.scripted_children import LOADED, PARAMS, FakeClock, FakeLinks, run, step, turns

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["submit", "write", "write", "write", "wait", "die", "load", "leave", "abort"]
        ),
        st.integers(0, 5),
    ),
    max_size=60,
)
LENGTH = 6


@dataclass
class Played:
    """A request, and all that it was told."""

    stream: EngineStream
    prompt: int
    events: list[StreamEvent] = field(default_factory=list)

    def hear(self) -> None:
        while not self.stream._queue.empty():
            self.events.append(self.stream._queue.get_nowait())

    @property
    def tokens(self) -> list[int]:
        return [event.token for event in self.events if isinstance(event, TokenOut)]

    @property
    def ends(self) -> list[Finished]:
        return [event for event in self.events if isinstance(event, Finished)]


class Play:
    """The next token of this engine is the number of tokens before it, so that nothing can be lost or doubled
    unseen; `restarts` may fail."""

    def __init__(self, restarts: list[bool]) -> None:
        greetings = [LOADED if good else EngineError("No.") for good in restarts]
        self.links = FakeLinks(LOADED, *greetings, LOADED)
        self.clock = FakeClock()
        self.client = EngineClient(self.links, clock=self.clock, on_change=lambda: None)
        self.played: dict[int, Played] = {}
        self.asked: dict[int, int] = {}
        self.lengths: dict[int, int] = {}
        self.left: dict[int, int | None] = {}

    async def act(self, what: str, number: int) -> None:
        running = [self.played[key] for key in self.lengths if key in self.played]
        chosen = running[number % len(running)] if running else None
        if what == "submit":
            submit = Submit(0, tuple(range(number + 1)), Sampling(), max_tokens=LENGTH)
            stream = self.client.submit(submit)
            self.played[stream.request_id] = Played(stream, number + 1)
        elif what == "die" and self.client.serving:
            self.links.last.die()
            self.lengths.clear()
        elif what == "load":
            self.clock.advance(5)
            await turns(8)
        elif chosen is not None and what == "write":
            self.write(chosen)
        elif chosen is not None and what == "wait":
            self.links.last.say(step(WaitingNow(chosen.stream.request_id, 1)))
        elif chosen is not None and what == "abort":
            chosen.stream.abort()
        elif chosen is not None and what == "leave":
            del self.played[chosen.stream.request_id]
            chosen.stream.close()
        self.take_commands()

    def take_commands(self) -> None:
        """What the present engine was told since the last time."""
        link, number = self.links.last, len(self.links.links)
        while (place := self.asked.get(number, 0)) < len(link.sent):
            message = link.sent[place]
            self.asked[number] = place + 1
            if isinstance(message, Submit):
                assert message.request_id not in self.lengths, "the engine has it already"
                self.lengths[message.request_id] = len(message.tokens)
                self.left[message.request_id] = message.max_tokens
            elif isinstance(message, Abort) and message.request_id in self.lengths:
                del self.lengths[message.request_id]
                link.say(step(Finished(message.request_id, FinishReason.CANCELLED, Usage())))

    def write(self, one: Played) -> None:
        key = one.stream.request_id
        token = self.lengths[key]
        self.lengths[key] += 1
        self.left[key] -= 1
        done = self.left[key] == 0
        end = [Finished(key, FinishReason.LENGTH, Usage(0, 1, 0))] if done else []
        self.links.last.say(step(ReadingNow(key, token, token, 0), TokenOut(key, token), *end))
        if done:
            del self.lengths[key]

    async def finish(self) -> None:
        """Let an engine that lives write everything to its end."""
        for _ in range(4):
            await self.act("load", 0)
        while self.lengths:
            for key in tuple(self.lengths):
                self.write(self.played[key])
            self.take_commands()

    def check(self) -> None:
        over = self.client.over is not None
        for one in self.played.values():
            one.hear()
            (end,) = one.ends
            assert one.events[-1] is end
            assert one.tokens == list(range(one.prompt, one.prompt + len(one.tokens)))
            assert end.reason is not FinishReason.ENGINE_DIED or over
            if end.reason is FinishReason.LENGTH:
                assert len(one.tokens) == LENGTH
                assert end.usage.prompt_tokens in (0, one.prompt)
            assert end.reason is not FinishReason.ERROR or "twice" in end.error
        assert not self.client._streams


@settings(max_examples=300)
@given(STEPS, st.lists(st.booleans(), max_size=6))
def test_every_request_is_written_once_and_whole(
    steps: list[tuple[str, int]], restarts: list[bool]
) -> None:
    async def scenario() -> None:
        play = Play(restarts)
        await play.client.load(PARAMS, lambda _: None)
        for what, number in steps:
            await play.act(what, number)
        await play.finish()
        play.check()
        await play.client.stop()

    run(scenario())
