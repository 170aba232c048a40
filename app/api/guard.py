"""Who may speak to the server, and how its refusals look.

`Guard` is the outermost layer.  Before a byte of a body is read it refuses a foreign Host (a name that was made to
resolve to this machine), anything that a browser marks as coming from a page (an Origin, a foreign Sec-Fetch-Site) and
a wrong key.  It is also the border where an unexpected exception ends: it is logged, and the client gets a plain 500.
Every refusal is JSON in OpenAI's form; none says what models or files there are.
"""

import asyncio
import contextlib
import hashlib
import hmac
import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, ExceptionHandler, Receive, Scope, Send

from app.api.sse import encode
from app.errors import RequestError

MAX_BODY = 8_000_000
"""Bytes; a larger body is refused with 413."""
BODY_SECONDS = 30.0
"""A body must be complete after this time."""

_LINGER_SECONDS = 2.0
_LOOPBACK = re.compile(rb"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_OWN_SITES = (b"none", b"same-origin")
_OPEN_PATHS = ("/health",)

_log = logging.getLogger(__name__)

Key = Callable[[], bytes]
"""Gives the key that is valid now; empty when none can be read, and then nothing is allowed."""


def error_body(error: RequestError) -> dict[str, object]:
    kind = (
        "server_error"
        if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        else "invalid_request_error"
    )
    return {
        "error": {"message": error.what, "type": kind, "param": error.param, "code": error.code}
    }


def error_response(error: RequestError, headers: dict[str, str] | None = None) -> Response:
    return Response(encode(error_body(error)), error.status, headers, media_type="application/json")


class Guard:
    """Checks each request, then lets the app answer."""

    def __init__(self, app: ASGIApp, key: Key | None = None) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            self._check(scope)
        except RequestError as error:
            challenge = (
                {"WWW-Authenticate": "Bearer"} if error.status == HTTPStatus.UNAUTHORIZED else None
            )
            await error_response(error, challenge)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        except Exception:  # noqa: BLE001 - the API's border
            # The client has its 500 already: Starlette answers, then lets the exception go on.
            _log.exception("A request ended in an unexpected error.")

    def _check(self, scope: Scope) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        _check_host(_authority(scope), _values(headers, b"host"))
        _check_not_a_page(headers)
        if self._key is not None and scope["path"] not in _OPEN_PATHS:
            _check_key(_values(headers, b"authorization"), self._key())


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _authority(scope: Scope) -> bytes | None:
    """The host of a request line that holds a whole address, which is cut down to its path."""
    target: bytes = scope["raw_path"]
    if target.startswith(b"/"):
        return None
    scheme, _, rest = target.partition(b"://")
    if scheme.lower() != b"http":
        raise RequestError("The request line has no path.", code="bad_target")
    authority, _, path = rest.partition(b"/")
    scope["raw_path"] = b"/" + path
    scope["path"] = unquote(scope["raw_path"].decode("ascii"))
    return authority


def _check_host(authority: bytes | None, hosts: list[bytes]) -> None:
    if len(hosts) != 1:
        raise RequestError("The request needs exactly one Host.", code="bad_host")
    names = hosts if authority is None else [*hosts, authority]
    if not all(_LOOPBACK.fullmatch(name) for name in names):
        raise RequestError(
            "This server answers on this machine's own names only.",
            status=HTTPStatus.FORBIDDEN,
            code="foreign_host",
        )


def _check_not_a_page(headers: list[tuple[bytes, bytes]]) -> None:
    sites = _values(headers, b"sec-fetch-site")
    if _values(headers, b"origin") or any(site.lower() not in _OWN_SITES for site in sites):
        raise RequestError(
            "This server does not answer pages in a browser.",
            status=HTTPStatus.FORBIDDEN,
            code="foreign_origin",
        )


def _check_key(given: list[bytes], key: bytes) -> None:
    scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
    # Digests are of one length: the time says nothing about the key, not even how long it is.
    same = hmac.compare_digest(hashlib.sha256(token).digest(), hashlib.sha256(key).digest())
    if not (same and key and scheme.lower() == b"bearer"):
        raise RequestError(
            "A valid key is needed: Authorization: Bearer KEY.",
            status=HTTPStatus.UNAUTHORIZED,
            code="invalid_api_key",
        )


# --- bodies --------------------------------------------------------------------------------------------------


async def read_json(request: Request) -> bytes:
    """The body of a request that says it is JSON, counted while it comes in; raises RequestError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(
            "Content-Type must be application/json.",
            status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            code="unsupported_media_type",
        )
    incoming = _Incoming(request)
    body = None if _declares_too_much(request) else await incoming.whole()
    if body is None:
        await incoming.discard()
        raise RequestError(
            f"The body is larger than {MAX_BODY:,} bytes.",
            status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            code="body_too_large",
        )
    return body


def _declares_too_much(request: Request) -> bool:
    """h11 has made sure that the length, if there is one, is a number of at most 20 digits."""
    return int(request.headers.get("content-length", "0")) > MAX_BODY


class _Incoming:
    """A body on its way in."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._more = True

    async def whole(self) -> bytes | None:
        """None as soon as it is too large."""
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while self._more and len(body) <= MAX_BODY:
                    body += await self._next()
        except TimeoutError as error:
            raise RequestError(
                "The body did not arrive in time.",
                status=HTTPStatus.REQUEST_TIMEOUT,
                code="timeout",
            ) from error
        return bytes(body) if len(body) <= MAX_BODY else None

    async def discard(self) -> None:
        """Let the client finish, for a moment: one that still sends may not read the answer."""
        if "expect" in self._request.headers:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while self._more:
                    await self._next()

    async def _next(self) -> bytes:
        message = await self._request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        self._more = message.get("more_body", False)
        chunk: bytes = message.get("body", b"")
        return chunk


# --- answers to what goes wrong inside -----------------------------------------------------------------------


def internal_error() -> RequestError:
    return RequestError(
        "The server failed on this request; its log says how.",
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        code="internal_error",
    )


async def _answer(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestError):
        return error_response(error)
    if isinstance(error, ClientDisconnect):
        # Nobody reads this; it ends the request in order.
        return Response(status_code=HTTPStatus.BAD_REQUEST)
    if not isinstance(error, HTTPException):
        return error_response(internal_error())
    what = f"{request.method} is not served at this address."
    if error.status_code == HTTPStatus.NOT_FOUND:
        what = "There is nothing at this address."
    return error_response(
        RequestError(what, status=error.status_code), dict(error.headers) if error.headers else None
    )


HANDLERS: dict[type[Exception], ExceptionHandler] = dict.fromkeys(
    (RequestError, HTTPException, ClientDisconnect, Exception), _answer
)
"""What Starlette does with an exception."""
