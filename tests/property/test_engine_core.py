"""Any schedule gives every request the answer it would have had alone, and keeps all invariants at every step."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from app.client.stream import EngineStream
from app.engine.backend import MemoryKind
from app.engine.core import Engine
from app.engine.fake import FakeBackend
from app.sampling import Sampling
from app.wire import Abort, Finished, FinishReason, Message, Priority, SetPriority, Submit, TokenOut
from tests.engine_invariants import Invariants
from tests.engine_run import Clock, finish, make_run, with_id
from tests.grammars import schema
from tests.troubled_backend import TroubledBackend

PREFIXES = [(), (5, 6, 7) * 13, (5, 6, 7) * 13 + (9,) * 9, (8,) * 20]
LISTS = schema({"type": "array", "items": {"type": "integer", "minimum": 0}})
BOUND = 4000
"""Steps after which a schedule must be over: nobody waits for ever."""


requests = st.builds(
    lambda prefix, tail, limit, sampling, priority, owner, grammar: Submit(
        request_id=0,
        tokens=(*PREFIXES[prefix], *tail),
        sampling=sampling,
        max_tokens=limit,
        priority=priority,
        owner=owner,
        grammar=grammar,
    ),
    st.integers(0, len(PREFIXES) - 1),
    st.lists(st.integers(1, 63), min_size=1, max_size=20),
    st.one_of(st.none(), st.integers(0, 40)),
    st.builds(
        Sampling,
        temperature=st.sampled_from([0.0, 0.8]),
        presence_penalty=st.sampled_from([0.0, 1.0]),
        seed=st.just(11),
    ),
    st.sampled_from(list(Priority)),
    st.integers(0, 2),
    st.sampled_from([None, None, None, LISTS]),
)

moments = st.dictionaries(st.integers(0, 60), st.integers(0, 8), max_size=4)
"""(step, request or owner)."""

schedules = {
    "submits": st.lists(requests, min_size=1, max_size=9),
    "gaps": st.lists(st.integers(0, 6), min_size=9, max_size=9),
    "aborts": moments,
    "priorities": moments,
    "forgets": moments,
    "deaths": st.sets(st.integers(0, 60), max_size=2),
    "interrupts": st.sets(st.integers(0, 60), max_size=4),
    # Never two in a row: a request that finds no room twice although it is alone has none.
    "refusals": st.sets(st.integers(1, 30).map(lambda number: 2 * number), max_size=4),
    "damaged": st.frozensets(st.integers(1, 8), max_size=3),
    "kind": st.sampled_from(list(MemoryKind)),
    "cells": st.sampled_from([64, 96, 160, 400]),
    "sequences": st.sampled_from([4, 7]),
    "most": st.sampled_from([2, 4]),
    "spill_bytes": st.sampled_from([0, 3000, 100_000]),
    "tick": st.sampled_from([0.001, 0.2]),
}


@dataclass
class Play:
    """Engines, one after the other, and the streams of the app's client in front of them."""

    facts: dict[str, Any]
    troubles: dict[str, Any]
    most: int
    spill_bytes: int
    tick: float
    streams: list[EngineStream] = field(default_factory=list)
    interrupted: set[int] = field(default_factory=set)
    steps: int = 0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A new engine, as after a death; every request that is not over goes on from what it had written."""
        self.backend = TroubledBackend(**self.facts, **self.troubles)
        clock = Clock(self.tick)
        self.engine = Engine(
            self.backend,
            most_running=self.most,
            clock=clock,
            new_seed=lambda: 3,
            spill_bytes=self.spill_bytes,
        )
        self.invariants = Invariants(self.engine, self.backend, clock, self.most)
        for stream in [stream for stream in self.streams if not stream._finished]:
            self.interrupted.add(stream.request_id)
            if stream.interrupt():
                stream.submit()

    # --- as the client: what a stream sends --------------------------------------------------------------------

    def send(self, message: Message) -> None:
        if isinstance(message, Submit):
            self.engine.submit(message)
            self.invariants.submitted(message)
        elif isinstance(message, Abort):
            self.engine.abort(message.request_id)
            self.invariants.aborted(message.request_id)
        elif isinstance(message, SetPriority):
            self.engine.set_priority(message.request_id, message.priority)
            if message.priority is Priority.FRONT:
                self.invariants.raised()

    def forget(self, stream: EngineStream) -> None:
        """Nobody leaves here."""

    def reconsider(self) -> None:
        """Nobody is held back."""

    # --- what happens ------------------------------------------------------------------------------------------

    def ask(self, submit: Submit) -> None:
        stream = EngineStream(with_id(submit, len(self.streams)), self)
        self.streams.append(stream)
        stream.submit()

    def step(self, *, interrupt: bool) -> None:
        # As in the process: an interrupt is taken back when the next commands are read.
        self.backend.rearm()
        if interrupt and self.backend.can_interrupt:
            self.backend.interrupt()
        self.invariants.before()
        step = self.engine.step()
        self.invariants.after(step)
        self.steps += 1
        for event in (*step.waiting, *step.reading, *step.tokens, *step.finished):
            stream = self.streams[event.request_id]
            assert not stream._finished, "something after the end"
            stream.put(event)


def every_schedule_gives_the_lone_answer(
    submits: list[Submit],
    gaps: list[int],
    aborts: dict[int, int],
    priorities: dict[int, int],
    forgets: dict[int, int],
    deaths: set[int],
    interrupts: set[int],
    refusals: set[int],
    damaged: frozenset[int],
    kind: MemoryKind,
    cells: int,
    sequences: int,
    most: int,
    spill_bytes: int,
    tick: float,
) -> None:
    facts = {"cells": cells, "sequences": sequences, "batch": 24, "kind": kind}
    most = min(most, sequences - 1)
    troubles = {"refusals": refusals, "damaged": damaged}
    play = Play(facts, troubles, most, spill_bytes, tick)
    waiting = list(submits)
    due = 0
    for moment in range(BOUND):
        while waiting and due <= moment:
            due += gaps[len(play.streams)]
            play.ask(waiting.pop(0))
        if moment in deaths:
            play.start()
        if (chosen := aborts.get(moment, 9)) < len(play.streams):
            play.streams[chosen].abort()
        if (chosen := priorities.get(moment, 9)) < len(play.streams):
            play.streams[chosen].set_priority(Priority(moment % 3))
        if moment in forgets:
            play.engine.forget(forgets[moment] % 3)
        if play.engine.has_work:
            play.step(interrupt=moment in interrupts)
        elif not waiting:
            break
    assert not waiting
    assert not play.engine.has_work, "somebody waits for ever"
    for stream, submit in zip(play.streams, submits, strict=True):
        check(play, stream, submit, facts)


def check(play: Play, stream: EngineStream, submit: Submit, facts: dict[str, Any]) -> None:
    """One end, whole, and what the request would have been answered alone."""
    events = [stream._queue.get_nowait() for _ in range(stream._queue.qsize())]
    got = [event.token for event in events if isinstance(event, TokenOut)]
    (end,) = [event for event in events if isinstance(event, Finished)]
    assert events[-1] is end
    alone = make_run(FakeBackend(**facts))
    alone.engine.submit(with_id(submit, 0))
    finish(alone)
    wanted = alone.tokens.get(0, [])
    assert end.usage.completion_tokens == len(got)
    if end.reason is FinishReason.ENGINE_DIED:
        # What only reads is not worth reading again.
        assert submit.max_tokens == 0
        assert stream.request_id in play.interrupted
    elif end.reason is FinishReason.CANCELLED:
        assert stream._aborted
        assert got == wanted[: len(got)]
    else:
        assert (got, end.reason) == (wanted, alone.finished[0])


@settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
@given(**schedules)
def test_every_schedule_gives_the_lone_answer(**drawn: Any) -> None:
    every_schedule_gives_the_lone_answer(**drawn)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(40))
def test_ten_thousand_schedules_give_the_lone_answer(part: int) -> None:
    """In parts, for what hypothesis keeps of each schedule makes the next one slower."""

    @seed(part)
    @settings(max_examples=250, phases=[Phase.generate], derandomize=False, database=None)
    @given(**schedules)
    def play(**drawn: Any) -> None:
        every_schedule_gives_the_lone_answer(**drawn)

    play()
