"""Rows whose workload goes through the server, the same for Tutti and for llama-server."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from app.bench.evaluation import Evaluation
from app.bench.figure import Values
from app.bench.outcome import Outcome
from app.bench.rows.row import LLAMA_SERVER, Row, Setup
from app.bench.servers import TUTTI, Load, Server, running
from app.bench.workloads import Workload

POOL = 8192
CHATS = 8


@dataclass(frozen=True)
class Served(Row):
    """A workload over HTTP; `tell` gives the figures that both have, `count` those from Tutti's decode log."""

    peer_name: ClassVar[str] = LLAMA_SERVER

    @abstractmethod
    def workload(self) -> Workload:
        """What is asked."""

    @abstractmethod
    def tell(self, outcome: Outcome) -> Values:
        """Figures from what the clients saw."""

    def count(self, outcome: Outcome, evaluation: Evaluation) -> Values:  # noqa: ARG002
        """Figures from what was really evaluated."""
        return {}

    @property
    def pool(self) -> int:
        """Tokens of the pool."""
        return POOL

    @property
    def chats(self) -> int:
        """The most that decode at once."""
        return CHATS

    async def ours(self, setup: Setup, seed: int) -> Values:
        load = self._load(setup)
        async with running(TUTTI, load) as server:
            outcome = await self.workload()(server.client, seed)
            evaluation = server.evaluation()
        return {**self.tell(outcome), **self.count(outcome, evaluation)}

    async def peer(self, setup: Setup, seed: int) -> Values:
        program = Server(LLAMA_SERVER, setup.llama_server)
        async with running(program, self._load(setup)) as server:
            return self.tell(await self.workload()(server.client, seed))

    async def with_room(self, setup: Setup, seed: int) -> Outcome:
        """Ours, in a pool that holds all of it."""
        async with running(TUTTI, replace(self._load(setup), pool=POOL)) as server:
            return await self.workload()(server.client, seed)

    def _load(self, setup: Setup) -> Load:
        return Load(setup.model, setup.threads, pool=self.pool, chats=self.chats)
