"""`spill:N`: a chat of N tokens comes back after its cells were given away."""

from dataclasses import dataclass, replace
from typing import ClassVar

from app.bench.engine import Engine, running_engine
from app.bench.figure import Figure, Values, at_least, at_most
from app.bench.prompts import Ids, ids
from app.bench.rows.row import Row, Setup

_BESIDE = 64
"""Tokens of each request that runs beside the idle chat until that is spilled."""


@dataclass(frozen=True)
class Spill(Row):
    """Seconds from the request to its first token, the step for the new text included, against reading all again."""

    kind: ClassVar[str] = "spill"
    about: ClassVar[str] = "a chat of N tokens whose cells were spilled: back in"
    shown: ClassVar[int] = 1

    history: int = 2000
    spill_bytes: int = 1 << 30

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("back", "to the first token", "s", 3, at_most(0.1)),
            Figure("restored", "tokens brought back", "", 0, at_least(self.history)),
            Figure("read", "tokens read", "", 0, at_most(2)),
            Figure("again", "to the first token, reading all", "s", 2),
            Figure("faster", "reading over coming back", "x", 0, at_least(20)),
            Figure("megabytes", "the state's size", "MB", 1),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        params = replace(setup.engine(), spill_bytes=self.spill_bytes)
        async with running_engine(params, logged=True) as engine:
            prompt = ids(seed, self.history, engine.vocabulary)
            first = await engine.ask(prompt, 1)
            new = ids(seed + 2, 1, engine.vocabulary)
            while True:
                # A slow machine may put one of the others aside first.
                await self._leave(engine, ids(seed + 1, 16, engine.vocabulary))
                megabytes = engine.counters.spill_bytes / 1e6
                before, so_far = engine.evaluation().tokens, engine.counters.restored
                back = await engine.ask(prompt + new, 1)
                read = engine.evaluation().tokens - before
                restored = engine.counters.restored - so_far
                if restored:
                    break
        return {
            "back": back.first,
            "restored": restored,
            "read": read,
            "again": first.first,
            "faster": first.first / back.first,
            "megabytes": megabytes,
        }

    async def _leave(self, engine: Engine, beside: Ids) -> None:
        """Other chats run until one that is idle has lost its cells."""
        so_far = engine.counters.spill_bytes
        while engine.counters.spill_bytes <= so_far:
            await engine.ask(beside, _BESIDE)
