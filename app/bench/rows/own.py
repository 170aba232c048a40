"""`own:N`: what a step costs besides decode, with many sequences."""

from dataclasses import dataclass
from typing import ClassVar

from app.bench.figure import Figure, Values, at_most
from app.bench.rows.raw import Raw
from app.bench.rows.row import Setup


@dataclass(frozen=True)
class Own(Raw):
    """As `raw`, judged by the engine's own time instead of a peer.

    Choosing the tokens is included (greedy, one argmax over all), so that the true figure is smaller still; so is what
    lies between two steps: telling the app, and taking its commands.
    """

    kind: ClassVar[str] = "own"
    about: ClassVar[str] = "own time of a step with N sequences"
    peer_name: ClassVar[str] = ""

    sequences: int = 32
    prompt: int = 32
    written: int = 64

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("own", "own time of a step, greedy choice included", "ms", 2, at_most(1.0)),
            Figure("outside", "share of the time outside decode", "", 3, at_most(0.03)),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        found = await super().ours(setup, seed)
        return {"own": found["own"], "outside": 1 - found["inside"]}
