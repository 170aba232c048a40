"""A real server on a free port, on the loop of the test, with a generator that follows a script."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from app.api.server import address_of, bind, serving
from tests.fakes import FakeGenerator, FakeModelHost

HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}


@dataclass
class Reply:
    """One HTTP answer, taken apart by hand."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        assert set(self.json) == {"error"}
        return self.json["error"]


@dataclass
class Api:
    """A running server and what stands behind it."""

    base: str
    port: int
    generator: FakeGenerator
    host: FakeModelHost

    async def raw(self, data: bytes) -> Reply:
        """Send bytes, read to the end of the connection."""
        reader, writer = await self.open()
        writer.write(data)
        try:
            return parse(await reader.read())
        finally:
            writer.close()

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        return await self.raw(head(method, path, headers))

    async def post(self, body: bytes | dict[str, Any], **headers: str) -> Reply:
        return await self.raw(chat(body, headers))


def head(method: str, path: str, headers: dict[str, str]) -> bytes:
    """A request head; a header named like `content_type` is sent as `content-type`, an empty one not at all."""
    every = {"host": "127.0.0.1", "connection": "close", **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in every.items() if value]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1")


def chat(body: bytes | dict[str, Any], headers: dict[str, str] | None = None) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    usual = {"content_type": "application/json", "content_length": str(len(data))}
    return head("POST", "/v1/chat/completions", {**usual, **(headers or {})}) + data


def parse(data: bytes) -> Reply:
    top, _, body = data.partition(b"\r\n\r\n")
    first, *lines = top.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    if headers.get("transfer-encoding") == "chunked":
        body = unchunk(body)
    return Reply(int(first.split()[1]), headers, body)


def unchunk(data: bytes) -> bytes:
    out = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        out += data[: int(size, 16)]
        data = data[int(size, 16) + 2 :]
    return out


@dataclass
class Stream:
    """A strict reader of an event stream: fields of events in order, comments counted apart."""

    events: list[str] = field(default_factory=list)
    comments: int = 0

    @property
    def chunks(self) -> list[Any]:
        return [json.loads(event) for event in self.events if event != "[DONE]"]

    @property
    def text(self) -> str:
        choices = [choice for chunk in self.chunks for choice in chunk.get("choices", [])]
        return "".join(choice["delta"].get("content", "") for choice in choices)


def read_stream(body: bytes) -> Stream:
    stream = Stream()
    assert body.endswith(b"\n\n")
    for block in body[:-2].split(b"\n\n"):
        assert b"\r" not in block
        assert b"\n" not in block, "one line for each event"
        if block.startswith(b":"):
            stream.comments += 1
        else:
            assert block.startswith(b"data: ")
            stream.events.append(block[6:].decode("utf-8"))
    return stream


async def until(condition: Callable[[], object]) -> None:
    """Let the loop turn until the condition holds; the limit is a watchdog only."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - the fakes have no event for everything
            await asyncio.sleep(0.001)


@asynccontextmanager
async def running(generator: FakeGenerator | None = None, **options: Any) -> AsyncIterator[Api]:
    listener = bind("127.0.0.1", 0)
    writer, host = generator or FakeGenerator(), FakeModelHost()
    async with serving(writer, host, listener, **options):
        yield Api(address_of(listener), listener.getsockname()[1], writer, host)
