"""`pace:N:T`: the whole curve between smooth streams and fast reading."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from app.bench.engine import Engine, running_engine
from app.bench.figure import Figure, Values, at_most
from app.bench.prompts import ids
from app.bench.rows.row import Row, Setup
from app.bench.steps import decoding, step_seconds
from app.settings import GAPS, Settings

_BEFORE = 30
"""Steps of the streams alone, from which their usual gap is known."""


@dataclass(frozen=True)
class PaceRow(Row):
    """As `stall`, in the engine alone, at every setting of the pace."""

    kind: ClassVar[str] = "pace"
    about: ClassVar[str] = "N sequences write, a prompt of T tokens comes: at every setting of pace"
    shown: ClassVar[int] = 2

    sequences: int = 4
    long: int = 900
    prompt: int = 32
    written: int = 1200

    @property
    def figures(self) -> tuple[Figure, ...]:
        default = Settings().pace
        return tuple(
            figure
            for name in GAPS
            for figure in (
                Figure(
                    f"times:{name}",
                    f"{name}: longest over usual gap",
                    "x",
                    2,
                    at_most(GAPS[name]) if name == default else None,
                ),
                Figure(f"first:{name}", f"{name}: the prompt's time to first token", "s", 2),
            )
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        found: dict[str, float] = {}
        for name, gap in GAPS.items():
            params = replace(setup.engine(chats=self.sequences + 1), gap=gap)
            async with running_engine(params) as engine:
                found[f"times:{name}"], found[f"first:{name}"] = await self._stall(engine, seed)
        return found

    async def _stall(self, engine: Engine, seed: int) -> tuple[float, float]:
        """The longest gap over the usual one, and seconds to the prompt's first token."""
        for number in range(self.sequences):
            engine.submit(ids(seed + number, self.prompt, engine.vocabulary), self.written)
        await engine.until(lambda _: len(decoding(engine.steps, self.sequences)) > _BEFORE)
        usual = step_seconds(decoding(engine.steps, self.sequences))
        mark = len(engine.steps)
        late = await engine.ask(ids(seed + 99, self.long, engine.vocabulary), 1)
        gaps = [after.at - before.at for before, after in pairwise(engine.steps[mark - 1 :])]
        return max(gaps) / usual, late.first
