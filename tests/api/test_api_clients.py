"""Clients that go away, do not read, or read late (case 79), and a server that stops."""

import asyncio
import contextlib
import socket
import struct

import pytest

from app.api.answer import MAX_PENDING, Answer
from app.api.server import Times
from app.chat.models import FinishReason, Usage
from app.chat.ports import Ended, Event, Reading, Text, Waiting
from tests.api.harness import HELLO, Api, chat, head, parse, read_stream, running, until
from tests.fakes import FakeGenerator

STREAM = {**HELLO, "stream": True}


def gated(*script: Event) -> FakeGenerator:
    return FakeGenerator([script], gate=asyncio.Semaphore(0))


def free(generator: FakeGenerator, events: int) -> None:
    assert generator.gate is not None
    for _ in range(events):
        generator.gate.release()


@pytest.mark.parametrize("body", [HELLO, STREAM])
@pytest.mark.parametrize("events", [0, 1, 2, 3])
def test_a_client_that_goes_away_frees_its_sequence(body: dict[str, object], events: int) -> None:
    """In every phase: before anything, waiting, reading, writing."""

    async def run() -> None:
        generator = gated(Waiting(1), Reading(1, 9, 0), Text("one"), Text("two"))
        async with running(generator) as api:
            _, writer = await api.open()
            writer.write(chat(body))
            free(generator, events)
            await until(lambda: generator.gate and generator.running and generator.gate.locked())
            writer.close()
            await until(lambda: generator.closed_early == 1)
            assert generator.running == 0

    asyncio.run(run())


def test_a_connection_that_is_reset_frees_its_sequence() -> None:
    async def run() -> None:
        generator = gated(Text("one"), Text("two"))
        async with running(generator) as api:
            _, writer = await api.open()
            writer.write(chat(STREAM))
            await until(lambda: generator.running == 1)
            end = writer.get_extra_info("socket")
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            await until(lambda: generator.closed_early == 1)

    asyncio.run(run())


def test_a_client_that_goes_while_it_sends_its_body_is_no_error() -> None:
    async def run() -> None:
        async with running() as api:
            _, writer = await api.open()
            writer.write(chat(STREAM)[:-5])
            await writer.drain()
            writer.close()
            assert (await api.post(HELLO)).status == 200
            assert len(api.generator.requests) == 1

    asyncio.run(run())


LONG = [Text("word " * 200) for _ in range(4000)]
"""4 MB: more than the system keeps for a client that does not read."""


