"""`idle:N:T`: what N idle chats of T tokens cost two that write."""

import time
from dataclasses import dataclass
from typing import ClassVar

from app.bench.engine import Engine, Heard, running_engine
from app.bench.figure import Figure, Values, at_most
from app.bench.prompts import Ids, ids
from app.bench.rows.row import Row, Setup
from app.bench.steps import decoding, step_seconds

_ACTIVE = 2


@dataclass(frozen=True)
class Idle(Row):
    """The step of two active chats before and after the idle ones came, in one process; `settle` seconds of writing lie
    between their coming and the second figure, in which their cells may leave the pool."""

    kind: ClassVar[str] = "idle"
    about: ClassVar[str] = "step time of 2 active chats beside N idle chats of T tokens"
    shown: ClassVar[int] = 2

    idle: int = 8
    history: int = 2000
    prompt: int = 64
    written: int = 256
    settle: float = 5.0

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("alone", "step without idle chats", "ms", 2),
            Figure("first", "step with them, at first", "ms", 2),
            Figure("later", "step with them, later", "ms", 2),
            Figure("times", "later over without", "x", 3, at_most(1.05)),
            Figure("spilled", "states kept outside the pool", "MB", 1),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        room = self.idle * (self.history + 1) + 4 * _ACTIVE * (self.prompt + self.written)
        async with running_engine(setup.engine(pool=room)) as engine:
            alone = await self._write(engine, seed)
            for number in range(self.idle):
                await engine.ask(ids(seed + 100 + number, self.history, engine.vocabulary), 1)
            first = await self._write(engine, seed + 200)
            await self._settle(engine, seed + 300)
            later = await self._write(engine, seed + 400)
            spilled = engine.counters.spill_bytes / 1e6
        return {
            "alone": alone * 1000,
            "first": first * 1000,
            "later": later * 1000,
            "times": later / alone,
            "spilled": spilled,
        }

    async def _settle(self, engine: Engine, seed: int) -> None:
        end = time.perf_counter() + self.settle
        while time.perf_counter() < end:
            await self._write(engine, seed)

    async def _write(self, engine: Engine, seed: int) -> float:
        """Seconds of a step of the active chats."""
        return step_seconds(await self._steps(engine, self._prompts(engine, seed)))

    async def _steps(self, engine: Engine, prompts: list[Ids]) -> list[Heard]:
        mark = len(engine.steps)
        await engine.whole(*(engine.submit(prompt, self.written) for prompt in prompts))
        return decoding(engine.steps[mark:], _ACTIVE)

    def _prompts(self, engine: Engine, seed: int) -> list[Ids]:
        return [ids(seed * 7 + chat, self.prompt, engine.vocabulary) for chat in range(_ACTIVE)]
