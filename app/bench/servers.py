"""Starting the server that is measured: Tutti itself, or llama-server of the same llama.cpp.

Each run gets a fresh process and a fresh data folder, or caches would answer.
"""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from app.bench.client import Client

_START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Load:
    """The same for both: model file, pool in tokens, chats at once, tokens of a step, threads."""

    model: Path
    pool: int = 8192
    chats: int = 8
    batch: int = 512
    threads: int = 2


@dataclass(frozen=True, slots=True)
class Server:
    """A program to measure; `binary` None means Tutti."""

    name: str
    binary: Path | None = None

    def command(self, load: Load, port: int) -> list[str]:
        if self.binary is None:
            return [
                *(sys.executable, "-m", "app", "serve"),
                *("--model", str(load.model), "--port", str(port), "--ctx", str(load.pool)),
                *(
                    "--seqs",
                    str(load.chats),
                    "--batch",
                    str(load.batch),
                    "--threads",
                    str(load.threads),
                ),
            ]
        return [
            *(str(self.binary), "-m", str(load.model), "--port", str(port), "-c", str(load.pool)),
            *(
                "-np",
                str(load.chats),
                "--kv-unified",
                "-b",
                str(load.batch),
                "-ub",
                str(load.batch),
            ),
            *("-t", str(load.threads), "--host", "127.0.0.1"),
        ]


@contextlib.asynccontextmanager
async def running(server: Server, load: Load) -> AsyncIterator[Client]:
    """The started server, ready; stopped at the end.  Raises RuntimeError when it does not start."""
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as folder:
        process = _start(server.command(load, port), folder)
        try:
            await _ready(server, process, port)
            yield Client("127.0.0.1", port)
        finally:
            process.terminate()
            await asyncio.to_thread(_wait, process)


def _start(command: list[str], data_folder: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "TUTTI_DATA_DIR": data_folder}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _wait(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _ready(server: Server, process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(
                f"{server.name} ended with code {process.returncode} before it was ready"
            )
        if await _healthy(port):
            return
        await asyncio.sleep(0.1)
    raise RuntimeError(f"{server.name} was not ready after {_START_SECONDS:.0f} s")


async def _healthy(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
        )
        line = await reader.readline()
        writer.close()
    except OSError:
        return False
    return b" 200 " in line