async def stuck(api: Api) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client with a small buffer that does not read until it is told to."""
    end = socket.socket()
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    end.setblocking(False)
    await asyncio.get_running_loop().sock_connect(end, ("127.0.0.1", api.port))
    reader, writer = await asyncio.open_connection(sock=end, limit=1024)
    writer.write(chat(STREAM))
    return reader, writer


def test_a_client_that_does_not_read_is_bounded_and_disturbs_nobody() -> None:
    async def run() -> None:
        generator = FakeGenerator([LONG, [Text("quick")]])
        async with running(generator, times=Times(stall=60)) as api:
            reader, writer = await stuck(api)
            # Its text outgrows the bound: the request ends long before the script does.
            await until(lambda: generator.closed_early == 1)
            assert [(await api.post(HELLO)).status for _ in range(3)] == [200] * 3
            body = parse(await reader.read()).body
            writer.close()
            stream = read_stream(body)
            assert stream.chunks[-1]["error"]["code"] == "slow_client"
            assert 0 < len(stream.text) < 1_000_000

    asyncio.run(run())


@pytest.mark.parametrize("begun", [b"", b"POST /v1/chat/completions HTTP/1.1\r\nHost: local"])
def test_a_request_that_does_not_come_is_not_waited_for(begun: bytes) -> None:
    async def run() -> None:
        async with running(times=Times(head=0.05)) as api:
            reader, writer = await api.open()
            writer.write(begun)
            assert await reader.read() == b""
            writer.close()
            # Nor is a second one on the same connection.
            reader, writer = await api.open()
            writer.write(head("GET", "/health", {"connection": "keep-alive"}) + begun)
            assert parse(await reader.read()).status == 200
            writer.close()
            assert (await api.post(HELLO)).status == 200

    asyncio.run(run())


def test_an_answer_may_take_longer_than_a_request() -> None:
    async def run() -> None:
        generator = gated(Text("late"))
        async with running(generator, times=Times(head=0.02, keep_alive=0.02)) as api:
            reader, writer = await api.open()
            writer.write(chat(STREAM))
            early = b""
            for _ in range(4):
                early += await reader.readuntil(b": keep-alive\n\n")
            free(generator, 4)
            stream = read_stream(parse(early + await reader.read()).body)
            writer.close()
            assert stream.text == "late"

    asyncio.run(run())


def test_a_client_that_does_not_read_is_dropped_after_a_while() -> None:
    async def run() -> None:
        # One piece that no buffer takes, and then silence: only the drop can end it.
        generator = gated(Text("x" * 4_000_000), Text("never"))
        async with running(generator, times=Times(stall=0.05)) as api:
            reader, writer = await stuck(api)
            free(generator, 1)
            await until(lambda: generator.closed_early == 1)
            data = b""
            with contextlib.suppress(ConnectionResetError):
                data = await reader.read()
            writer.close()
            assert b"[DONE]" not in data

    asyncio.run(run())


def test_a_late_reader_gets_everything_in_order() -> None:
    async def run() -> None:
        texts = [f"{number} " + "x" * 40 + " " for number in range(1500)]
        generator = FakeGenerator([[Text(text) for text in texts]])
        async with running(generator) as api:
            reader, writer = await stuck(api)
            # All of it was made, and the sequence is free, although nobody has read it yet.
            await until(lambda: generator.requests and generator.running == 0)
            assert generator.closed_early == 0
            stream = read_stream(parse(await reader.read()).body)
            writer.close()
            assert stream.text == "".join(texts)
            assert stream.events[-1] == "[DONE]"

    asyncio.run(run())


async def forever(text: str) -> object:
    while True:
        yield Text(text)
        await asyncio.sleep(0)


def test_pieces_that_wait_are_joined_and_bounded() -> None:
    async def run() -> None:
        answer = Answer(forever("x" * 100), MAX_PENDING)  # type: ignore[arg-type]
        await answer.collect()
        assert answer.ended is not None
        assert answer.ended.code == "slow_client"
        texts = await answer.take(None)
        assert len(texts) <= 65
        assert sum(len(piece.text) for piece in texts) <= MAX_PENDING

    asyncio.run(run())


def test_one_piece_of_any_size_is_not_a_slow_client() -> None:
    async def run() -> None:
        ended = Ended(FinishReason.STOP, Usage(1, 1))
        generator = FakeGenerator([[Text("x" * (2 * MAX_PENDING)), ended]])
        async with running(generator) as api:
            stream = read_stream((await api.post(STREAM)).body)
            assert len(stream.text) == 2 * MAX_PENDING
            assert stream.events[-1] == "[DONE]"

    asyncio.run(run())


@pytest.mark.parametrize("begun", [False, True])
def test_a_server_that_stops_says_so_to_every_client(begun: bool) -> None:
    async def run() -> None:
        generator = gated(Text("one"), Text("two"))
        async with running(generator) as api:
            reader, writer = await api.open()
            writer.write(chat(STREAM))
            await until(lambda: generator.running == 1)
            if begun:
                free(generator, 1)
                await reader.readuntil(b"one")
        rest = await reader.read()
        writer.close()
        assert b'"shutting_down"' in rest
        assert generator.closed_early == 1
        assert begun or parse(rest).status == 503

    asyncio.run(run())


def test_a_server_that_stops_waits_for_nobody_who_is_silent() -> None:
    """An idle connection, and one in the middle of its body."""

    async def run() -> None:
        async with running(times=Times(stop=0.05)) as api:
            idle, half = await api.open(), await api.open()
            half[1].write(
                head(
                    "POST",
                    "/v1/chat/completions",
                    {"content_type": "application/json", "content_length": "9"},
                )
            )
            await half[1].drain()
            assert (await api.post(HELLO)).status == 200
        for reader, writer in (idle, half):
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()

    asyncio.run(run())
