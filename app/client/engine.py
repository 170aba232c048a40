"""The engine as the app uses it: requests of token ids, each with a queue of what happens to it.

Every request ends with exactly one `Finished`.  A death of the engine ends none of them: once there is an engine
again, each goes on from what it had written, in the order in which they came.  Two things end requests for good: one
that is found to have ended the engine twice is set aside, and an engine that is given up or unloaded ends all.
A request that nobody listens to any more is known until the engine has ended it.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace

from app.client.child import OnProgress, Spawn
from app.client.clock import Clock
from app.client.death import Death
from app.client.lives import EngineLives, Listeners
from app.client.recovery import Recovery
from app.client.same_file import SameFile
from app.client.speed import Speedometer
from app.client.stream import EngineStream, StreamEvent
from app.client.suspicion import is_doubted, is_suspect, judge
from app.counters import Counters
from app.wire import Begun, FinishReason, Loaded, LoadParams, Message, Step, Submit


class EngineClient:
    """The engine of one model.  All calls are on the event loop; none blocks it.

    `on_change` is called when the engine has died, loads again (at every step of it), serves again, or is given up.
    """

    def __init__(
        self,
        spawn: Spawn,
        *,
        clock: Clock,
        on_change: Callable[[], None],
        recovery: Recovery | None = None,
        same: SameFile | None = None,
    ) -> None:
        """`same` is shared with the model's text workers."""
        listeners = Listeners(
            message=self._heard,
            interrupted=self._interrupted,
            given_up=self._given_up,
            serving=self._serving,
            changed=on_change,
        )
        self._lives = EngineLives(
            spawn,
            listeners,
            clock=clock,
            recovery=recovery or Recovery(),
            same=same or SameFile(),
        )
        self._clock = clock
        self._on_change = on_change
        self._speed = Speedometer(clock)
        self._ids = itertools.count(1)
        self._streams: dict[int, EngineStream] = {}
        self._held = False
        self._over: tuple[FinishReason, str] | None = None
        self.counters = Counters()

    @property
    def loaded(self) -> Loaded:
        """What the engine said of the model, the last time that it was loaded; raises ModelError before."""
        return self._lives.loaded

    @property
    def serving(self) -> bool:
        """Whether there is an engine at this moment."""
        return self._lives.serving

    @property
    def fraction(self) -> float:
        """How far the load is that is to bring the next one, 0 to 1."""
        return self._lives.fraction

    @property
    def death(self) -> Death | None:
        """How the last engine that served ended, where it is followed by another."""
        return self._lives.death

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
        """How requests end now that there will be no engine any more, and the words; None before."""
        return self._over

    async def load(self, params: LoadParams, on_progress: OnProgress) -> Loaded:
        """Start the process and load; raises AppError with the reason where that fails."""
        return await self._lives.load(params, on_progress)

    def submit(self, request: Submit) -> EngineStream:
        """Send it under a `request_id` of its own (the one in it does not count), as soon as there is an engine.

        Where there will be none, the stream holds its `Finished` at once.
        """
        stream = EngineStream(replace(request, request_id=next(self._ids)), self)
        if self._over is not None:
            stream.end(*self._over)
            return stream
        if not self.serving and not stream.interrupt():
            return stream
        self._streams[stream.request_id] = stream
        self._held = True
        self._let_in()
        return stream

    def send(self, message: Message) -> None:
        """For streams: lost where the engine is gone, which interrupts them."""
        self._lives.send(message)

    def forget(self, stream: EngineStream) -> None:
        """For streams: this one has ended before the engine got it."""
        self._streams.pop(stream.request_id, None)
        self._let_in()

    def reconsider(self) -> None:
        """For streams: the class of one has changed."""
        self._let_in()

    def end(self, reason: FinishReason, why: str) -> None:
        """End all requests, and all that will be submitted, with these words; nothing is started any more."""
        if self._over is not None:
            return
        self._over = (reason, why)
        self._lives.end()
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.end(reason, why)

    async def stop(self) -> None:
        """End the process; returns when it is gone."""
        self.end(FinishReason.ERROR, "The engine was stopped.")
        await self._lives.stop()

    def _serving(self) -> None:
        self._speed = Speedometer(self._clock)
        self._held = True
        self._let_in()
        self._on_change()

    def _let_in(self) -> None:
        """Send the requests that the engine does not have: all at once, but for those in doubt while there is a suspect,
        of which one at a time, and warm-ups, which can wait for the end of that."""
        if not self._held or not self.serving:
            return
        streams = self._streams.values()
        waiting = [stream for stream in streams if not stream.sent]
        trial = any(map(is_suspect, streams))
        doubted = [stream for stream in waiting if trial and is_doubted(stream)]
        for stream in waiting:
            if not trial or not (is_doubted(stream) or stream.only_reads):
                stream.submit()
        # One that waits for room keeps the others out too: it may begin at any moment.
        on_trial = self._on_trial()
        if doubted and on_trial is None:
            # The most urgent, and of those the one that is soonest known.
            on_trial = min(doubted, key=lambda stream: (stream.priority, stream.size))
            on_trial.submit()
        elif doubted and on_trial is not None:
            on_trial.hurry(min(stream.priority for stream in doubted))
        self._held = any(not stream.sent for stream in streams)

    def _on_trial(self) -> EngineStream | None:
        """The one that was let in by itself, if there is one."""
        streams = self._streams.values()
        if not any(map(is_suspect, streams)):
            return None
        return next((stream for stream in streams if stream.sent and is_doubted(stream)), None)

    def _heard(self, message: Message) -> None:
        if isinstance(message, Begun):
            for request_id in message.request_ids:
                if request_id in self._streams:
                    self._streams[request_id].begin()
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
        self._let_in()

    def _interrupted(self, death: Death) -> bool:
        """Set aside the request that the death is put down to, and have all others wait for the next engine."""
        self.counters = Counters()
        on_trial = self._on_trial()
        tried = on_trial is not None and on_trial.active
        guilty = judge(self._streams.values())
        if guilty is not None:
            del self._streams[guilty.request_id]
            guilty.end(FinishReason.ERROR, _set_aside(death))
        for stream in tuple(self._streams.values()):
            if not stream.interrupt():
                del self._streams[stream.request_id]
        # Without a word ever, it may as well be that this engine cannot work at all.
        return tried or (guilty is not None and self._lives.has_written)

    def _given_up(self, words: str) -> None:
        self.end(FinishReason.ENGINE_DIED, words)
        self._on_change()


def _set_aside(death: Death) -> str:
    return (
        f"This message ended the engine twice, so it was set aside; other chats go on. The last time: {death} "
        "Change the message, or load the model with a smaller pool, before you send it again."
    )
