"""`edge:N`: the peak memory of `serve --profile edge` while N chats answer."""

from dataclasses import dataclass
from typing import ClassVar

import psutil

from app.bench import workloads
from app.bench.figure import Figure, Values, at_least
from app.bench.peak import peak_bytes
from app.bench.rows.row import Row, Setup
from app.bench.servers import TUTTI, Load, Running, running


@dataclass(frozen=True)
class Edge(Row):
    """Each process for itself, from its start to the end of the answers, the load included."""

    kind: ClassVar[str] = "edge"
    about: ClassVar[str] = "peak memory of serve --profile edge, N chats answering"
    shown: ClassVar[int] = 1

    chats: int = 2
    written: int = 200
    """Tokens of each answer; with the prompts of two chats they fill most of the pool of 1,024."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("engine", "peak memory, engine", "MB", 0),
            Figure("text", "peak memory, text worker", "MB", 0),
            Figure("app", "peak memory, server", "MB", 0),
            Figure("all", "peak memory, all processes", "MB", 0),
            Figure("whole", "answers whole", "", 0, at_least(self.chats)),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        load = Load(setup.model, setup.threads, profile="edge")
        async with running(TUTTI, load) as server:
            outcome = await workloads.pressure(server.client, seed, self.chats, self.written)
            peaks = _peaks(server)
        megabytes = {name: count / 1e6 for name, count in peaks.items()}
        return {**megabytes, "all": sum(megabytes.values()), "whole": len(outcome.whole)}


def _peaks(server: Running) -> dict[str, int]:
    """Bytes of each process; the few of the interpreter's own helper count with the text worker."""
    engine = server.engine_pid()
    children = psutil.Process(server.pid).children(recursive=True)
    others = sum(peak_bytes(child.pid) for child in children if child.pid != engine)
    return {"engine": peak_bytes(engine), "text": others, "app": peak_bytes(server.pid)}
