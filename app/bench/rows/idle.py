"""`idle:N:T`: what N idle chats of T tokens cost two that write."""

from dataclasses import dataclass
from typing import ClassVar

from app.bench.engine import Engine, Heard, running_engine
from app.bench.figure import Figure, Values, at_most
from app.bench.prompts import ids
from app.bench.rows.row import Row, Setup
from app.bench.steps import decoding, step_seconds

_ACTIVE = 2


@dataclass(frozen=True)
class Idle(Row):
    """The last steps of two long answers without idle chats, and of two that begin while all of these are in the pool.

    Before the last steps lie enough others for the idle chats' cells to leave the pool, and for those of the two to
    come down to their places.  All in one process.
    """

    kind: ClassVar[str] = "idle"
    about: ClassVar[str] = "step time of 2 active chats beside N idle chats of T tokens"
    shown: ClassVar[int] = 2

    idle: int = 8
    history: int = 2000
    prompt: int = 64
    written: int = 768
    looked_at: int = 128

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("alone", "step without idle chats", "ms", 2),
            Figure("first", "step with them, at first", "ms", 2),
            Figure("later", "step with them, later in the same answers", "ms", 2),
            Figure("times", "later over without", "x", 3, at_most(1.05)),
            Figure("again", "tokens read twice", "", 0, at_most(0)),
            Figure("spilled", "states kept outside the pool", "MB", 1),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        room = self.idle * (self.history + 1) + 4 * _ACTIVE * (self.prompt + self.written)
        async with running_engine(setup.engine(pool=room)) as engine:
            alone = await self._write(engine, seed)
            for number in range(self.idle):
                await engine.ask(ids(seed + 100 + number, self.history, engine.vocabulary), 1)
            beside = await self._write(engine, seed + 200)
            counters = engine.counters
        new = self.idle * self.history + 2 * _ACTIVE * self.prompt
        return {
            "alone": step_seconds(alone[-self.looked_at :]) * 1000,
            "first": step_seconds(beside[: self.looked_at]) * 1000,
            "later": step_seconds(beside[-self.looked_at :]) * 1000,
            "times": step_seconds(beside[-self.looked_at :])
            / step_seconds(alone[-self.looked_at :]),
            "again": counters.read - new,
            "spilled": counters.spill_bytes / 1e6,
        }

    async def _write(self, engine: Engine, seed: int) -> list[Heard]:
        """The steps in which both chats write."""
        prompts = [ids(seed * 7 + chat, self.prompt, engine.vocabulary) for chat in range(_ACTIVE)]
        mark = len(engine.steps)
        await engine.whole(*(engine.submit(prompt, self.written) for prompt in prompts))
        return decoding(engine.steps[mark:], _ACTIVE)
