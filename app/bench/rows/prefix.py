"""`prefix:N:W`: N chats under the same instructions, all asked at once."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from app.bench import workloads
from app.bench.evaluation import Evaluation
from app.bench.figure import Figure, Values, at_least, at_most
from app.bench.outcome import Outcome
from app.bench.rows.served import Served
from app.bench.workloads import Workload


@dataclass(frozen=True)
class Prefix(Served):
    """What the chats have in common is to be read once, also while its first owner still reads it."""

    kind: ClassVar[str] = "prefix"
    about: ClassVar[str] = (
        "N chats that share a system prompt of about W words, 32 tokens each, all at once"
    )
    shown: ClassVar[int] = 2

    sequences: int = 8
    words: int = 300

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("wall", "all answered in", "s", 1, at_most(0.3, of_peer=True)),
            Figure("first", "time to first text, 95 %", "s", 2, at_most(0.2, of_peer=True)),
            Figure("whole", "answers whole", "", 0, at_least(self.sequences)),
            Figure("prompt", "prompt tokens", "", 0),
            Figure("read", "prompt tokens read", "", 0),
            Figure("again", "tokens read twice", "", 0, at_most(0)),
        )

    def workload(self) -> Workload:
        return partial(workloads.prefix, chats=self.sequences, words=self.words)

    def tell(self, outcome: Outcome) -> Values:
        return {
            "wall": outcome.seconds,
            "first": outcome.first(0.95),
            "whole": len(outcome.whole),
            "prompt": outcome.prompt,
            "read": outcome.prompt - outcome.cached,
        }

    def count(self, outcome: Outcome, evaluation: Evaluation) -> Values:
        written = [answer.made for answer in outcome.answers]
        return {"read": evaluation.read(written), "again": evaluation.again}
