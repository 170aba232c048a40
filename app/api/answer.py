"""One answer on its way from the generator to one client.

`Answer.collect` takes everything that the generator gives, at once, so that a slow client never holds a sequence;
`ChatResponse` writes it as fast as the client reads.  What lies between them is bounded: while the client does not read,
pieces are joined, and a text that grows beyond `MAX_PENDING` characters ends the request.  (A client that reads nothing
at all is dropped by `server.Connection`.)  A call of a tool in which the model goes wrong is text, or where it was streamed,
and so cannot be taken back, the end of the request.  One in which the answer was cut off (by its length, a stop string) is
given as far as it came, streamed or not, and the finish reason says that it is not whole.  A client that goes away, in
whatever phase, ends the request at once.  All of it runs on one event loop.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from http import HTTPStatus

from starlette.types import Receive, Scope, Send

from app.api.guard import error_body, error_response, internal_error
from app.api.pieces import CallPiece, Piece, TextPiece, joined, whole
from app.api.sse import KEEP_ALIVE, CompletionWriter
from app.chat.models import FinishReason, ToolCall, Usage
from app.chat.ports import (
    CallArguments,
    CallBegun,
    CallBroken,
    CallEvent,
    Ended,
    Event,
    Text,
    Thought,
)
from app.errors import RequestError

MAX_PENDING = 80_000
"""Characters that may wait for a client; at most 12 bytes each in JSON, so under a megabyte."""
_MAX_PIECES = 64

_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
_WHOLE = (FinishReason.STOP, FinishReason.LENGTH)
_SHUTTING_DOWN = "shutting_down"
_BROKEN = "The model began a call of a tool, but its arguments did not become JSON; nothing of it may be used."
_STATUS = {
    "context_length_exceeded": HTTPStatus.BAD_REQUEST,
    "invalid_value": HTTPStatus.BAD_REQUEST,
    _SHUTTING_DOWN: HTTPStatus.SERVICE_UNAVAILABLE,
    FinishReason.ENGINE_DIED.value: HTTPStatus.SERVICE_UNAVAILABLE,
    FinishReason.CANCELLED.value: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""By code; every other failure is a 500."""

_log = logging.getLogger(__name__)


