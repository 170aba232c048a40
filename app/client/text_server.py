"""One text worker and its lives: it is given one job at a time, watched, and replaced when it dies.

The worker runs templates and texts that nobody vouches for.  A job that is not done in time costs its own chat an error:
the worker is killed, which is the only way to stop it, and started anew for the others.  Because one job at a time is with
the worker, a worker that dies has lost exactly one; that one is tried once more, for it may be the system that took the
memory.
"""

import asyncio
from collections.abc import Callable

from app.client.child import Link, OnProgress, Spawn
from app.client.clock import Clock
from app.client.death import Death
from app.client.same_file import SameFile
from app.client.text_job import Job
from app.errors import AppError, EngineDied, TextError
from app.wire import LoadParams, Message, Progress, TextReply, VocabularyLoaded


class TextServer:
    """All calls are on the event loop.  `params` are those that the next life is loaded with; `job` is what it works on;
    `ready` while its worker is there and loaded: `on_death` tells that it is not any more."""

    def __init__(
        self,
        spawn: Spawn,
        params: LoadParams,
        *,
        clock: Clock,
        on_death: Callable[["TextServer"], None],
        same: SameFile,
    ) -> None:
        """`same` is shared by all processes of one model."""
        self._same = same
        self.params = params
        self.job: Job | None = None
        self.ready = False
        self._on_death = on_death
        self._spawn = spawn
        self._clock = clock
        self._worker: Link | None = None
        self._outcome: asyncio.Future[TextReply | Death] | None = None

    async def load(self, on_progress: OnProgress) -> VocabularyLoaded:
        """Start the worker; raises AppError with the reason where it cannot be used, and then there is none."""
        worker = self._worker = self._spawn(self._heard, self._died)
        try:
            loaded = await worker.load(self.params, on_progress)
            if not isinstance(loaded, VocabularyLoaded):
                raise TextError("The text worker did not load a vocabulary.")
            self._same.check(loaded)
        except AppError:
            await self.stop()
            raise
        self.ready = self._worker is not None
        return loaded

    async def work(self, job: Job) -> None:
        """Have `job` answered; afterwards there is a worker again, where that is possible."""
        self.job = job
        try:
            await self._have_answered(job)
        except AppError as error:
            job.settle(TextError(str(error)))
        finally:
            self.job = None

    async def stop(self) -> None:
        """End the worker; returns when it is gone."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.stop()

    async def _have_answered(self, job: Job) -> None:
        for last in (False, True):
            try:
                outcome = await self._attempt(job)
            except EngineDied:
                # Before it had the job: that is one death too.
                if last:
                    raise
                continue
            if not isinstance(outcome, Death):
                job.settle(outcome)
                return
            await self.stop()
            if last:
                job.settle(TextError(str(outcome), "Send it again, or shorten it."))
            await self._restart()
            # Too late, or nobody waits for it any more.
            if job.reply.done():
                return

    async def _attempt(self, job: Job) -> TextReply | Death:
        worker = self._worker
        if worker is None:
            worker = await self._restart()
        self._outcome = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(job.seconds, self._late)
        worker.send(job.message)
        try:
            return await self._outcome
        finally:
            timer.cancel()
            self._outcome = None

    def _late(self) -> None:
        if self.job is not None and self._worker is not None:
            self.job.settle(self.job.too_slow())
            self._worker.kill(f"took longer than {self.job.seconds:.1f} s for one text")

    async def _restart(self) -> Link:
        await self.load(_ignore)
        if self._worker is None:
            raise TextError("The text worker ended as soon as it was loaded.")
        return self._worker

    def _heard(self, message: Message) -> None:
        if (
            isinstance(message, TextReply)
            and self.job is not None
            and message.request_id == self.job.message.request_id
        ):
            self._come_out(message)

    def _died(self, death: Death) -> None:
        self._worker = None
        was_ready, self.ready = self.ready, False
        self._come_out(death)
        if was_ready:
            self._on_death(self)

    def _come_out(self, outcome: TextReply | Death) -> None:
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(outcome)


def _ignore(_progress: Progress) -> None:
    """A restart shows no progress."""
