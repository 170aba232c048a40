"""`cancel:N`: from a cancel to free cells."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from app.bench.engine import Asked, Engine, running_engine
from app.bench.figure import Figure, Values, at_most
from app.bench.prompts import ids
from app.bench.rows.row import Row, Setup
from app.counters import Counters
from app.errors import EngineError
from app.wire import FinishReason

_ON_ITS_WAY = 0.005
"""Seconds that a command may take to the engine: a step begun in them could not know of it."""


@dataclass(frozen=True)
class Cancel(Row):
    """Steps begun after the cancel until its request has ended and holds no cell as its own, the one that tells so
    included."""

    kind: ClassVar[str] = "cancel"
    about: ClassVar[str] = "cancel to freed cells, while N chats write, and while a prompt is read"
    shown: ClassVar[int] = 1

    sequences: int = 4
    prompt: int = 64
    written: int = 400
    long: int = 1500

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("writing", "a chat that writes: freed after", "steps", 0, at_most(1)),
            Figure("writing_s", "the same in time", "s", 3),
            Figure("reading", "a chat that reads: freed after", "steps", 0, at_most(1)),
            Figure("reading_s", "the same in time", "s", 3),
            Figure("left", "cells at work when all have ended", "", 0, at_most(0)),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        async with running_engine(setup.engine()) as engine:
            first, *others = [
                engine.submit(ids(seed + chat, self.prompt, engine.vocabulary), self.written)
                for chat in range(self.sequences)
            ]
            await engine.until(lambda counters: counters.running == self.sequences)
            writing, writing_s = await self._freed(engine, first, others)
            reader = engine.submit(ids(seed + 50, self.long, engine.vocabulary), self.written)
            await engine.until(lambda counters: counters.chunk > 1)
            reading, reading_s = await self._freed(engine, reader, others)
            for chat in others:
                engine.abort(chat)
            await engine.until(lambda counters: not counters.running)
            left = _at_work(engine.counters)
        return {
            "writing": writing,
            "writing_s": writing_s,
            "reading": reading,
            "reading_s": reading_s,
            "left": left,
        }

    async def _freed(
        self, engine: Engine, asked: Asked, others: Sequence[Asked]
    ) -> tuple[int, float]:
        mark, began = len(engine.steps), time.perf_counter()
        engine.abort(asked)
        await asked.done.wait()
        if asked.finished is None or asked.finished.reason is not FinishReason.CANCELLED:
            raise EngineError(f"A cancelled request ended otherwise: {asked.finished}.")
        await engine.until(lambda counters: _at_work(counters) <= _own(others))
        begun = sum(heard.began > began + _ON_ITS_WAY for heard in engine.steps[mark:])
        return begun, time.perf_counter() - began


def _own(others: Sequence[Asked]) -> int:
    """The cells that these chats may hold."""
    return sum(len(asked.content) for asked in others)


def _at_work(counters: Counters) -> int:
    return counters.cells_used - counters.cells_kept
