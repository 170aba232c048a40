"""The bench's client against a real socket, and what it calls an answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from app.bench.client import Answer, Client

QUESTION = [{"role": "user", "content": "x"}]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def stream(*events: dict[str, object]) -> bytes:
    return HEAD + b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)


def text(words: str | None, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"delta": {"content": words}, "finish_reason": finish}]}


def ask(reply: bytes, tokens: int = 2) -> tuple[Answer, dict[str, object]]:
    """Ask a server that gives this reply; the answer, and what was asked."""
    asked: dict[str, object] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        asked.update(json.loads(await reader.readexactly(length)))
        writer.write(reply)
        writer.close()

    return asyncio.run(_with_server(serve, lambda client: client.ask(QUESTION, tokens))), asked


async def _with_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    use: Callable[[Client], Awaitable[Answer]],
) -> Answer:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        return await use(Client("127.0.0.1", server.sockets[0].getsockname()[1]))


def test_a_stream_is_read() -> None:
    usage = {
        "completion_tokens": 2,
        "prompt_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 3},
    }
    got, asked = ask(
        stream(text("a"), text("b"), text(None, "length"), {"choices": [], "usage": usage})
    )
    assert (got.text, got.whole, got.prompt, got.cached, got.made) == ("ab", True, 5, 3, 2)
    assert len(got.times) == 2
    assert (asked["ignore_eos"], asked["max_tokens"], asked["temperature"]) == (True, 2, 0)


def test_what_is_cut_is_no_answer() -> None:
    got, _ = ask(stream(text("a"), text(None, "stop")))
    assert (got.whole, got.made) == (False, 1)


def test_an_error_in_the_stream_is_kept() -> None:
    got, _ = ask(stream(text("a"), {"error": {"message": "no room"}}))
    assert not got.whole
    assert "no room" in got.error


def test_a_refusal_is_kept() -> None:
    got, _ = ask(b"HTTP/1.1 503 Busy\r\n\r\nloading")
    assert (got.error, got.whole) == ("loading", False)


def test_nobody_there_is_an_error_of_the_answer() -> None:
    async def main() -> Answer:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        half = asyncio.Event()
        answer = await Client("127.0.0.1", port).ask(QUESTION, 2, half)
        assert half.is_set(), "who waits for it would wait for ever"
        return answer

    got = asyncio.run(main())
    assert got.error
    assert not got.whole
