"""`killed:N`: the engine is killed while N chats write."""

import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import ClassVar

from app.bench import workloads
from app.bench.client import Answer, Client
from app.bench.engine import running_engine
from app.bench.figure import Figure, Values, at_least, at_most
from app.bench.rows.row import Row, Setup
from app.bench.servers import TUTTI, Load, Running, running
from app.errors import AppError

_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Killed(Row):
    """From the kill to the first text of a new request, against the load of a model; and what becomes of the others."""

    kind: ClassVar[str] = "killed"
    about: ClassVar[str] = "the engine is killed while N chats write: serving again"
    shown: ClassVar[int] = 1

    sequences: int = 2
    written: int = 200

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("load", "a load of the model", "s", 2),
            Figure("again", "serving again after", "s", 2),
            Figure("beyond", "beyond the load", "s", 2, at_most(1.0)),
            Figure("whole", "the other chats' answers whole", "", 0, at_least(self.sequences)),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        began = time.perf_counter()
        async with running_engine(setup.engine()):
            load = time.perf_counter() - began
        async with running(TUTTI, Load(setup.model, setup.threads)) as server:
            writing = asyncio.Event()
            again, others = await asyncio.gather(
                self._kill(server, writing, seed), self._write(server.client, writing, seed)
            )
        whole = sum(answer.whole for answer in others)
        return {"load": load, "again": again, "beyond": again - load, "whole": whole}

    async def _write(self, client: Client, writing: asyncio.Event, seed: int) -> list[Answer]:
        """The chats that are writing when it happens."""
        prompts = (workloads.tale(seed, number) for number in range(self.sequences))
        return await asyncio.gather(
            *(client.ask(prompt, self.written, writing) for prompt in prompts)
        )

    async def _kill(self, server: Running, writing: asyncio.Event, seed: int) -> float:
        """Seconds from the kill to a new request's first text."""
        await writing.wait()
        began = time.perf_counter()
        os.kill(server.engine_pid(), _KILL)
        return await self._first_text(server.client, seed) - began

    async def _first_text(self, client: Client, seed: int) -> float:
        """When a new request has its first text; asked again where it is turned away."""
        end = time.perf_counter() + _PATIENCE_SECONDS
        while time.perf_counter() < end:
            answer: Answer = await client.ask(workloads.tale(seed, self.sequences), 1)
            if answer.times:
                return answer.times[0]
            await asyncio.sleep(0.05)
        raise AppError(f"The server gave no answer for {_PATIENCE_SECONDS:.0f} s after the kill.")


_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
