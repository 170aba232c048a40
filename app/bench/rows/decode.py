"""`decode:N`: N chats with short prompts of their own, through the server."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from app.bench import workloads
from app.bench.evaluation import Evaluation
from app.bench.figure import Figure, Values, at_least, at_most
from app.bench.lag import lags
from app.bench.outcome import Outcome
from app.bench.quantiles import quantile
from app.bench.rows.served import CHATS, Served
from app.bench.workloads import Workload


@dataclass(frozen=True)
class Decode(Served):
    """Tokens a second with the reading of the prompts, and how soon a token reaches its client."""

    kind: ClassVar[str] = "decode"
    about: ClassVar[str] = "N chats with short prompts of their own, 96 tokens each"
    shown: ClassVar[int] = 1

    sequences: int = 8

    @property
    def chats(self) -> int:
        return max(CHATS, self.sequences)

    @property
    def figures(self) -> tuple[Figure, ...]:
        more = 1.0 if self.sequences == 1 else 1.05
        return (
            Figure("speed", "speed", "tokens/s", 1, at_least(more, of_peer=True)),
            Figure("whole", "answers whole", "", 0, at_least(self.sequences)),
            Figure("first", "time to first text, median", "s", 3),
            Figure("gap", "gap between texts, 95 %", "s", 3),
            Figure("lag", "token after its step, 99 %", "ms", 1, at_most(20)),
            Figure("compared", "tokens compared with the decode log", "", 0),
        )

    def workload(self) -> Workload:
        return partial(workloads.decode, chats=self.sequences)

    def tell(self, outcome: Outcome) -> Values:
        return {
            "speed": outcome.tokens_per_second,
            "whole": len(outcome.whole),
            "first": outcome.first(0.5),
            "gap": outcome.gap(0.95),
        }

    def count(self, outcome: Outcome, evaluation: Evaluation) -> Values:
        found = lags([answer.times for answer in outcome.whole], evaluation.outputs())
        return {"lag": quantile(found, 0.99) * 1000, "compared": len(found)}
