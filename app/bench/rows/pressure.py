"""`pressure:N:T`: chats that do not fit into the pool together."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from app.bench import workloads
from app.bench.evaluation import Evaluation
from app.bench.figure import Figure, Values, at_least, at_most
from app.bench.outcome import Outcome
from app.bench.rows.row import Setup
from app.bench.rows.served import Served
from app.bench.workloads import Workload


@dataclass(frozen=True)
class Pressure(Served):
    """Every answer is to come whole, and nearly as soon as in a pool that holds them all."""

    kind: ClassVar[str] = "pressure"
    about: ClassVar[str] = "N chats of T tokens each in a pool of 1,024, which cannot hold them all"
    shown: ClassVar[int] = 2

    sequences: int = 4
    written: int = 300

    @property
    def pool(self) -> int:
        return 1024

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("whole", "answers whole", "", 0, at_least(self.sequences)),
            Figure("speed", "speed", "tokens/s", 1),
            Figure("share", "speed over that with room", "x", 2, at_least(0.8)),
            Figure("read", "prompt tokens read", "", 0),
            Figure("again", "tokens read twice", "", 0, at_most(0)),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        found = await super().ours(setup, seed)
        roomy = await self.with_room(setup, seed)
        return {**found, "share": found["speed"] / roomy.tokens_per_second}

    def workload(self) -> Workload:
        return partial(workloads.pressure, chats=self.sequences, tokens=self.written)

    def tell(self, outcome: Outcome) -> Values:
        return {"whole": len(outcome.whole), "speed": outcome.tokens_per_second}

    def count(self, outcome: Outcome, evaluation: Evaluation) -> Values:
        written = [answer.made for answer in outcome.answers]
        return {"read": evaluation.read(written), "again": evaluation.again}
