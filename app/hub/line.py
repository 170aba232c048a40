"""One HTTP client with sockets of its own, which another thread may cut at any moment.

Closing a client from another thread would close descriptors that are being read; shutting its sockets down ends every
wait on them within milliseconds and nothing else.  Only a connection that is being made, or a name that is being
looked up, cannot be cut: those have limits of seconds.
"""

import contextlib
import json
import logging
import os
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

import httpx2
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils._http import hf_raise_for_status, hf_request_event_hook

from app.errors import HubError, HubProblem
from app.hub import failures
from app.hub.access import Access, headers

_TALKERS = ("httpx2", "httpcore2")
"""They log addresses and headers; the address that a hub redirects to is a key to the file."""
_MOST_JSON = 8_000_000
"""Bytes of an answer that is read as a whole: while Python reads it, the window stands still."""
_OF_THE_BODY = {b"content-encoding", b"content-length", b"transfer-encoding"}
_MOST_REDIRECTS = 8


_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


_WRONG = (httpx2.HTTPError, httpx2.InvalidURL, HFValidationError, UnicodeError)
"""What an answer may do to the client; the last for a redirect to a host whose name cannot be one."""

_STUMBLES = (ValueError, OverflowError)
"""What the hub's library does over numbers in headers of a refusal that are none."""


class Cut(Exception):
    """The line was cut by its owner."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Longest waits in seconds: for a connection, and for the next bytes on one."""

    connect: float = 3.0
    read: float = 10.0


QUICK = Waits(connect=2.5, read=4.5)
"""For questions that a person waits for: the first word comes within five seconds."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole small answer: its bytes, and the address of the next page of a list, "" on the last."""

    content: bytes
    next_page: str = ""

    def json(self, access: Access) -> object:
        """Raises HubError when it is none."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise _nonsense(access) from None


@lru_cache(maxsize=4)
def _trusted(_file: str, _folder: str) -> ssl.SSLContext:
    """The authorities that these variables name, or the system's: reading them takes 50 ms, and every question has a line
    of its own."""
    return httpx2.create_ssl_context()


class Line:
    """To be used by one thread; `cut` may be called by any."""

    def __init__(self, access: Access, waits: Waits = QUICK) -> None:
        self._access = access
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._is_cut = False
        for talker in _TALKERS:
            logging.getLogger(talker).setLevel(logging.WARNING)
        self._client = httpx2.Client(
            headers=headers(access) | {"accept-encoding": "identity"},
            timeout=httpx2.Timeout(waits.read, connect=waits.connect),
            follow_redirects=True,
            max_redirects=_MOST_REDIRECTS,
            proxy=access.proxy or None,
            verify=_trusted(*(os.environ.get(name, "") for name in _CERTIFICATES)),
            event_hooks={"request": [hf_request_event_hook, self._check]},
        )

    def cut(self) -> None:
        """End whatever this line does, now and for good."""
        with self._lock:
            self._is_cut = True
            sockets, self._sockets = self._sockets, []
        for one in sockets:
            _shut_down(one)

    def close(self) -> None:
        """By the thread that uses it, or when none does."""
        self._client.close()

    def get(
        self,
        address: str,
        params: Mapping[str, str | list[str]] | None = None,
        *,
        repo: str = "",
        most: int = _MOST_JSON,
    ) -> Answer:
        """The whole answer; raises HubError, also when it is longer than `most` bytes, and Cut."""
        with self._stream(address, {}, dict(params or {}), repo) as response:
            content = _bounded(response, most + 1)
            if len(content) > most:
                raise _nonsense(self._access)
            return Answer(content, self._next_page(response))

    @contextlib.contextmanager
    def ranged(self, address: str, first: int, last: int, repo: str) -> Iterator[httpx2.Response]:
        """Ask for bytes `first` to `last`; the answer has status 200, 206 or 416 and its body is not read yet.

        Raises HubError and Cut, also for what goes wrong while the body is read.
        """
        wanted = {"range": f"bytes={first}-{last}"}
        with self._stream(address, wanted, {}, repo, fine=(416,)) as response:
            yield response

    @contextlib.contextmanager
    def _stream(
        self,
        address: str,
        wanted: dict[str, str],
        params: dict[str, str | list[str]],
        repo: str,
        fine: tuple[int, ...] = (),
    ) -> Iterator[httpx2.Response]:
        try:
            with self._client.stream(
                "GET",
                address,
                params=params or None,
                headers=wanted,
                extensions={"trace": self._trace},
            ) as response:
                if response.status_code not in fine:
                    self._refuse(response)
                yield response
        except (*_WRONG, OSError) as error:
            if self._is_cut:
                raise Cut from error
            if isinstance(error, OSError) and not isinstance(error, httpx2.HTTPError | ConnectionError):  # fmt: skip
                raise
            raise failures.told(error, self._access, repo) from error

    def _refuse(self, response: httpx2.Response) -> None:
        """Raise what the status and the words of the hub mean."""
        if response.status_code < 400:
            return
        # The body is a stranger's words, of which none are shown.
        kept = [(k, v) for k, v in response.headers.raw if k.lower() not in _OF_THE_BODY]
        status, asked = response.status_code, response.request
        try:
            hf_raise_for_status(httpx2.Response(status, headers=kept, request=asked))
        except _STUMBLES:
            hf_raise_for_status(httpx2.Response(status, request=asked))

    def _next_page(self, response: httpx2.Response) -> str:
        """A page of another origin is not followed: the token would go there."""
        page = response.links.get("next", {}).get("url", "")
        return page if _origin(page) == _origin(self._access.endpoint) else ""

    def _check(self, _request: httpx2.Request) -> None:
        if self._is_cut:
            raise Cut

    def _trace(self, event: str, info: Mapping[str, object]) -> None:
        if not event.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        stream = info.get("return_value")
        found = stream.get_extra_info("socket") if hasattr(stream, "get_extra_info") else None
        if not isinstance(found, socket.socket):
            return
        with self._lock:
            self._sockets = [one for one in self._sockets if one.fileno() >= 0]
            self._sockets.append(found)
            is_cut = self._is_cut
        if is_cut:
            _shut_down(found)


def _shut_down(one: socket.socket) -> None:
    # Unbound: the method of a TLS socket would change the state under the reader's feet.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(one, socket.SHUT_RDWR)


def _bounded(response: httpx2.Response, most: int) -> bytes:
    found = bytearray()
    for chunk in response.iter_raw():
        found += chunk[: most - len(found)]
        if len(found) >= most:
            break
    return bytes(found)


def _origin(address: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(address)
        origin = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return "", None, None
    return origin


def _nonsense(access: Access) -> HubError:
    return HubError(
        f"The answer of {access.host} makes no sense.",
        "Check the address of the hub, and whether a proxy or a log-in page stands between.",
        problem=HubProblem.PROTOCOL,
    )
