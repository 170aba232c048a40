"""The text workers of one model, and which of them does what: nobody's short text waits for somebody else's work.

A worker has one job at a time, and some take seconds: enormous conversations, grammars and schemas that are refused only when
their time is over, templates that are tried.  So there is a second one, of the same kind, for what is long or may be; it is
started when a long one comes, or when somebody waits behind one that turns out to be long, and ends when it had nothing to do
for a while.  Jobs belong to no worker before they are begun.  While there is one worker it does all of them, in their order.
Where there are two, the first one does what is short and the second does the others; while the first has had its job for long,
or is started anew, the second does what is short.  A second one that died counts again when it is back.
"""

import asyncio
import logging
from bisect import insort
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial

from app.client.child import OnProgress, Spawn
from app.client.clock import Clock, Timer
from app.client.same_file import SameFile
from app.client.text_job import Job
from app.client.text_server import TextServer
from app.errors import AppError, TextError
from app.tasks import Tasks
from app.wire import LoadParams, Progress, VocabularyLoaded

SLOW_SECONDS = 0.2
"""A job that its worker has had for so long is a long one; some milliseconds are usual."""

IDLE_SECONDS = 60.0
"""How long the second worker waits for something to do."""

_log = logging.getLogger(__name__)


class _Second(TextServer):
    """The second worker, which has an end."""

    timer: Timer | None = None

    def rest(self) -> None:
        """Nothing is due any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Texts:
    """All calls are on the event loop, and none blocks it."""

    def __init__(self, spawn: Spawn, params: LoadParams, *, clock: Clock, same: SameFile) -> None:
        self._clock = clock
        self._make = partial(_Second, spawn, clock=clock, on_death=self._died, same=same)
        self._first = TextServer(spawn, params, clock=clock, on_death=self._died, same=same)
        self._first_is_slow = False
        self._second: _Second | None = None
        self._servers: list[TextServer] = [self._first]
        """All that are not gone."""
        self._waiting: list[Job] = []
        """Not begun, in order."""
        self._changed = asyncio.Event()
        """Set, and another one in its place, when there may be something to do for a worker that has nothing."""
        self._tasks = Tasks()
        self._serving: list[asyncio.Task[None]] = []
        self._over = ""

    async def load(self, on_progress: OnProgress) -> VocabularyLoaded:
        """Start the first worker; raises AppError with the reason where it cannot be used."""
        vocabulary = await self._first.load(on_progress)
        if self._over:
            # It was ended while it loaded, with the engine beside it that could not be.
            await self._first.stop()
            raise TextError(self._over)
        self._spawn(self._serve(self._first), "text requests")
        return vocabulary

    def put(self, job: Job) -> None:
        """Have it answered; raises TextError where nothing is answered any more."""
        if self._over:
            raise TextError(self._over)
        insort(self._waiting, job)
        self._tell()
        if job.is_long or self._first_is_slow:
            self._want_second()

    def adopt(self, template: str) -> None:
        """The first worker has another template now, and whatever is started later has it too."""
        self._first.params = replace(self._first.params, template=template)
        # What the second one has was asked for before; it begins nothing more.
        self._let_go()

    def end(self, why: str) -> None:
        """Answer all that is asked, and will be, with a TextError in these words."""
        if self._over:
            return
        self._over = why
        begun = [server.job for server in self._servers if server.job is not None]
        for job in (*begun, *self._waiting):
            job.settle(TextError(why))
        self._waiting.clear()
        self._let_go()
        for task in self._serving:
            if task is not asyncio.current_task():
                task.cancel()  # else it would start a worker in place of one that is stopped

    async def stop(self) -> None:
        """End the workers; returns when they are gone."""
        self.end("The text worker was stopped.")
        await asyncio.gather(*(server.stop() for server in self._servers))
        await self._tasks.finish()

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> None:
        task = self._tasks.spawn(work, name)
        self._serving.append(task)
        task.add_done_callback(self._serving.remove)

    # --- who does what ---------------------------------------------------------------------------------------

    async def _serve(self, server: TextServer) -> None:
        """Work until there is an end, or this worker is not wanted any more."""
        try:
            while (job := await self._next(server)) is not None:
                await self._work(server, job)
        except BaseException:
            self.end("The text worker failed; see the log.")
            raise
        finally:
            await server.stop()
            self._servers.remove(server)

    async def _next(self, server: TextServer) -> Job | None:
        while not self._over and server in (self._first, self._second):
            for job in self._waiting:
                if self._is_for(server, job):
                    self._waiting.remove(job)
                    return job
            await self._changed.wait()
        return None

    def _is_for(self, server: TextServer, job: Job) -> bool:
        two = self._second is not None and self._second.ready
        if server is self._first:
            return not (two and job.may_be_long)
        # Never both with what may be long: what is short would wait.
        return two and not job.changes_template and job.may_be_long is not self._first_is_slow

    async def _work(self, server: TextServer, job: Job) -> None:
        if job.reply.done():
            return  # the one who asked has gone away meanwhile
        if server is not self._first:
            await server.work(job)
            self._end_later(server)
            return
        slow = self._clock.call_later(SLOW_SECONDS, self._slow)
        if job.is_long:
            self._slow()
        try:
            await server.work(job)
        finally:
            slow.cancel()
            self._first_is_slow = False
            self._tell()

    def _slow(self) -> None:
        """The first worker has a long job."""
        self._first_is_slow = True
        if self._waiting:
            self._want_second()
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # --- the second worker -----------------------------------------------------------------------------------

    def _want_second(self) -> None:
        if self._second is None:
            second = self._second = self._make(self._first.params)
            self._servers.append(second)
            self._spawn(self._begin(second), "second text worker")

    async def _begin(self, second: _Second) -> None:
        try:
            await second.load(_ignore)
        except AppError as error:
            if second is self._second:
                _log.warning("There is no second text worker: %s", error)
                self._second = None
        self._end_later(second)
        self._tell()
        # That is over at once where it is not wanted any more, or could not be had.
        await self._serve(second)

    def _end_later(self, server: TextServer) -> None:
        """The second worker goes when it had nothing to do from now on for a while."""
        if self._second is server:
            self._second.rest()
            self._second.timer = self._clock.call_later(IDLE_SECONDS, self._look)

    def _look(self) -> None:
        if self._second is not None and self._second.job is not None:
            self._end_later(self._second)
        else:
            self._let_go()

    def _died(self, server: TextServer) -> None:
        """With a job it is started again; without one the second worker is when it is wanted."""
        if server is self._second and server.job is None:
            self._let_go()
        self._tell()

    def _let_go(self) -> None:
        """The second worker ends with what it has."""
        if self._second is not None:
            self._second.rest()
            self._second = None
        self._tell()


def _ignore(_progress: Progress) -> None:
    """Nobody sees it start."""
