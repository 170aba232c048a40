"""`models:N`: N models that answer at once on one device, against one after the other."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from app.bench.engine import Asked, Engine, running_engine
from app.bench.figure import Figure, Values, at_least
from app.bench.prompts import ids
from app.bench.rows.row import Row, Setup


@dataclass(frozen=True)
class Models(Row):
    """One answer in each engine: first one after the other, then all at once.

    The speed is all tokens that were written, over the time from the first submit to the last token, reading included.
    """

    kind: ClassVar[str] = "models"
    about: ClassVar[str] = "N engines answer at once, against one after the other"
    shown: ClassVar[int] = 1

    models: int = 2
    prompt: int = 64
    written: int = 192

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("turn", "one after the other", "tokens/s", 1),
            Figure("once", "all at once", "tokens/s", 1),
            Figure("ratio", "all at once over one after the other", "x", 3, at_least(0.9)),
            Figure("least", "the quickest answer's time over the slowest's, at once", "x", 2),
            Figure("gap", "longest gap between two tokens, at once", "s", 3),
            Figure("apart", "all at once without taking turns", "tokens/s", 1),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        with tempfile.TemporaryDirectory(prefix="tutti-bench-") as folder:
            alone, together = await self._rounds(setup, seed, Path(folder))
        _, apart = await self._rounds(setup, seed, None)
        tokens = self.models * self.written
        times = [_seconds(asked) for asked in together]
        turn, once = sum(map(_seconds, alone)), _wall(together)
        return {
            "turn": tokens / turn,
            "once": tokens / once,
            "ratio": turn / once,
            "least": min(times) / max(times),
            "gap": max(b - a for asked in together for a, b in pairwise(asked.times)),
            "apart": tokens / _wall(apart),
        }

    async def _rounds(
        self, setup: Setup, seed: int, folder: Path | None
    ) -> tuple[list[Asked], list[Asked]]:
        """The answers of each engine alone, and those of all at once; with a `folder` the engines take turns by it."""
        params = setup.engine(chats=2, pool=2048)
        async with AsyncExitStack() as stack:
            engines = [
                await stack.enter_async_context(running_engine(params, folder=folder))
                for _ in range(self.models)
            ]
            for engine in engines:
                await self._answer(engine, seed + 90, 8)  # its memory is touched for the first time
            alone = [await self._answer(engine, seed, self.written) for engine in engines]
            asked = (self._answer(engine, seed + 1, self.written) for engine in engines)
            return alone, await asyncio.gather(*asked)

    async def _answer(self, engine: Engine, seed: int, written: int) -> Asked:
        return await engine.ask(ids(seed, self.prompt, engine.vocabulary), written)


def _wall(asked: list[Asked]) -> float:
    """From the first submit to the last token."""
    return max(one.ended for one in asked) - min(one.began for one in asked)


def _seconds(asked: Asked) -> float:
    return asked.ended - asked.began
