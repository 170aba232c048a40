"""One engine process of ours, fed with token ids over its pipe: no text worker, no server.

Every step that it tells is kept, with the time at which it came.
"""

import asyncio
import contextlib
import itertools
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app import inuse
from app.bench.evaluation import Evaluation, evaluation
from app.bench.prompts import Ids
from app.client.child import engine_child
from app.client.death import Death
from app.counters import Counters
from app.errors import EngineDied, EngineError
from app.sampling import Sampling
from app.wire import (
    Abort,
    Finished,
    FinishReason,
    Loaded,
    LoadParams,
    Message,
    Priority,
    Step,
    Submit,
)

GREEDY = Sampling(temperature=0)


@dataclass(frozen=True, slots=True)
class Heard:
    """A step, and when it came (`time.perf_counter` seconds)."""

    at: float
    step: Step

    @property
    def counters(self) -> Counters:
        return self.step.counters

    @property
    def began(self) -> float:
        return self.at - self.step.counters.step_ms / 1000


@dataclass(eq=False, slots=True)
class Asked:
    """A request as its asker sees it; times as in `Heard`."""

    id: int
    prompt: Ids
    wanted: int
    began: float
    tokens: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    ended: float = 0.0
    finished: Finished | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def first(self) -> float:
        """Seconds to the first token."""
        return self.times[0] - self.began

    @property
    def content(self) -> Ids:
        return (*self.prompt, *self.tokens)


class Engine:
    """All calls are on the event loop.  Raises EngineDied from whatever is awaited when the process ends."""

    def __init__(self) -> None:
        self._child = engine_child(self._hear, self._end)
        self._ids = itertools.count(1)
        self._asked: dict[int, Asked] = {}
        self._death: Death | None = None
        self._news = asyncio.Event()
        self._log: Path | None = None
        self._uses = inuse.here("tutti bench")
        self._use: inuse.Use | None = None
        self.steps: list[Heard] = []
        self.vocabulary = 0

    @property
    def counters(self) -> Counters:
        """After the last step."""
        return self.steps[-1].counters if self.steps else Counters()

    async def load(self, params: LoadParams, log: Path | None) -> None:
        self._log = log
        self._use = self._uses.use(params.path)
        await asyncio.to_thread(self._use.begin)
        loaded = await self._child.load(params, lambda _progress: None)
        if not isinstance(loaded, Loaded):
            raise EngineError("The engine did not load a model.")
        self.vocabulary = loaded.vocabulary

    async def stop(self) -> None:
        await self._child.stop()
        if self._use is not None:
            await asyncio.to_thread(self._use.end)

    def submit(self, prompt: Ids, wanted: int, priority: Priority = Priority.NORMAL) -> Asked:
        """A greedy answer of exactly `wanted` tokens; 0 only reads the prompt."""
        asked = Asked(next(self._ids), prompt, wanted, time.perf_counter())
        self._asked[asked.id] = asked
        self._child.send(
            Submit(asked.id, prompt, GREEDY, max_tokens=wanted, priority=priority, ignore_eos=True)
        )
        return asked

    async def ask(self, prompt: Ids, wanted: int, priority: Priority = Priority.NORMAL) -> Asked:
        """Submit, and wait for the whole answer; raises EngineError where it ends otherwise."""
        asked = self.submit(prompt, wanted, priority)
        await self.whole(asked)
        return asked

    async def whole(self, *asked: Asked) -> None:
        """Until these have ended; raises EngineError where one has not the length that was asked for."""
        for one in asked:
            await one.done.wait()
            self._check()
            end = one.finished
            if end is None or end.reason is not FinishReason.LENGTH or len(one.tokens) < one.wanted:
                raise EngineError(f"A request did not end whole: {end}.")

    async def until(self, condition: Callable[[Counters], bool]) -> None:
        """Until this holds after a step."""
        while not condition(self.counters):
            self._check()
            self._news.clear()
            await self._news.wait()

    def abort(self, asked: Asked) -> None:
        self._child.send(Abort(asked.id))

    def evaluation(self) -> Evaluation:
        """What its log tells so far: all steps that were heard of are in it."""
        if self._log is None:
            raise ValueError("this engine writes no decode log")
        return evaluation(self._log)

    def _hear(self, message: Message) -> None:
        if not isinstance(message, Step):
            return
        now = time.perf_counter()
        self.steps.append(Heard(now, message))
        for out in message.tokens:
            asked = self._asked[out.request_id]
            asked.tokens.append(out.token)
            asked.times.append(now)
        for end in message.finished:
            asked = self._asked.pop(end.request_id)
            asked.finished, asked.ended = end, now
            asked.done.set()
        self._news.set()

    def _end(self, death: Death) -> None:
        self._death = death
        for asked in self._asked.values():
            asked.done.set()
        self._news.set()

    def _check(self) -> None:
        if self._death is not None:
            raise EngineDied(str(self._death))


@contextlib.asynccontextmanager
async def running_engine(
    params: LoadParams, *, logged: bool = False, folder: Path | None = None
) -> AsyncIterator[Engine]:
    """A fresh engine, loaded; ended at the end.  Raises AppError.

    Its data folder is one of its own, or `folder`: engines that share one take turns on a device.
    `logged` writes the decode log, which costs each step a little.
    """
    engine = Engine()
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as own:
        log = Path(own) / "decode.log" if logged else None
        try:
            # The process inherits it when it starts, which is before the load is over.
            with _environment(TUTTI_DATA_DIR=str(folder or own), TUTTI_DECODE_LOG=str(log or "")):
                await engine.load(params, log)
            yield engine
        finally:
            await engine.stop()


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
