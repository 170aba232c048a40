"""The engine as the app uses it: requests of token ids, each with a queue of what happens to it.

Every request ends with exactly one `Finished`, also when the engine dies, is unloaded, or is gone already.  Whatever
comes for a request that nobody listens to any more is dropped.
"""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace

from app.client.child import OnProgress, Spawn
from app.client.clock import Clock
from app.client.death import Death
from app.client.speed import Speedometer
from app.errors import EngineError
from app.wire import (
    Abort,
    Counters,
    Finished,
    FinishReason,
    Loaded,
    LoadParams,
    Message,
    Priority,
    ReadingNow,
    SetPriority,
    Step,
    Submit,
    TokenOut,
    Usage,
    WaitingNow,
)

StreamEvent = TokenOut | ReadingNow | WaitingNow | Finished


class EngineStream:
    """What happens to one request.  `close` it when it is not listened to any more, finished or not."""

    def __init__(self, request_id: int, prompt_tokens: int, client: "EngineClient") -> None:
        self.request_id = request_id
        self._client = client
        self._queue: asyncio.Queue[StreamEvent] = asyncio.Queue()
        self._usage = Usage(prompt_tokens=prompt_tokens)
        self._finished = False

    async def events(self) -> list[StreamEvent]:
        """All that has come since the last call, at least one; `Finished` is the last ever."""
        events = [await self._queue.get()]
        while not self._queue.empty():
            events.append(self._queue.get_nowait())
        return events

    def abort(self) -> None:
        """Have the engine stop; its `Finished` still comes.  Twice, or too late, is fine."""
        if not self._finished:
            self._client.send(Abort(self.request_id))

    def set_priority(self, priority: Priority) -> None:
        """Change the scheduling class, also in the middle of the answer."""
        if not self._finished:
            self._client.send(SetPriority(self.request_id, priority))

    def close(self) -> None:
        """Abort it where it still runs, and drop whatever may come."""
        self.abort()
        self._client.forget(self)

    def put(self, event: StreamEvent) -> None:
        """For the client: the next event."""
        if isinstance(event, TokenOut):
            count = self._usage.completion_tokens + 1
            self._usage = replace(self._usage, completion_tokens=count)
        elif isinstance(event, ReadingNow):
            self._usage = replace(self._usage, cached_tokens=event.cached)
        self._finished = isinstance(event, Finished)
        self._queue.put_nowait(event)

    def end(self, reason: FinishReason, error: str) -> None:
        """For the client: the terminal event that the engine cannot give."""
        self.put(Finished(self.request_id, reason, self._usage, error))


class EngineClient:
    """One engine process.  All calls are on the event loop; none blocks it."""

    def __init__(self, spawn: Spawn, *, clock: Clock, on_death: Callable[[Death], None]) -> None:
        self._link = spawn(self._heard, self._died)
        self._on_death = on_death
        self._speed = Speedometer(clock)
        self._ids = itertools.count(1)
        self._streams: dict[int, EngineStream] = {}
        self._over: tuple[FinishReason, str] | None = None
        self.counters = Counters()

    @property
    def tokens_per_second(self) -> float:
        """Over all requests, in the last two seconds."""
        return self._speed.per_second

    @property
    def cached_share(self) -> float | None:
        """The share of all prompt tokens so far that did not have to be read; None before any."""
        counters = self.counters
        return counters.reused / counters.prompt if counters.prompt else None

    @property
    def over(self) -> tuple[FinishReason, str] | None:
        """How requests end now that the engine is no longer there, and the words; None while it is."""
        return self._over

    async def load(self, params: LoadParams, on_progress: OnProgress) -> Loaded:
        """Start the process and load; raises AppError with the reason where that fails."""
        loaded = await self._link.load(params, on_progress)
        if not isinstance(loaded, Loaded):
            raise EngineError("The engine did not load a model.")
        return loaded

    def submit(self, request: Submit) -> EngineStream:
        """Send it under a `request_id` of its own (the one in it does not count).

        Where the engine is gone, the stream holds its `Finished` at once.
        """
        stream = EngineStream(next(self._ids), len(request.tokens), self)
        if self._over is not None:
            stream.end(*self._over)
            return stream
        self._streams[stream.request_id] = stream
        self.send(replace(request, request_id=stream.request_id))
        return stream

    def send(self, message: Message) -> None:
        """For streams: lost where the engine is gone, for then the stream has ended."""
        self._link.send(message)

    def forget(self, stream: EngineStream) -> None:
        """For streams: nobody listens to this one."""
        self._streams.pop(stream.request_id, None)

    def end(self, reason: FinishReason, why: str) -> None:
        """End all requests, and all that will be submitted, with these words."""
        if self._over is not None:
            return
        self._over = (reason, why)
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.end(reason, why)

    async def stop(self) -> None:
        """End the process; returns when it is gone."""
        self.end(FinishReason.ERROR, "The engine was stopped.")
        await self._link.stop()

    def _heard(self, message: Message) -> None:
        if not isinstance(message, Step):
            return
        self.counters = message.counters
        self._speed.add(message.counters.written)
        events: tuple[StreamEvent, ...] = (
            *message.waiting,
            *message.reading,
            *message.tokens,
            *message.finished,
        )
        for event in events:
            stream = self._streams.get(event.request_id)
            if stream is not None:
                stream.put(event)
        for finished in message.finished:
            self._streams.pop(finished.request_id, None)

    def _died(self, death: Death) -> None:
        reason = FinishReason.ERROR if death.asked else FinishReason.ENGINE_DIED
        # The owner may have better words.
        self._on_death(death)
        self.end(reason, str(death))
