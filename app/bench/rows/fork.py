"""`fork:N`: going on from somewhere in a chat of N tokens."""

from dataclasses import dataclass
from typing import ClassVar

from app.bench.engine import Engine, running_engine
from app.bench.figure import Figure, Values, at_most
from app.bench.prompts import Ids, ids
from app.bench.rows.row import Row, Setup


@dataclass(frozen=True)
class Fork(Row):
    """Tokens read beyond those that are new, counted from the decode log.

    One token must always be evaluated, to get an output.
    """

    kind: ClassVar[str] = "fork"
    about: ClassVar[str] = "regenerate, edit, fork and go back in a chat of N tokens: tokens read"
    shown: ClassVar[int] = 1

    prompt: int = 600
    written: int = 32

    @property
    def figures(self) -> tuple[Figure, ...]:
        words = {
            "regenerate": "regenerate",
            "edit": "edit the last message",
            "fork": "fork from the middle",
            "back": "go back to the old version and on",
            "restart": "the same chat once more, after all that",
        }
        return tuple(
            Figure(key, f"{text}: tokens read beyond the new", "", 0, at_most(1))
            for key, text in words.items()
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        async with running_engine(setup.engine(), logged=True) as engine:
            new = self.prompt // 10
            old = ids(seed, self.prompt, engine.vocabulary)
            first = await engine.ask(old, self.written)
            tails = [ids(seed + part, new, engine.vocabulary) for part in (1, 2, 3)]
            middle = self.prompt // 2
            return {
                "regenerate": await self._beyond(engine, old, 0),
                "edit": await self._beyond(engine, old[:-new] + tails[0], new),
                "fork": await self._beyond(engine, old[:middle] + tails[1], new),
                # The last token of an answer was never evaluated, so it is read with what follows.
                "back": await self._beyond(engine, first.content + tails[2], new),
                "restart": await self._beyond(engine, old, 0),
            }

    async def _beyond(self, engine: Engine, prompt: Ids, new: int) -> float:
        before = engine.evaluation().tokens
        await engine.ask(prompt, self.written)
        evaluated = engine.evaluation().tokens - before
        return evaluated - (self.written - 1) - new
