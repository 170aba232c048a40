"""`stall:N:W`: a long prompt comes while N chats write."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from app.bench import workloads
from app.bench.figure import Figure, Values, at_least, at_most
from app.bench.outcome import Outcome
from app.bench.rows.served import Served
from app.bench.workloads import Workload


@dataclass(frozen=True)
class Stall(Served):
    """The streams are to go on, and the prompt is to be read nearly as soon as if they did not."""

    kind: ClassVar[str] = "stall"
    about: ClassVar[str] = "N chats write 160 tokens each; after 4 s comes a prompt of W words"
    shown: ClassVar[int] = 2

    sequences: int = 4
    words: int = 900

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("usual", "usual gap in a stream", "s", 3),
            Figure("longest", "longest gap while the prompt is read", "s", 3),
            Figure("times", "longest over usual gap", "x", 2, at_most(3)),
            Figure("first", "the prompt's time to first text", "s", 2, at_most(1.5, of_peer=True)),
            Figure("whole", "answers whole", "", 0, at_least(self.sequences + 1)),
        )

    def workload(self) -> Workload:
        return partial(workloads.stall, chats=self.sequences, words=self.words)

    def tell(self, outcome: Outcome) -> Values:
        return {
            "usual": outcome.usual_gap,
            "longest": outcome.late_gap,
            "times": outcome.late_gap / outcome.usual_gap,
            "first": outcome.late.first if outcome.late else float("inf"),
            "whole": len(outcome.whole),
        }
