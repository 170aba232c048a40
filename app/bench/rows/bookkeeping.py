"""`bookkeeping:N`: the engine's own time of a step while more and more chats lie idle, and with a long history."""

from dataclasses import dataclass
from typing import ClassVar

from app.bench.engine import Engine, running_engine
from app.bench.figure import Figure, Values, at_most
from app.bench.prompts import ids
from app.bench.quantiles import median
from app.bench.rows.row import Row, Setup
from app.bench.steps import decoding, own_ms

_ACTIVE = 4
_SHORT = 16
_AT_ONCE = 8
_ROUNDS = 3


@dataclass(frozen=True)
class Bookkeeping(Row):
    """At N/100, N/10 and N idle chats of a few tokens each; it is not to grow with them."""

    kind: ClassVar[str] = "bookkeeping"
    about: ClassVar[str] = "own time of a step at N/100, N/10 and N idle chats"
    shown: ClassVar[int] = 1

    idle: int = 1000
    history: int = 2000
    written: int = 64

    @property
    def figures(self) -> tuple[Figure, ...]:
        counts = [
            Figure(f"own:{count}", f"own time of a step, {count:,} idle chats", "ms", 3)
            for count in self._counts
        ]
        return (
            *counts,
            Figure("more", "more at the last than at the first", "ms", 3, at_most(0.1)),
            Figure("short", f"own time, a history of {_SHORT:,} tokens", "ms", 3),
            Figure("long", f"own time, a history of {self.history:,} tokens", "ms", 3),
            Figure("longer", "more with the longer history", "ms", 3, at_most(0.1)),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        found = {}
        async with running_engine(setup.engine()) as engine:
            found["short"] = await self._own(engine, seed, _SHORT, chats=1)
            found["long"] = await self._own(engine, seed, self.history, chats=1)
            there = 0
            for count in self._counts:
                await self._leave(engine, seed + 1000 + there, count - there)
                there = count
                found[f"own:{count}"] = await self._own(engine, seed + count, _SHORT, chats=_ACTIVE)
        first, *_, last = (found[f"own:{count}"] for count in self._counts)
        return {**found, "more": last - first, "longer": found["long"] - found["short"]}

    @property
    def _counts(self) -> tuple[int, ...]:
        return tuple(max(1, self.idle // part) for part in (100, 10, 1))

    async def _leave(self, engine: Engine, seed: int, count: int) -> None:
        """So many new chats are read, and lie idle then."""
        for start in range(0, count, _AT_ONCE):
            numbers = range(start, min(count, start + _AT_ONCE))
            prompts = (ids(seed + number, _SHORT, engine.vocabulary) for number in numbers)
            await engine.whole(*(engine.submit(prompt, 1) for prompt in prompts))

    async def _own(self, engine: Engine, seed: int, history: int, *, chats: int) -> float:
        """The own time of a step, the median of a few rounds; the prompt is read in the first."""
        prompts = [ids(seed + chat, history, engine.vocabulary) for chat in range(chats)]
        times = []
        for _ in range(_ROUNDS):
            mark = len(engine.steps)
            await engine.whole(*(engine.submit(prompt, self.written) for prompt in prompts))
            times.append(own_ms(decoding(engine.steps[mark:], chats)))
        return median(times)
