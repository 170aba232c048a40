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
from app.wire import Priority

_FRONT = "front"
_BEFORE = 30
"""Steps of the streams alone, from which their usual gap is known."""


@dataclass(frozen=True)
class PaceRow(Row):
    """As `stall`, in the engine alone, at every setting of the pace.

    At the default setting also with the prompt in the front chat, and the others behind it.
    """

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
        found: list[Figure] = []
        for name in (*GAPS, _FRONT):
            words = f"{default}, prompt in front" if name == _FRONT else name
            goal = at_most(GAPS[default]) if name == default else None
            found += (
                Figure(f"times:{name}", f"{words}: longest over usual gap", "x", 2, goal),
                Figure(f"first:{name}", f"{words}: time to first token", "s", 2),
            )
        return tuple(found)

    async def ours(self, setup: Setup, seed: int) -> Values:
        found: dict[str, float] = {}
        runs: list[tuple[str, float, Priority]] = [
            *((name, gap, Priority.NORMAL) for name, gap in GAPS.items()),
            (_FRONT, GAPS[Settings().pace], Priority.FRONT),
        ]
        for name, gap, priority in runs:
            params = replace(setup.engine(chats=self.sequences + 1), gap=gap)
            async with running_engine(params) as engine:
                times, first = await self._stall(engine, seed, priority)
            found |= {f"times:{name}": times, f"first:{name}": first}
        return found

    async def _stall(self, engine: Engine, seed: int, priority: Priority) -> tuple[float, float]:
        """The longest gap over the usual one, and seconds to the prompt's first token."""
        for number in range(self.sequences):
            engine.submit(ids(seed + number, self.prompt, engine.vocabulary), self.written)
        await engine.until(lambda _: len(decoding(engine.steps, self.sequences)) > _BEFORE)
        usual = step_seconds(decoding(engine.steps, self.sequences))
        mark = len(engine.steps)
        late = await engine.ask(ids(seed + 99, self.long, engine.vocabulary), 1, priority)
        gaps = [after.at - before.at for before, after in pairwise(engine.steps[mark - 1 :])]
        return max(gaps) / usual, late.first
