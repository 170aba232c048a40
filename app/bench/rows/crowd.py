"""`crowd:N:P`: many chats, many of them at once."""

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from app.bench.engine import Engine, running_engine
from app.bench.figure import Figure, Values, at_least, at_most
from app.bench.prompts import Ids, ids
from app.bench.rows.row import Row, Setup

_TURNS = 2


@dataclass(frozen=True)
class Crowd(Row):
    """N chats of two turns, P at once: all answers whole, and nothing held by anybody when all are idle."""

    kind: ClassVar[str] = "crowd"
    about: ClassVar[str] = "N chats of two turns, P at once: no error, no leak"
    shown: ClassVar[int] = 2

    chats: int = 300
    at_once: int = 64
    prompt: int = 24
    written: int = 8

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("whole", "answers whole", "", 0, at_least(self.chats * _TURNS)),
            Figure("cells", "cells at work afterwards", "", 0, at_most(0)),
            Figure("requests", "requests left afterwards", "", 0, at_most(0)),
            Figure("speed", "speed", "tokens/s", 1),
            Figure("hit", "share of prompt tokens not read", "", 3),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        async with running_engine(setup.engine()) as engine:
            gate = asyncio.Semaphore(self.at_once)
            histories = [
                ids(seed + chat, self.prompt, engine.vocabulary) for chat in range(self.chats)
            ]
            whole = 0
            for turn in range(_TURNS):
                new = ids(seed + 5000 + turn, self.prompt, engine.vocabulary) if turn else ()
                turns = [self._turn(engine, history + new, gate) for history in histories]
                histories = await asyncio.gather(*turns)
                whole += len(histories)
            seconds = engine.steps[-1].at - engine.steps[0].at
            after = engine.counters
        return {
            "whole": whole,
            "cells": after.cells_used - after.cells_kept,
            "requests": after.running + after.reading + after.waiting,
            "speed": after.written / seconds,
            "hit": after.reused / max(1, after.prompt),
        }

    async def _turn(self, engine: Engine, prompt: Ids, gate: asyncio.Semaphore) -> Ids:
        async with gate:
            return (await engine.ask(prompt, self.written)).content
