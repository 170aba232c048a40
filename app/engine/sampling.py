"""One request's way to choose tokens in llama.cpp: its own history, its own random numbers.

A plain greedy request has no chain: the backend chooses for all of those at once.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from app.engine.backend import Past
from app.engine.candidates import logits_of
from app.engine.chain import Chain
from app.engine.dry import Dry
from app.sampling import Sampling


class LlamaSampler:
    """Over the logits of one context, as one that has this past with this seed.

    Penalties and DRY look back on the prompt as well as on the answer.

    XTC acts on some tokens and not on others: there are two chains for it, one with and one without, that follow each
    other, and a coin.  (llama.cpp's own coin is tossed only where there are several candidates, so that nobody could
    say how often it was when an answer goes on in another engine.)
    """

    def __init__(
        self,
        api: Any,
        context: Any,
        sampling: Sampling,
        seed: int,
        banned: tuple[int, ...],
        past: Past,
        piece: Callable[[int], bytes],
        *,
        vocabulary: int,
    ) -> None:
        self._api = api
        self._context = context
        self._vocabulary = vocabulary
        self.greedy = sampling.plain
        self._coin = random.Random(seed)
        self._tossed = False
        self._excluded = sampling.xtc_probability if sampling.excludes else 0.0
        self._dry: Dry | None = None
        if sampling.dries:
            self._dry = Dry(sampling, past.breakers, vocabulary, past.texts, piece)
            self._dry.begin(past.tokens)
        kinds = () if self.greedy else (False, True) if sampling.excludes else (False,)
        self._chains = tuple(
            Chain(api, context, sampling, seed, banned, excluding=kind, written=past.written)
            for kind in kinds
        )
        if not self.greedy:
            self._go_on(past)

    def sample(self, row: int) -> int:
        if self._dry is not None:
            self._penalise(self._dry, row)
        token = self._chains[0].sample(row) if len(self._chains) == 1 else self._toss(row)
        if self._dry is not None:
            self._dry.accept(token)
        return token

    def propose(self, row: int) -> int:
        """As `sample`, without taking in what is chosen."""
        if self._dry is not None:
            self._penalise(self._dry, row)
        self._tossed = len(self._chains) > 1 and self._coin.random() < self._excluded
        return self._chains[self._tossed].propose(row)

    def among(self, row: int, tokens: Sequence[int]) -> int:
        """The choice of the same chain among these."""
        return self._chains[self._tossed].among(row, tokens)

    def remember(self, token: int) -> None:
        """Take in what was chosen after `propose`."""
        for chain in self._chains:
            if chain is self._chains[self._tossed]:
                chain.accept(token)
            else:
                chain.follow(token)
        if self._dry is not None:
            self._dry.accept(token)

    def close(self) -> None:
        for chain in self._chains:
            chain.close()

    def _toss(self, row: int) -> int:
        chosen = self._coin.random() < self._excluded
        token = self._chains[chosen].sample(row)
        self._chains[not chosen].follow(token)
        return token

    def _go_on(self, past: Past) -> None:
        prompt = len(past.tokens) - past.written
        for chain in self._chains:
            chain.look_back_on(past.tokens[:prompt])
        for token in past.tokens[prompt:].tolist():
            self._coin.random()
            for chain in self._chains:
                chain.follow(token)

    def _penalise(self, dry: Dry, row: int) -> None:
        """In the logits themselves, which belong to this request alone until the next decode."""
        dry.penalise(logits_of(self._api, self._context, row, self._vocabulary))
