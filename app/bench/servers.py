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

import psutil

from app.bench.client import Client
from app.bench.evaluation import Evaluation, evaluation
from app.errors import AppError

_START_SECONDS = 120.0
_END_SECONDS = 10.0

_running: set["subprocess.Popen[bytes]"] = set()


class ServerFailed(AppError):
    """A server did not start."""


@dataclass(frozen=True, slots=True)
class Load:
    """The same for both: model file, pool in tokens, chats at once, tokens of a step, threads.

    With a `profile` of ours that gives the numbers instead.
    """

    model: Path
    threads: int = 2
    pool: int = 8192
    chats: int = 8
    batch: int = 512
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """A program to measure; `binary` None means Tutti."""

    name: str
    binary: Path | None = None

    def command(self, load: Load, port: int) -> list[str]:
        """The command line, with the same meaning for both."""
        values = {"model": load.model, "port": port, "pool": load.pool, "chats": load.chats}
        values |= {"batch": load.batch, "threads": load.threads, "profile": load.profile}
        program = [str(self.binary)] if self.binary else _tutti()
        ours = _TUTTI_PROFILE if load.profile else _TUTTI
        pattern = _LLAMA_SERVER if self.binary else ours
        return [*program, *(word.format(**values) for word in pattern.split(" "))]


_TUTTI = (
    "serve --model {model} --port {port} --ctx {pool} --seqs {chats} --batch {batch} "
    "--threads {threads}"
)
_TUTTI_PROFILE = "serve --model {model} --port {port} --profile {profile} --threads {threads}"
_LLAMA_SERVER = (
    "-m {model} --port {port} -c {pool} -np {chats} --kv-unified -b {batch} -ub {batch} "
    "-t {threads} --host 127.0.0.1"
)

TUTTI = Server("Tutti")


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is ready, how to ask it, and what it evaluated (nothing, for a peer: it writes no log)."""

    client: Client
    pid: int
    log: Path

    def evaluation(self) -> Evaluation:
        return evaluation(self.log)

    def engine_pid(self) -> int:
        """Tutti's engine is the process that writes the decode log; raises AppError where there is none."""
        for child in psutil.Process(self.pid).children(recursive=True):
            if any(file.path == str(self.log) for file in child.open_files()):
                return child.pid
        raise AppError("The server has no engine.")


@contextlib.asynccontextmanager
async def running(server: Server, load: Load) -> AsyncIterator[Running]:
    """The started server, ready; stopped at the end.  Raises ServerFailed when it does not start."""
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as name:
        folder = Path(name)
        log = folder / "decode.log"
        process = _start(server.command(load, port), folder, log)
        try:
            await _ready(server, process, port, folder)
            yield Running(Client("127.0.0.1", port), process.pid, log)
        finally:
            await asyncio.to_thread(_end, process)


def end_all() -> None:
    """End every server that still runs: for a bench that is stopped in the middle of stopping."""
    for process in list(_running):
        _end(process, seconds=1.0)


def _tutti() -> list[str]:
    frozen = getattr(sys, "frozen", False)
    return [sys.executable] if frozen else [sys.executable, "-m", "app"]


def _start(command: list[str], folder: Path, log: Path) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "TUTTI_DATA_DIR": str(folder), "TUTTI_DECODE_LOG": str(log)}
    with _words(folder).open("wb") as words:
        # Ctrl+C in a terminal reaches the whole group, but the bench alone ends its servers.
        process = subprocess.Popen(
            command, env=environment, stdout=words, stderr=words, start_new_session=True
        )
    _running.add(process)
    return process


def _words(folder: Path) -> Path:
    return folder / "output.txt"


def _end(process: "subprocess.Popen[bytes]", seconds: float = _END_SECONDS) -> None:
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _running.discard(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _ready(
    server: Server, process: "subprocess.Popen[bytes]", port: int, folder: Path
) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServerFailed(
                f"{server.name} ended with code {process.returncode} before it was ready: "
                f"{_last_words(folder)}"
            )
        if await _healthy(port):
            return
        await asyncio.sleep(0.1)
    raise ServerFailed(f"{server.name} was not ready after {_START_SECONDS:.0f} s.")


def _last_words(folder: Path) -> str:
    lines = _words(folder).read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


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