class Answer:
    """What was generated and not yet taken."""

    def __init__(self, events: AsyncIterator[Event], max_pending: int | None) -> None:
        self.ended: Ended | None = None
        self.client_gone = False
        self.cut = False
        """Whether its last call is not whole."""
        self._events = events
        self._max_pending = max_pending
        self._texts: list[Piece] = []
        self._waiting = 0
        """The weight of them all."""
        self._join_at = _MAX_PIECES
        self._changed = asyncio.Event()

    async def collect(self) -> None:
        """Take events until the end; cancelling this stops the request."""
        try:
            async for event in self._events:
                if isinstance(event, Text):
                    self._append(TextPiece(event.text, likelihoods=event.likelihoods))
                elif isinstance(event, Thought):
                    self._append(TextPiece(event.text, thought=True))
                elif isinstance(event, CallEvent):
                    self._call(event)
                elif isinstance(event, Ended):
                    self.end(event)
                if self.ended is not None:
                    break
            else:
                _log.error("A generator ended without saying how.")
        except Exception:  # noqa: BLE001 - the API's border
            _log.exception("A generator failed.")
        finally:
            self.end(_failed(internal_error().what, "internal_error"))
            if isinstance(self._events, AsyncGenerator):
                await self._events.aclose()

    async def take(self, seconds: float | None) -> list[Piece]:
        """The pieces since the last call; waits until there are some or the answer has ended."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return []
        self._changed.clear()
        texts, self._texts = self._texts, []
        self._waiting, self._join_at = 0, _MAX_PIECES
        return texts

    def end(self, ended: Ended) -> None:
        """The first end counts."""
        if self.ended is None:
            self.ended = ended
            self._changed.set()

    def leave(self) -> None:
        """The client is gone."""
        self.client_gone = True
        self._changed.set()

    def _call(self, event: CallEvent) -> None:
        match event:
            case CallBegun():
                self._append(CallPiece(event.index, "", event))
            case CallArguments():
                self._append(CallPiece(event.index, event.text))
            case CallBroken() if event.cut:
                self.cut = True
            case CallBroken() if self._max_pending is None:
                self._append(CallPiece(event.index, event.text, broken=True))
            case CallBroken():
                self.end(_failed(_BROKEN, "invalid_tool_call"))

    def _append(self, piece: Piece) -> None:
        weight = piece.weight
        if not weight:
            return
        if self._max_pending is not None and not self._has_room(weight, self._max_pending):
            self.end(_failed("The client reads too slowly.", "slow_client"))
            return
        if len(self._texts) >= self._join_at:
            self._texts = joined(self._texts)
            # Those that cannot be joined are not looked at again with every one that comes.
            self._join_at = max(_MAX_PIECES, 2 * len(self._texts))
        self._texts.append(piece)
        self._waiting += weight
        self._changed.set()

    def _has_room(self, weight: int, most: int) -> bool:
        """One piece of any size always has."""
        return not self._waiting or self._waiting + weight <= most


def _failed(what: str, code: str) -> Ended:
    return Ended(FinishReason.ERROR, Usage(), what, code)


def _as_error(ended: Ended) -> RequestError:
    what = ended.error or "The answer was cancelled."
    code = ended.code or ended.reason.value
    status = _STATUS.get(code, HTTPStatus.INTERNAL_SERVER_ERROR)
    return RequestError(what, param=ended.field or None, status=status, code=code)


class ChatResponse:
    """An ASGI response: waits for the first word of the answer before it says 200."""

    def __init__(
        self,
        events: AsyncIterator[Event],
        writer: CompletionWriter,
        *,
        stream: bool,
        keep_alive: float,
        stopping: asyncio.Event,
    ) -> None:
        self._answer = Answer(events, MAX_PENDING if stream else None)
        self._writer = writer
        self._stream = stream
        self._keep_alive = keep_alive
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        write = self._write_stream if self._stream else self._write_whole
        async with asyncio.TaskGroup() as tasks:
            helpers = [
                tasks.create_task(self._answer.collect()),
                tasks.create_task(self._watch_client(receive)),
                tasks.create_task(self._watch_server()),
            ]
            try:
                error = await write(send)
            finally:
                for helper in helpers:
                    helper.cancel()
        if error is not None:
            await error_response(error)(scope, receive, send)

    async def _watch_client(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._answer.leave()

    async def _watch_server(self) -> None:
        await self._stopping.wait()
        self._answer.end(_failed("The server is stopping.", _SHUTTING_DOWN))

    async def _write_stream(self, send: Send) -> RequestError | None:
        """Returns the error, if the answer failed before anything was sent."""
        answer, begun, called = self._answer, False, False
        while True:
            texts = await answer.take(self._keep_alive)
            ended = answer.ended
            if answer.client_gone:
                return None
            if not begun and not texts and ended is not None and ended.reason not in _WHOLE:
                return _as_error(ended)
            called = called or any(isinstance(piece, CallPiece) for piece in texts)
            data = b"" if begun else self._writer.opening()
            data += b"".join(map(self._piece, texts))
            if ended is not None:
                data += self._end_of_stream(ended, called=called)
            if not begun:
                begun = True
                await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            body = data or KEEP_ALIVE
            await send({"type": "http.response.body", "body": body, "more_body": ended is None})
            if ended is not None:
                return None

    def _piece(self, piece: Piece) -> bytes:
        if isinstance(piece, CallPiece):
            if piece.begun is None:
                return self._writer.arguments(piece.index, piece.text)
            call = ToolCall(piece.begun.id, piece.begun.name, piece.text)
            return self._writer.call(piece.index, call)
        if piece.thought:
            return self._writer.thought(piece.text)
        return self._writer.text(piece.text, piece.likelihoods)

    def _end_of_stream(self, ended: Ended, *, called: bool) -> bytes:
        if ended.reason in _WHOLE:
            called = called and not self._answer.cut
            return self._writer.closing(ended.reason, ended.usage, called=called)
        return self._writer.failure(error_body(_as_error(ended)))

    async def _write_whole(self, send: Send) -> RequestError | None:
        answer = self._answer
        texts: list[Piece] = []
        while answer.ended is None and not answer.client_gone:
            texts += await answer.take(None)
        if answer.client_gone or answer.ended is None:
            return None
        ended = answer.ended
        if ended.reason not in _WHOLE:
            return _as_error(ended)
        found = whole(texts)
        called = bool(found.calls) and not answer.cut
        body = self._writer.whole(found, ended.reason, ended.usage, called=called)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode("ascii")),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return None
