"""What a row of the benchmark is: one workload with its figures and goals, measured beside a peer where there is one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from app.bench.figure import Figure, Values
from app.wire import LoadParams

LLAMA_SERVER = "llama-server"
BATCHED_BENCH = "batched-bench"


@dataclass(frozen=True, slots=True)
class Setup:
    """What all rows of a run have in common; `peers` are the programs to measure beside Tutti, by name."""

    model: Path
    threads: int = 2
    llama_server: Path | None = None
    batched_bench: Path | None = None

    def peer(self, name: str) -> Path | None:
        """The program of this peer; None where it was not named."""
        return {LLAMA_SERVER: self.llama_server, BATCHED_BENCH: self.batched_bench}.get(name)

    def engine(self, *, chats: int = 8, pool: int = 8192) -> LoadParams:
        """How an engine is loaded for rows that need no server."""
        return LoadParams(
            str(self.model), pool_tokens=pool, sequences=chats, threads=self.threads, batch=512
        )


@dataclass(frozen=True)
class Row(ABC):
    """`name` is the kind and the first `shown` fields, as in `prefix:8:300`.

    `ours` and `peer` each do one run with fresh processes, the same seed for the two of a pair; both raise AppError
    where it cannot be done.
    """

    kind: ClassVar[str]
    about: ClassVar[str]
    shown: ClassVar[int] = 0
    peer_name: ClassVar[str] = ""

    @property
    def name(self) -> str:
        numbers = (getattr(self, field.name) for field in fields(self)[: self.shown])
        return ":".join([self.kind, *map(str, numbers)])

    @property
    @abstractmethod
    def figures(self) -> tuple[Figure, ...]:
        """What a run gives, in the order of the table."""

    @abstractmethod
    async def ours(self, setup: Setup, seed: int) -> Values:
        """One run of Tutti."""

    async def peer(self, setup: Setup, seed: int) -> Values:  # noqa: ARG002
        """One run of the peer; only asked for where `setup` names it."""
        return {}
