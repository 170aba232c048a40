"""The text worker as the app uses it: one request at a time, each with a deadline, and the one due first goes first.

The worker runs templates and texts that nobody vouches for.  A request that is not answered in time costs its own
chat an error: the worker is killed, which is the only way to stop it, and started anew for the others.  Because one
request at a time is with the worker, the deadline of one never runs while another is worked on, and a worker that dies
has lost exactly one; that one is tried once more, for it may be the system that took the memory.
"""

import asyncio
import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from app.client.child import Link, OnProgress, Spawn
from app.client.clock import Clock
from app.client.death import Death
from app.client.same_vocabulary import SameVocabulary
from app.dialogue import ChatLine, ThoughtTags, Tool, Wishes
from app.errors import AppError, EngineDied, FormError, TextError, TextRefused
from app.grammar.model import CallForm, Constrain, Constrained, Form, FormRefused, Grammar
from app.prompting import Adopted, Finding, Question, TryTemplate, UseTemplate
from app.tasks import Tasks
from app.wire import (
    Inspect,
    Inspected,
    LoadParams,
    Message,
    Progress,
    Render,
    Rendered,
    TextFailed,
    TextReply,
    Tokenize,
    Tokenized,
    VocabularyLoaded,
)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The seconds that one request may take: `seconds`, and more for each million characters."""

    seconds: float = 2.0
    per_million: float = 20.0

    def of(self, characters: int) -> float:
        return self.seconds + self.per_million * characters / 1_000_000


_STRETCH = 8_192
"""Characters of a text that are counted at once."""

_COUNTED = 256
"""Stretches whose counts are remembered: a long draft is counted again at every pause in the typing, and most of it is
what it was."""

_Reply = TypeVar("_Reply")
FoundT = TypeVar("FoundT", bound=Finding)
_Asked = Render | Tokenize | Constrain | Inspect


@dataclass(frozen=True, slots=True, order=True)
class _Job:
    """In the order in which they are worked on: whoever asks for little does not wait for all who asked for much before,
    and nobody is passed over for longer than his own work may take."""

    due: float
    """When it would be late if it were begun as soon as it was asked for, to a tenth of a second: short ones that come
    together keep their order."""
    number: int
    message: _Asked = field(compare=False)
    seconds: float = field(compare=False)
    reply: asyncio.Future[TextReply] = field(compare=False)


class TextClient:
    """Renders and counts.  All calls are on the event loop; none blocks it."""

    def __init__(
        self,
        spawn: Spawn,
        params: LoadParams,
        *,
        clock: Clock,
        deadline: Deadline = Deadline(),
        same: SameVocabulary | None = None,
    ) -> None:
        """`same` is shared by all workers of one model."""
        self._same = same or SameVocabulary()
        self._spawn = spawn
        self._params = params
        self._clock = clock
        self._deadline = deadline
        self._ids = itertools.count(1)
        self._jobs: asyncio.PriorityQueue[_Job] = asyncio.PriorityQueue()
        self._counted: OrderedDict[bytes, int] = OrderedDict()
        self._tasks = Tasks()
        self._server: asyncio.Task[None] | None = None
        self._worker: Link | None = None
        self._job: _Job | None = None
        self._outcome: asyncio.Future[TextReply | Death] | None = None
        self._over = ""

    async def load(self, on_progress: OnProgress) -> VocabularyLoaded:
        """Start the worker; raises AppError with the reason where it cannot be used."""
        vocabulary = await self._start(on_progress)
        if self._over:
            # It was ended while it loaded, with the engine beside it that could not be.
            await self._drop()
            raise TextError(self._over)
        self._server = self._tasks.spawn(self._serve(), name="text requests")
        return vocabulary

    async def render(
        self, lines: Sequence[ChatLine], wishes: Wishes = Wishes(), tools: Sequence[Tool] = ()
    ) -> Rendered:
        """The ids of this conversation with an answer opened; raises TextError, TextRefused where it is at fault."""
        message = Render(next(self._ids), tuple(lines), wishes, tuple(tools))
        reply = await self._ask(message, size_of(lines, tools))
        return _expect(reply, Rendered)

    async def count(self, text: str) -> int:
        """About the number of tokens of `text` as content; raises TextError.

        A long one is counted in stretches, between which others come in: exactly where the vocabulary begins a token at
        each word, as nearly all do.  Cancelling leaves out those that were not begun.  What was counted of late is not
        counted again.
        """
        count = 0
        for part in _stretches(text):
            key = hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if key not in self._counted:
                reply = await self._ask(Tokenize(next(self._ids), part), len(part))
                self._counted[key] = _expect(reply, Tokenized).count
            self._counted.move_to_end(key)
            count += self._counted[key]
            while len(self._counted) > _COUNTED:
                self._counted.popitem(last=False)
        return count

    async def constrain(
        self, form: Form | CallForm, opened: ThoughtTags | None = None, thinking: bool | None = None
    ) -> Grammar:
        """The grammar of an answer in this form; raises FormError where it cannot be had, and TextError."""
        message = Constrain(next(self._ids), form, opened, thinking)
        reply = await self._ask(message, form.size)
        if isinstance(reply, FormRefused):
            raise FormError(reply.reason, form.field)
        return _expect(reply, Constrained).grammar

    async def inspect(self, question: Question, kind: type[FoundT]) -> FoundT:
        """The answer, of this kind, to a question about the prompt format; raises TextError."""
        size = len(question.text) if isinstance(question, TryTemplate | UseTemplate) else 0
        reply = await self._ask(Inspect(next(self._ids), question), size)
        return _expect(_expect(reply, Inspected).finding, kind)

    async def use(self, template: str) -> Adopted:
        """Render with this template ("": the model's own) from now on; raises TextError, and then nothing has changed."""
        found = await self.inspect(UseTemplate(template), Adopted)
        # A worker that is started later goes on with it.
        self._params = replace(self._params, template=template)
        return found

    def end(self, why: str) -> None:
        """Answer all that is asked, and will be, with a TextError in these words."""
        if self._over:
            return
        self._over = why
        self._refuse_all()
        if self._server is not None:
            self._server.cancel()

    async def stop(self) -> None:
        """End the worker; returns when it is gone."""
        self.end("The text worker was stopped.")
        await self._tasks.finish()
        await self._drop()

    # --- requests --------------------------------------------------------------------------------------------

    async def _ask(self, message: _Asked, size: int) -> TextReply:
        if self._over:
            raise TextError(self._over)
        seconds = self._deadline.of(size)
        due = round(self._clock.now() + seconds, 1)
        waiting = asyncio.get_running_loop().create_future()
        job = _Job(due, message.request_id, message, seconds, waiting)
        self._jobs.put_nowait(job)
        reply = await job.reply
        if isinstance(reply, TextFailed):
            raise TextRefused(reply.reason)
        return reply

    async def _serve(self) -> None:
        try:
            while True:
                self._job = await self._jobs.get()
                # The one who asked may have gone away meanwhile.
                if not self._job.reply.done():
                    await self._work(self._job)
                self._job = None
        finally:
            self._over = self._over or "The text worker failed; see the log."
            self._refuse_all()

    async def _work(self, job: _Job) -> None:
        """Have `job` answered; afterwards there is a worker again, where that is possible."""
        try:
            for last in (False, True):
                try:
                    outcome = await self._attempt(job)
                except EngineDied:
                    # Before it had the job: that is one death too.
                    if last:
                        raise
                    continue
                if not isinstance(outcome, Death):
                    _settle(job, outcome)
                    return
                await self._drop()
                if last:
                    _settle(job, TextError(str(outcome), "Send it again, or shorten it."))
                await self._restart()
                # Too late, or nobody waits for it any more.
                if job.reply.done():
                    return
        except AppError as error:
            _settle(job, TextError(str(error)))

    async def _attempt(self, job: _Job) -> TextReply | Death:
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
        if self._job is None or self._worker is None:
            return
        seconds = f"{self._job.seconds:.1f} s"
        _settle(
            self._job,
            _too_slow(self._job.message, seconds),
        )
        self._worker.kill(f"took longer than {seconds} for one text")

    def _refuse_all(self) -> None:
        jobs = [self._job] if self._job is not None else []
        self._job = None
        while not self._jobs.empty():
            jobs.append(self._jobs.get_nowait())
        for job in jobs:
            _settle(job, TextError(self._over))

    # --- the worker ------------------------------------------------------------------------------------------

    async def _start(self, on_progress: OnProgress) -> VocabularyLoaded:
        worker = self._worker = self._spawn(self._heard, self._died)
        try:
            loaded = await worker.load(self._params, on_progress)
            if not isinstance(loaded, VocabularyLoaded):
                raise TextError("The text worker did not load a vocabulary.")
            self._same.check(loaded)
        except AppError:
            await self._drop()
            raise
        return loaded

    async def _restart(self) -> Link:
        await self._start(_ignore)
        if self._worker is None:
            raise TextError("The text worker ended as soon as it was loaded.")
        return self._worker

    async def _drop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.stop()

    def _heard(self, message: Message) -> None:
        if (
            isinstance(message, TextReply)
            and self._job is not None
            and message.request_id == self._job.message.request_id
        ):
            self._come_out(message)

    def _died(self, death: Death) -> None:
        self._worker = None
        self._come_out(death)

    def _come_out(self, outcome: TextReply | Death) -> None:
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(outcome)


def size_of(lines: Sequence[ChatLine], tools: Sequence[Tool]) -> int:
    """How long a conversation takes, in characters."""
    size = sum(map(_size, lines))
    return size + sum(len(tool.description) + len(tool.parameters) for tool in tools)


def _stretches(text: str) -> Iterator[str]:
    """The text in parts of at most `_STRETCH` characters, where it can be before a word."""
    start = 0
    while len(text) - start > _STRETCH:
        limit = start + _STRETCH
        blank = text.rfind(" ", start + 1, limit)
        # Of several blanks the last one belongs to the word.
        cut = blank if blank > 0 and not text[blank + 1].isspace() else limit
        yield text[start:cut]
        start = cut
    yield text[start:]


def _size(line: ChatLine) -> int:
    """How long a line takes, in characters."""
    ids = len(line.ids) + len(line.reasoning_ids) + len(line.call_ids)
    calls = sum(len(call.arguments) for call in line.calls)
    return len(line.content) + len(line.reasoning) + ids + calls


def _too_slow(message: _Asked, seconds: str) -> AppError:
    if isinstance(message, Constrain):
        words = f"'{message.form.field}' took longer than {seconds} to prepare and was given up."
        return FormError(words, message.form.field)
    return TextRefused(
        f"Turning this text into tokens took longer than {seconds} and was given up.",
        "The model's chat template may be at fault, or the text is too long.",
    )


def _expect(reply: object, kind: type[_Reply]) -> _Reply:
    """The reply, which must be of this kind; raises TextError."""
    if not isinstance(reply, kind):
        raise TextError("The text worker gave another answer than asked for.")
    return reply


def _settle(job: _Job, outcome: TextReply | AppError) -> None:
    if job.reply.done():
        return
    if isinstance(outcome, AppError):
        job.reply.set_exception(outcome)
    else:
        job.reply.set_result(outcome)


def _ignore(_progress: Progress) -> None:
    """A restart shows no progress."""
