"""The texts of one model: nobody's short text waits for somebody's enormous one.

What is long takes a worker seconds, and a worker has one request at a time.  So the long ones have a worker of their own, of
the same kind: it is started when it is first needed, and ends when it was not for a while.  Where it cannot be had, the first
worker does all.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from app.client.child import OnProgress, Spawn
from app.client.clock import Clock, Timer
from app.client.text import Deadline, FoundT, TextClient, size_of
from app.dialogue import ChatLine, ThoughtTags, Tool, Wishes
from app.errors import AppError
from app.grammar.model import CallForm, Form, Grammar
from app.prompting import Adopted, Question
from app.tasks import Tasks
from app.wire import LoadParams, Progress, Rendered, VocabularyLoaded

LONG = 100_000
"""Characters from which on a conversation is long: a tenth of a second and more."""

IDLE_SECONDS = 60.0
"""How long the second worker waits for another long one."""

_log = logging.getLogger(__name__)


class _Second:
    """The worker for what is long, and how many requests it has."""

    def __init__(self, client: TextClient) -> None:
        self.client = client
        self.requests = 0
        self.loading: asyncio.Task[None] | None = None
        self.ready = False
        self.timer: Timer | None = None

    async def load(self) -> None:
        try:
            await self.client.load(_ignore)
        except AppError as error:
            _log.warning("There is no second text worker: %s", error)
        else:
            self.ready = True

    def keep(self) -> None:
        """It is needed."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Texts:
    """As one `TextClient`; all calls are on the event loop, and none blocks it."""

    def __init__(
        self,
        spawn: Spawn,
        params: LoadParams,
        *,
        clock: Clock,
        deadline: Deadline,
    ) -> None:
        self._make = partial(TextClient, spawn, clock=clock, deadline=deadline)
        self._params = params
        self._clock = clock
        self._tasks = Tasks()
        self._first = self._make(params)
        self._second: _Second | None = None
        self._workers = [self._first]
        """All that are not gone."""
        self._over = False

    async def load(self, on_progress: OnProgress) -> VocabularyLoaded:
        """See `TextClient`."""
        return await self._first.load(on_progress)

    async def render(
        self, lines: Sequence[ChatLine], wishes: Wishes = Wishes(), tools: Sequence[Tool] = ()
    ) -> Rendered:
        """See `TextClient`."""
        if self._over or size_of(lines, tools) < LONG:
            return await self._first.render(lines, wishes, tools)
        async with self._long() as worker:
            return await worker.render(lines, wishes, tools)

    async def count(self, text: str) -> int:
        """See `TextClient`; a long text is in short ones there."""
        return await self._first.count(text)

    async def constrain(
        self, form: Form | CallForm, opened: ThoughtTags | None = None, thinking: bool | None = None
    ) -> Grammar:
        """See `TextClient`."""
        return await self._first.constrain(form, opened, thinking)

    async def inspect(self, question: Question, kind: type[FoundT]) -> FoundT:
        """See `TextClient`."""
        return await self._first.inspect(question, kind)

    async def use(self, template: str) -> Adopted:
        """See `TextClient`."""
        found = await self._first.use(template)
        self._params = replace(self._params, template=template)
        # What it has was asked for before; whatever is long from now on has one with this template.
        second, self._second = self._second, None
        if second is not None:
            self._rest(second)
        return found

    def end(self, why: str) -> None:
        """See `TextClient`."""
        self._over = True
        for worker in self._workers:
            worker.end(why)

    async def stop(self) -> None:
        """End the workers; returns when they are gone."""
        self.end("The text worker was stopped.")
        if self._second is not None:
            self._second.keep()
        await asyncio.gather(*(worker.stop() for worker in self._workers))
        await self._tasks.finish()

    # --- the second worker -----------------------------------------------------------------------------------

    @asynccontextmanager
    async def _long(self) -> AsyncIterator[TextClient]:
        """The worker for a long text, as long as it is needed."""
        second = self._second or self._begin()
        second.keep()
        second.requests += 1
        try:
            if second.loading is not None:
                await asyncio.wait([second.loading])
            yield second.client if second.ready else self._first
        finally:
            second.requests -= 1
            self._rest(second)

    def _begin(self) -> _Second:
        second = self._second = _Second(self._make(self._params))
        self._workers.append(second.client)
        second.loading = self._tasks.spawn(second.load(), name="second text worker")
        return second

    def _rest(self, second: _Second) -> None:
        """Let it go where nobody needs it: soon, or at once where it could not be had or has an old template."""
        if second.requests or self._over:
            return
        if second is self._second and second.ready:
            second.timer = self._clock.call_later(IDLE_SECONDS, partial(self._let_go, second))
        else:
            second.keep()
            self._let_go(second)

    def _let_go(self, second: _Second) -> None:
        if second is self._second:
            self._second = None
        self._tasks.spawn(self._stop(second.client), name="end of a text worker")

    async def _stop(self, client: TextClient) -> None:
        await client.stop()
        self._workers.remove(client)


def _ignore(_progress: Progress) -> None:
    """Nobody sees it start."""
