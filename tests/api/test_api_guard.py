"""Who is let in: keys (case 73), pages in a browser (case 74), unknown addresses (case 83)."""

import asyncio
from pathlib import Path

from app.api.guard import MAX_BODY
from app.api.key import KeyFile
from app.chat.model_state import Advice, AdviceKind, EngineStatus
from tests.api.harness import HELLO, Api, Reply, chat, head, parse, running

KEY = "k-secret"


def refused_for_the_key(reply: Reply) -> bool:
    assert reply.headers["content-type"] == "application/json"
    assert b"fake" not in reply.body, "no model names"
    return reply.status == 401 and reply.headers["www-authenticate"] == "Bearer"


def test_every_route_but_health_needs_the_key() -> None:
    async def run() -> None:
        async with running(key=KEY.encode) as api:
            for path in (
                "/v1/models",
                "/v1/models/default",
                "/v1/chat/completions",
                "/",
                "/nothing",
            ):
                for method in ("GET", "POST", "OPTIONS", "DELETE"):
                    reply = await api.get(path, method)
                    assert refused_for_the_key(reply)
                    assert reply.error["code"] == "invalid_api_key"
                assert refused_for_the_key(await api.get(path, "HEAD"))
            assert (await api.get("/health")).json == {"status": "ok"}

    asyncio.run(run())


def test_health_says_why_the_cache_serves_badly() -> None:
    async def run() -> None:
        async with running() as api:
            advice = Advice(AdviceKind.TOO_SMALL, "The pool is too small.")
            api.host.status = EngineStatus(advice=advice)
            reply = await api.get("/health")
            assert reply.status == 200
            assert reply.json == {"status": "ok", "cache_advice": "The pool is too small."}

    asyncio.run(run())


KEYS = {
    f"Bearer {KEY}": 200,
    f"bearer {KEY}": 200,
    "": 401,
    "Bearer": 401,
    "Bearer ": 401,
    "Bearer wrong": 401,
    f"Bearer  {KEY}": 401,
    f"Bearer {KEY}x": 401,
    f"Bearer {KEY[:-1]}": 401,
    f"Basic {KEY}": 401,
    KEY: 401,
    f"Bearer {KEY}\xe9": 401,
    f"Bearer {KEY}\r\nauthorization: Bearer {KEY}": 401,
    "Bearer " + "k" * 1_000_000: 401,
}


def test_keys() -> None:
    async def run() -> None:
        async with running(key=KEY.encode) as api:
            for header, status in KEYS.items():
                assert (await api.get("/v1/models", authorization=header)).status == status, header
                assert (await api.post(HELLO, authorization=header)).status == status, header
            assert (await api.get(f"/v1/models?key={KEY}")).status == 401

    asyncio.run(run())


