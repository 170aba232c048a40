"""One request to the engine, over as many lives of the engine as it takes: a queue of what happens to it.

It knows what was written, so that after a death it goes on as one prompt of the old one and its answer so far.  Its
`Finished` counts all of it: the first prompt, every token written, and as cached only what no life had to read.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Protocol

from app.wire import (
    Abort,
    Finished,
    FinishReason,
    Message,
    Priority,
    ReadingNow,
    SetPriority,
    Submit,
    TokenOut,
    Usage,
    WaitingNow,
)


@dataclass(frozen=True, slots=True)
class Interrupted:
    """There is no engine at the moment; the request goes on once there is one again."""

    request_id: int


StreamEvent = TokenOut | ReadingNow | WaitingNow | Interrupted | Finished


class Sender(Protocol):
    """What a stream needs of the client that made it."""

    def send(self, message: Message) -> None: ...

    def forget(self, stream: "EngineStream") -> None: ...

    def reconsider(self) -> None: ...


class EngineStream:
    """What happens to one request.  `close` it when it is not listened to any more, finished or not."""

    def __init__(self, request: Submit, client: Sender) -> None:
        self._request = request
        self._client = client
        self._queue: asyncio.Queue[StreamEvent] = asyncio.Queue()
        self._written: list[int] = []
        self._carried = 0
        self._cached = 0
        self._fewest_cached: int | None = None
        self._aborted = False
        self._closed = False
        self._finished = False
        self._waits = False
        self._hurried: Priority | None = None
        self.priority = request.priority
        self.deaths = 0
        """Of the engine, while it worked on this request, since it last wrote."""
        self.cleared = False
        """Whether the engine that died last had got a token of it."""
        self.sent = False
        """Whether the engine has it."""

    @property
    def request_id(self) -> int:
        return self._request.request_id

    @property
    def prompt(self) -> tuple[int, ...]:
        """What was fed before anything was written."""
        return self._request.tokens

    @property
    def size(self) -> int:
        """How many tokens the engine would have to read for it to go on."""
        return len(self._request.tokens) + len(self._written)

    @property
    def active(self) -> bool:
        """Whether the engine may be working on it; not while it is known to wait for room."""
        return self.sent and not self._waits

    @property
    def proven(self) -> bool:
        """Whether it has written since the engine got it."""
        return len(self._written) > self._carried

    @property
    def only_reads(self) -> bool:
        """Whether it is a warm-up, which never writes."""
        return self._request.max_tokens == 0

    # --- for who listens -------------------------------------------------------------------------------------

    async def events(self) -> list[StreamEvent]:
        """All that has come since the last call, at least one; `Finished` is the last ever."""
        events = [await self._queue.get()]
        while not self._queue.empty():
            events.append(self._queue.get_nowait())
        return events

    def abort(self) -> None:
        """Have it stop; its `Finished` still comes.  Twice, or too late, is fine."""
        if self._finished:
            return
        self._aborted = True
        if self.sent:
            self._client.send(Abort(self.request_id))
        else:
            self.end(FinishReason.CANCELLED, "")
            self._client.forget(self)

    def set_priority(self, priority: Priority) -> None:
        """Change the scheduling class, also in the middle of the answer."""
        self.priority = priority
        if self.sent and not self._finished:
            self._hurried = None
            self._client.send(SetPriority(self.request_id, priority))
        self._client.reconsider()

    def close(self) -> None:
        """Abort it where it still runs; nobody listens any more.

        Until the engine has said that it ended, it may still be what that works on, and dies of.
        """
        self._closed = True
        self.abort()

    # --- for the client --------------------------------------------------------------------------------------

    def submit(self) -> None:
        """Give it to the engine: from its beginning, or from where the last one left it."""
        self.sent = True
        self._hurried = None
        request = replace(self._request, priority=self.priority)
        if self._written:
            prompt = request.tokens
            request = replace(
                request,
                tokens=(*prompt, *self._written),
                max_tokens=self._left,
                # Where the answer began, to write it anew.
                marks=(*request.marks, len(prompt) - 1),
                written=request.written + len(self._written),
            )
        self._client.send(request)

    def begin(self) -> None:
        """The engine has room for it, after it had to wait."""
        self._waits = False

    def hurry(self, priority: Priority) -> None:
        """Others of this class wait for it to write: until then it counts as theirs."""
        if priority < (self.priority if self._hurried is None else self._hurried):
            self._hurried = priority
            self._client.send(SetPriority(self.request_id, priority))

    def put(self, event: StreamEvent) -> None:
        """The next event."""
        match event:
            case TokenOut():
                self._written.append(event.token)
                self._waits = False
                self.deaths = 0
                if self._hurried is not None:
                    self._hurried = None
                    self._client.send(SetPriority(self.request_id, self.priority))
            case ReadingNow():
                self._cached = event.cached
                self._waits = False
            case WaitingNow():
                self._waits = True
            case Finished():
                self._finished = True
                event = replace(event, usage=self._total(event.usage))
        if not self._closed:
            self._queue.put_nowait(event)

    def end(self, reason: FinishReason, error: str) -> None:
        """The terminal event that the engine cannot give."""
        prompt, written = len(self._request.tokens), len(self._written) - self._carried
        usage = Usage(prompt, written, self._cached)
        self.put(Finished(self.request_id, reason, usage, error))

    def interrupt(self) -> bool:
        """There is no engine: wait for the next; False where nothing is left to write, so that it has ended."""
        if self._aborted or self._left == 0:
            self.end(self._last_word, "")
            return False
        if self.active:
            self._fewest_cached = self._least(self._cached)
            self.cleared = self.proven
        self._carried = len(self._written)
        self._cached = 0
        self.sent = self._waits = False
        self.put(Interrupted(self.request_id))
        return True

    @property
    def _last_word(self) -> FinishReason:
        """How a request ended that has nothing left to write; one that only reads is not worth reading again."""
        if self._aborted:
            return FinishReason.CANCELLED
        return FinishReason.LENGTH if self._written else FinishReason.ENGINE_DIED

    @property
    def _left(self) -> int | None:
        most = self._request.max_tokens
        return None if most is None else most - len(self._written)

    def _least(self, cached: int) -> int:
        return cached if self._fewest_cached is None else min(cached, self._fewest_cached)

    def _total(self, usage: Usage) -> Usage:
        if self._fewest_cached is None and not self._carried:
            return usage
        return Usage(
            len(self._request.tokens),
            self._carried + usage.completion_tokens,
            self._least(usage.cached_tokens),
        )
