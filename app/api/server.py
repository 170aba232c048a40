"""The socket and the server on it: uvicorn, run on the event loop of the caller, who also owns the signals.

`bind` takes the port before anything slow is done; `serving` answers until its block is left.  Then live answers end
with an error event, and a connection that has not closed after `Times.stop` is cut.
"""

import asyncio
import contextlib
import errno
import math
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.guard import Guard, Key, error_body
from app.api.routes import Routes
from app.api.sse import encode
from app.chat.model_port import ModelHost
from app.chat.ports import Generator
from app.errors import AppError, RequestError

LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}
"""What `--host` may be, and the address that it means: no name is looked up."""

_MAX_HEAD = 2_000_000
_SEND_BUFFER = 262_144
_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Times:
    """In seconds.

    `head`: a client that has not sent the whole head of a request after this time is dropped.  `keep_alive`: a stream
    is never silent for longer (clients are promised 15).  `stall`: a client that has not taken what was written for
    it after this time is dropped.  `stop`: what has not closed by then is cut.
    """

    head: float = 30.0
    keep_alive: float = 10.0
    stall: float = 120.0
    stop: float = 3.0


_USUAL = Times()
_HTTP = "A request has one Host and well-formed headers; use http, https is not spoken here."


class CannotListen(AppError):
    """The address is taken, forbidden or not loopback."""


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, port 0 for any free one; raises CannotListen."""
    address = LOOPBACK.get(host.lower())
    if address is None:
        raise CannotListen(
            f"--host {host} is refused: the server is for this machine only and has no encryption.",
            "Use 127.0.0.1, localhost or ::1.",
        )
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        _own_the_port(listener)
        # Accepted connections inherit it: it bounds what the system keeps for a client that does not read.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotListen(
            f"Port {port} on {host} {_why(error)}.", "Choose another --port."
        ) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """`http://HOST:PORT` as a client writes it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.asynccontextmanager
async def serving(
    generator: Generator,
    host: ModelHost,
    listener: socket.socket,
    *,
    key: Key | None = None,
    times: Times = _USUAL,
) -> AsyncIterator[None]:
    """Answer on `listener` while the block runs, and close it."""
    stopping = asyncio.Event()
    routes = Routes(generator, host, stopping=stopping, keep_alive=times.keep_alive)

    class Bounded(Connection):
        drop_after = times.stall
        head_within = times.head

    config = uvicorn.Config(
        Guard(routes.application(), key),
        http=Bounded,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=_MAX_HEAD,
        timeout_graceful_shutdown=math.ceil(4 * times.stop),
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()
    running = loop.create_task(server.serve(sockets=[listener]), name="api server")
    try:
        await server.up.wait()
        if not server.started:
            await running
        yield
    finally:
        stopping.set()
        server.leave()
        cut = loop.call_later(times.stop, server.cut)
        await running
        cut.cancel()


class Connection(H11Protocol):
    """One client.  Nothing waits for it outside the system's own buffer; what does not get there in time ends it, as
    does a request that does not come."""

    drop_after = _USUAL.stall
    head_within = _USUAL.head

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._drop: asyncio.TimerHandle | None = None
        self._head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Writing is paused while a single byte waits, so that the timer sees every stall.
        transport.set_write_buffer_limits(high=0)
        self._watch_head()

    def handle_events(self) -> None:
        super().handle_events()
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_head()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._drop = self.loop.call_later(self.drop_after, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """What is not HTTP gets an answer in the API's form; in the middle of an answer there is none to give."""
        body = encode(error_body(RequestError(f"{msg} {_HTTP}", code="bad_request")))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode("ascii")),
            (b"connection", b"close"),
        ]
        response = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        try:
            parts = [
                self.conn.send(event)
                for event in (response, h11.Data(data=body), h11.EndOfMessage())
            ]
        except h11.LocalProtocolError:
            self.transport.abort()
            return
        self.transport.write(b"".join(part for part in parts if part))
        self.transport.close()

    def _watch_head(self) -> None:
        """While no request is in progress, the head of the next one is waited for, but not for ever."""
        # There is no cycle before the first request, which its type does not say.
        if not getattr(self.cycle, "response_complete", True):
            self._stop_head()
        elif self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(self.head_within, self.transport.close)

    def _stop_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _stop_timer(self) -> None:
        if self._drop is not None:
            self._drop.cancel()
            self._drop = None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()
        self._leaving = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.up.set()

    async def main_loop(self) -> None:
        """Keep the Date header right, once a second, until it is time to leave."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), 1.0)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the command that runs the server."""
        yield

    def leave(self) -> None:
        self.should_exit = True
        self._leaving.set()

    def cut(self) -> None:
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()


def _own_the_port(listener: socket.socket) -> None:
    """Two servers never share a port; one that was killed may be started again at once."""
    if sys.platform == "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "is taken by another program"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "may not be used by this user"
    return f"cannot be used ({error.strerror})"