def test_a_new_key_in_the_file_counts_at_once_and_an_empty_file_opens_nothing(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        path = tmp_path / "key"
        path.write_text("old-key\n")
        async with running(key=KeyFile(path)) as api:

            async def status(key: str) -> int:
                return (await api.get("/v1/models", authorization=f"Bearer {key}")).status

            assert await status("old-key") == 200
            path.write_text("a-newer-key\n")
            assert [await status("old-key"), await status("a-newer-key")] == [401, 200]
            path.write_text("")
            assert [await status(""), await status("a-newer-key")] == [401, 401]
            path.unlink()
            assert await status("a-newer-key") == 401

    asyncio.run(run())


HOSTS = {
    "127.0.0.1": 200,
    "localhost": 200,
    "LOCALHOST:1234": 200,
    "[::1]": 200,
    "[::1]:80": 200,
    "evil.example": 403,
    "localhost.evil.example": 403,
    "127.0.0.1.evil.example": 403,
    "localhost.": 403,
    "127.0.0.1:80@evil.example": 403,
    "[::1": 403,
    "10.0.0.1": 403,
    "127.0.0.1:x": 403,
}


def test_hosts() -> None:
    async def run() -> None:
        async with running() as api:
            for host, status in HOSTS.items():
                assert (await api.get("/v1/models", host=host)).status == status, host
                assert (await api.get("/health", host=host)).status == status, host
                # Nothing of the body is sent: a refusal does not wait for it.
                bare = {"host": host, "content_length": "5"}
                reply = await api.raw(head("POST", "/v1/chat/completions", bare))
                assert reply.status == (415 if status == 200 else status), host

    asyncio.run(run())


HEADS = {
    b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n": 400,
    b"GET /v1/models HTTP/1.0\r\n\r\n": 400,
    b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n": 400,
    b"GET /v1/models HTTP/1.0\r\nHost:\r\n\r\n": 403,
    b"GET /v1/models HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n": 403,
    b"GET http://evil.example/v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n": 403,
    b"GET http://localhost/v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n": 200,
    b"GET ftp://localhost/v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n": 400,
    b"OPTIONS * HTTP/1.0\r\nHost: localhost\r\n\r\n": 400,
    b"nonsense\r\n\r\n": 400,
}


def test_odd_request_lines_and_hosts() -> None:
    async def run() -> None:
        async with running() as api:
            for request_head, status in HEADS.items():
                reply = await api.raw(request_head)
                assert reply.status == status, request_head
                assert status == 200 or reply.error["message"]

    asyncio.run(run())


PAGES = [
    {"origin": "null"},
    {"origin": "https://evil.example"},
    {"origin": "http://localhost:3000"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
]


async def answers(api: Api, headers: dict[str, str]) -> list[Reply]:
    return [
        await api.get("/v1/models", **headers),
        await api.get("/health", **headers),
        await api.get("/v1/chat/completions", "OPTIONS", **headers),
        await api.post(HELLO, **headers),
    ]


def test_pages_in_a_browser_are_refused() -> None:
    async def run() -> None:
        async with running() as api:
            for reply in [reply for headers in PAGES for reply in await answers(api, headers)]:
                assert reply.status == 403
                assert not [name for name in reply.headers if name.startswith("access-control")]
            assert (await api.get("/v1/models", sec_fetch_site="none")).status == 200
            assert api.generator.requests == []

    asyncio.run(run())


KINDS = {
    "application/json": 200,
    "Application/JSON; charset=utf-8": 200,
    "text/plain": 415,
    "application/x-www-form-urlencoded": 415,
    "": 415,
}


def test_bodies_must_say_that_they_are_json() -> None:
    async def run() -> None:
        async with running() as api:
            for kind, status in KINDS.items():
                assert (await api.post(HELLO, content_type=kind)).status == status, kind

    asyncio.run(run())


async def too_large(api: Api, data: bytes) -> None:
    reply = await api.raw(data)
    assert reply.status == 413
    assert reply.error["code"] == "body_too_large"


def test_too_large_bodies() -> None:
    async def run() -> None:
        async with running() as api:
            body = b" " * (MAX_BODY + 1)
            await too_large(api, chat(body))
            chunked = {"content_length": "", "transfer_encoding": "chunked"}
            await too_large(
                api, chat(f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n", chunked)
            )
            await too_large(api, chat(b"", {"content_length": "9" * 18, "expect": "100-continue"}))
            assert (await api.post(HELLO)).status == 200

    asyncio.run(run())


def test_a_broken_chunk_ends_only_its_own_connection() -> None:
    async def run() -> None:
        async with running() as api:
            reply = await api.raw(
                chat(b"zz\r\n", {"content_length": "", "transfer_encoding": "chunked"})
            )
            assert reply.status == 400
            assert (await api.post(HELLO)).status == 200

    asyncio.run(run())


ADDRESSES = [
    ("GET", "/", 404),
    ("GET", "/v1", 404),
    ("GET", "/v1/chat/completions", 405),
    ("DELETE", "/v1/models", 405),
    ("POST", "/v1/embeddings", 404),
    ("POST", "/v1/responses", 404),
    ("GET", "//v1/models", 404),
    ("GET", "/v1/models/", 404),
    ("GET", "/v1/models/%2e%2e/%2e%2e/etc/passwd", 404),
    ("GET", "/v1/models/default%2Fx", 404),
    ("GET", "/v1/models/%ff%00", 404),
    ("TRACE", "/v1/models", 405),
    ("OPTIONS", "/v1/models", 405),
    ("PUT", "/health", 405),
    ("GET", "/" + "a" * 100_000, 404),
]


def test_unknown_addresses_and_methods() -> None:
    async def run() -> None:
        async with running() as api:
            for method, path, status in ADDRESSES:
                reply = await api.get(path, method)
                assert reply.status == status, path
                assert reply.error["message"]
                assert status == 404 or reply.headers["allow"]

    asyncio.run(run())


def test_head_has_no_body() -> None:
    async def run() -> None:
        async with running() as api:
            reply = await api.get("/v1/models", "HEAD")
            assert (reply.status, reply.body) == (200, b"")

    asyncio.run(run())


def test_a_bug_is_a_500_without_a_traceback_and_is_logged(logged_errors: list[str]) -> None:
    logged_errors += ["unexpected error"]

    async def run() -> None:
        async with running(key=None) as api:
            del api.host.state
            reply = await api.get("/v1/models")
            assert reply.status == 500
            assert reply.error["type"] == "server_error"
            assert b"Traceback" not in reply.body
            assert b"AttributeError" not in reply.body

    asyncio.run(run())


def test_one_connection_serves_several_requests() -> None:
    async def run() -> None:
        async with running() as api:
            reader, writer = await api.open()
            for _ in range(3):
                writer.write(chat(HELLO, {"connection": ""}))
                top = await reader.readuntil(b"\r\n\r\n")
                reply = parse(top)
                assert reply.status == 200
                await reader.readexactly(int(reply.headers["content-length"]))
            writer.close()

    asyncio.run(run())
