"""`own:N`: what a step costs besides decode, with many sequences."""

from dataclasses import dataclass
from typing import ClassVar

from app.bench.figure import Figure, Values, at_most
from app.bench.rows.raw import Raw
from app.bench.rows.row import Setup


@dataclass(frozen=True)
class Own(Raw):
    """As `raw`, judged by the engine's own time instead of a peer.

    The choice of the tokens (greedy, one argmax over all) is told beside it, and both are outside decode, as is what
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
            Figure("own", "own time of a step", "ms", 2, at_most(1.0)),
            Figure("choice", "greedy choice of a step", "ms", 2),
            Figure("outside", "share of the time outside decode", "", 3, at_most(0.03)),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        found = await super().ours(setup, seed)
        kept = {name: found[name] for name in ("own", "choice")}
        return {**kept, "outside": 1 - found["inside"]}
