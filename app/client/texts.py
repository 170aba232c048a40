"""The texts of one model: nobody's short text waits for somebody's enormous one.

What is long takes a worker seconds, and a worker has one request at a time.  So there is a second one, of the same kind, for
what is long: it is started when such a text comes, and ends when none came for a while.  No long text waits for its start: until
it is there, and where it cannot be had, the first worker does the long ones too; the second, once it is there, does the short
ones that come meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from app.client.child import OnProgress, Spawn
from app.client.clock import Clock, Timer
from app.client.same_vocabulary import SameVocabulary
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
    """The second worker.  `wanted` are the requests for which it is kept."""

    def __init__(self, client: TextClient) -> None:
        self.client = client
        self.wanted = 0
        self.loading = True
        self.ready = False
        self._timer: Timer | None = None

    async def load(self) -> None:
        """Start it; afterwards it may be ready."""
        try:
            await self.client.load(_ignore)
            self.ready = True
        except AppError as error:
            _log.warning("There is no second text worker: %s", error)
        finally:
            self.loading = False

    def end_later(self, clock: Clock, end: Callable[[], None]) -> None:
        self._timer = clock.call_later(IDLE_SECONDS, end)

    def keep(self) -> None:
        """It is wanted again, or is ended by another hand."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


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
        self._make = partial(
            TextClient, spawn, clock=clock, deadline=deadline, same=SameVocabulary()
        )
        self._params = params
        self._clock = clock
        self._tasks = Tasks()
        self._first = self._make(params)
        self._second: _Second | None = None
        self._workers = [self._first]
        """All that are not gone."""
        self._held = 0
        """Long texts that the first worker has."""
        self._changed = asyncio.Event()
        """Set, and another one in its place, when the second worker or what the first one has is another."""
        self._over = False

    async def load(self, on_progress: OnProgress) -> VocabularyLoaded:
        """See `TextClient`."""
        return await self._first.load(on_progress)

    async def render(
        self, lines: Sequence[ChatLine], wishes: Wishes = Wishes(), tools: Sequence[Tool] = ()
    ) -> Rendered:
        """See `TextClient`."""
        if self._over or size_of(lines, tools) < LONG:
            return await (await self._free()).render(lines, wishes, tools)
        with self._long() as worker:
            return await worker.render(lines, wishes, tools)

    async def count(self, text: str) -> int:
        """See `TextClient`; a long text is in short ones there."""
        return await (await self._free()).count(text)

    async def constrain(
        self, form: Form | CallForm, opened: ThoughtTags | None = None, thinking: bool | None = None
    ) -> Grammar:
        """See `TextClient`."""
        return await (await self._free()).constrain(form, opened, thinking)

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
        self._tell()
        return found

    def end(self, why: str) -> None:
        """See `TextClient`."""
        self._over = True
        for worker in self._workers:
            worker.end(why)
        self._tell()

    async def stop(self) -> None:
        """End the workers; returns when they are gone."""
        self.end("The text worker was stopped.")
        if self._second is not None:
            self._second.keep()
        await asyncio.gather(*(worker.stop() for worker in self._workers))
        await self._tasks.finish()

    # --- the second worker -----------------------------------------------------------------------------------

    async def _free(self) -> TextClient:
        """The worker for what is short: the first one, or the second where the first has a long text.

        Waits while the second one starts, and no longer than the first has such a text.
        """
        while self._held and not self._over and self._second is not None and self._second.loading:
            await self._changed.wait()
        second = self._second
        return second.client if self._held and second is not None and second.ready else self._first

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    @contextmanager
    def _long(self) -> Iterator[TextClient]:
        """The worker for a long text, while it is with it."""
        second = self._second or self._begin()
        second.keep()
        second.wanted += 1
        held = not second.ready
        self._held += held
        try:
            yield self._first if held else second.client
        finally:
            self._held -= held
            second.wanted -= 1
            self._rest(second)
            self._tell()

    def _begin(self) -> _Second:
        second = self._second = _Second(self._make(self._params))
        self._workers.append(second.client)
        self._tasks.spawn(self._load(second), name="second text worker")
        return second

    async def _load(self, second: _Second) -> None:
        await second.load()
        self._rest(second)
        self._tell()

    def _rest(self, second: _Second) -> None:
        """Let it go where nobody wants it: soon, or at once where it could not be had or has an old template."""
        if second.wanted or second.loading or self._over:
            return
        if second is self._second and second.ready:
            second.end_later(self._clock, partial(self._let_go, second))
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
