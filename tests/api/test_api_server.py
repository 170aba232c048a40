"""The socket: taken and freed ports, restarts, addresses (case 82)."""

import asyncio
import socket

import pytest

from app.api.server import CannotListen, address_of, bind, serving
from tests.api.harness import HELLO, Api
from tests.fakes import FakeGenerator, FakeModelHost


def test_a_port_is_free_again_at_once_twenty_times() -> None:
    async def run() -> None:
        port = 0
        for _ in range(20):
            listener = bind("127.0.0.1", port)
            port = listener.getsockname()[1]
            async with serving(FakeGenerator(), FakeModelHost(), listener):
                api = Api(address_of(listener), port, FakeGenerator(), FakeModelHost())
                assert (await api.post(HELLO)).status == 200

    asyncio.run(run())


def test_two_servers_never_share_a_port() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(CannotListen, match=f"Port {port} on localhost is taken"):
            bind("localhost", port)


def test_the_address_is_the_real_one() -> None:
    with bind("LOCALHOST", 0) as listener:
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_the_ipv6_address_is_written_as_an_address() -> None:
    with bind("[::1]", 0) as listener:
        assert address_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"


def test_an_error_inside_the_block_comes_out_as_it_is_and_the_port_is_free() -> None:
    async def run() -> None:
        listener = bind("127.0.0.1", 0)
        port = listener.getsockname()[1]
        with pytest.raises(ZeroDivisionError):
            async with serving(FakeGenerator(), FakeModelHost(), listener):
                raise ZeroDivisionError
        bind("127.0.0.1", port).close()

    asyncio.run(run())
