"""`turns:C:T:P`: chats that grow turn by turn."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from app.bench import workloads
from app.bench.evaluation import Evaluation
from app.bench.figure import Figure, Values, at_least, at_most
from app.bench.outcome import Outcome
from app.bench.rows.served import Served
from app.bench.workloads import Workload

_LONG = 6
"""Turns from which on most of every prompt was there before."""


@dataclass(frozen=True)
class Turns(Served):
    """What any chat has read or written is not to be read again.

    `possible` is the share of what was evaluated before that was not evaluated again; the first token after an answer
    was never evaluated, so it counts as new.
    """

    kind: ClassVar[str] = "turns"
    about: ClassVar[str] = "C chats of T turns, P at a time, 24 tokens each"
    shown: ClassVar[int] = 3

    sequences: int = 8
    rounds: int = 3
    at_once: int = 4

    @property
    def figures(self) -> tuple[Figure, ...]:
        long = self.rounds >= _LONG
        served = at_least(0.85) if long else None
        soon = None if long else at_most(0.5, of_peer=True)
        return (
            Figure("prompt", "prompt tokens", "", 0),
            Figure("served", "share of them from the cache", "", 3, served),
            Figure("possible", "share of those evaluated before", "", 3, at_least(0.95)),
            Figure("first", "time to first text, median", "s", 2, soon),
            Figure("whole", "answers whole", "", 0, at_least(self.sequences * self.rounds)),
        )

    def workload(self) -> Workload:
        return partial(
            workloads.turns, chats=self.sequences, rounds=self.rounds, at_once=self.at_once
        )

    def tell(self, outcome: Outcome) -> Values:
        return {
            "prompt": outcome.prompt,
            "served": outcome.cached / max(1, outcome.prompt),
            "first": outcome.first(0.5),
            "whole": len(outcome.whole),
        }

    def count(self, outcome: Outcome, evaluation: Evaluation) -> Values:
        read = evaluation.read(answer.made for answer in outcome.answers)
        prompt = max(1, outcome.prompt)
        before = prompt - (read - evaluation.again)
        return {"served": 1 - read / prompt, "possible": (prompt - read) / max(1, before)}
