"""`mode`: requests of different length and kind, answered one by one, in fixed batches, or continuously."""

from dataclasses import dataclass
from typing import ClassVar

from app.bench.engine import running_engine
from app.bench.figure import Figure, Values, at_least
from app.bench.modes import Mode, spend
from app.bench.prompts import KINDS, Kind, mixed
from app.bench.quantiles import quantile
from app.bench.rows.row import Row, Setup


@dataclass(frozen=True)
class ModeRow(Row):
    """The engine alone, without text.  The time inside decode counts where there is work throughout: in continuous."""

    kind: ClassVar[str] = "mode"
    about: ClassVar[str] = "the same N requests single, static (batches of B) or continuous"
    shown: ClassVar[int] = 1

    mode: Mode = Mode.CONTINUOUS
    requests: int = 24
    at_once: int = 8
    kinds: tuple[Kind, ...] = KINDS

    @property
    def figures(self) -> tuple[Figure, ...]:
        inside = at_least(0.97) if self.mode is Mode.CONTINUOUS else None
        return (
            Figure("speed", "speed", "tokens/s", 1),
            Figure("p50", "answer whole, median", "s", 2),
            Figure("p95", "answer whole, 95 %", "s", 2),
            Figure("p99", "answer whole, 99 %", "s", 2),
            Figure("first", "time to first token, median", "s", 2),
            Figure("rows", "rows a step", "", 2),
            Figure("inside", "share of the time inside decode", "", 3, inside),
            Figure("hit", "share of prompt tokens not read", "", 3),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        async with running_engine(setup.engine(chats=self.at_once)) as engine:
            asks = mixed(seed, self.requests, engine.vocabulary, self.kinds)
            spent = await spend(engine, self.mode, asks, self.at_once)
        return {
            "speed": spent.tokens_per_second,
            "p50": spent.latency(0.5),
            "p95": spent.latency(0.95),
            "p99": spent.latency(0.99),
            "first": quantile(spent.firsts, 0.5),
            "rows": spent.rows_per_step,
            "inside": spent.inside,
            "hit": spent.hit_rate,
        }
