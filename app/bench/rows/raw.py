"""`raw:N`: the engine alone, without text and server, against llama-batched-bench."""

from dataclasses import dataclass
from typing import ClassVar

from app.bench import batched_bench
from app.bench.engine import running_engine
from app.bench.figure import Figure, Values, at_least
from app.bench.prompts import ids
from app.bench.rows.row import BATCHED_BENCH, Row, Setup
from app.bench.steps import choice_ms, decode_share, decoding, own_ms, tokens_per_second


@dataclass(frozen=True)
class Raw(Row):
    """N sequences that all decode in every step, in an engine process of ours.

    The prompts are read beforehand, so that all begin in the same step.  The time counts from the first step in which
    all decode to the last, all that is between the steps included; choosing the tokens is in it, which the peer
    does not do.
    """

    kind: ClassVar[str] = "raw"
    about: ClassVar[str] = "the engine alone, N sequences: tokens/s, own time of a step"
    shown: ClassVar[int] = 1
    peer_name: ClassVar[str] = BATCHED_BENCH

    sequences: int = 8
    prompt: int = 128
    written: int = 64

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("speed", "speed", "tokens/s", 1, at_least(0.97, of_peer=True)),
            Figure("steps", "steps in which all decoded", "", 0),
            Figure("own", "own time of a step", "ms", 2),
            Figure("choice", "greedy choice of a step", "ms", 2),
            Figure("inside", "share of the time inside decode", "", 3),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:
        async with running_engine(setup.engine(chats=self.sequences)) as engine:
            prompts = [
                ids(seed + number, self.prompt, engine.vocabulary)
                for number in range(self.sequences)
            ]
            await engine.whole(*(engine.submit(prompt, 0) for prompt in prompts))
            await engine.whole(*(engine.submit(prompt, self.written) for prompt in prompts))
            steps = decoding(engine.steps, self.sequences)
        return {
            "speed": tokens_per_second(steps, self.sequences),
            "steps": len(steps),
            "own": own_ms(steps),
            "choice": choice_ms(steps),
            "inside": decode_share(steps),
        }

    async def peer(self, setup: Setup, seed: int) -> Values:  # noqa: ARG002
        program = setup.batched_bench
        if program is None:
            return {}
        words = batched_bench.command(
            program,
            setup.model,
            threads=setup.threads,
            prompt=self.prompt,
            written=self.written,
            sequences=self.sequences,
        )
        return {"speed": (await batched_bench.run(words))[self.sequences]}
