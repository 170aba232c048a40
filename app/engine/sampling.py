"""One request's sampler chain in llama.cpp: its own history, its own random numbers.

Order: banned tokens, penalties, top-k, top-p, min-p, temperature, draw.  A greedy request without penalties has
no chain: the backend chooses for all of those at once.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.engine import candidates
from app.engine.backend import TokenArray
from app.sampling import Sampling

_PENALTY_WINDOW = 256
"""Tokens of the answer that the penalties look back on."""

_SHORTLIST = 1024
"""Top-k that stands in for "off": without one, top-p sorts the whole vocabulary (3 to 8 ms a token)."""


class LlamaSampler:
    """A chain over the logits of one context."""

    def __init__(
        self, api: Any, context: Any, sampling: Sampling, seed: int, banned: tuple[int, ...]
    ) -> None:
        self._api = api
        self._context = context
        self._penalises = sampling.repeat_penalty != 1.0 or sampling.presence_penalty != 0.0
        self.greedy = sampling.temperature <= 0 and not self._penalises
        self._draw: Any = None
        self._chain = None if self.greedy else self._build(sampling, seed, banned)

    def go_on(self, written: TokenArray) -> None:
        """Be as if these tokens had been chosen here: they count for the penalties, and each took a random number."""
        if self._chain is None:
            return
        if self._penalises:
            for token in written[-_PENALTY_WINDOW:]:
                self._api.llama_sampler_accept(self._chain, int(token))
        if self._draw is not None:
            self._draw_in_vain(len(written))

    def _draw_in_vain(self, times: int) -> None:
        # Two candidates, for with one alone some versions draw nothing.
        api = self._api
        pair = (api.llama_token_data * 2)(*(api.llama_token_data(one, 0.0, 0.0) for one in (0, 1)))
        for _ in range(times):
            candidates = api.llama_token_data_array(pair, 2, -1, False)
            api.llama_sampler_apply(self._draw, ctypes.byref(candidates))

    def sample(self, row: int) -> int:
        return int(self._api.llama_sampler_sample(self._chain, self._context, row))

    def propose(self, row: int) -> int:
        """As `sample`, without taking in what is chosen."""
        return candidates.choose(self._api, self._chain, candidates.of_row(self._api, self._context, row))

    def among(self, row: int, tokens: Sequence[int]) -> int:
        """The chain's choice of these; by a copy of it, so that each token of an answer takes one random number."""
        few = candidates.of_row(self._api, self._context, row)[np.array(tokens, np.intp)]
        copy = self._api.llama_sampler_clone(self._chain)
        try:
            return candidates.choose(self._api, copy, few)
        finally:
            self._api.llama_sampler_free(copy)

    def remember(self, token: int) -> None:
        self._api.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        if self._chain is not None:
            self._api.llama_sampler_free(self._chain)
            self._chain = self._draw = None

    def _build(self, sampling: Sampling, seed: int, banned: tuple[int, ...]) -> Any:
        api = self._api
        vocabulary = int(
            api.llama_vocab_n_tokens(api.llama_model_get_vocab(api.llama_get_model(self._context)))
        )
        chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
        if banned:
            biases = (api.llama_logit_bias * len(banned))(
                *(api.llama_logit_bias(token, -float("inf")) for token in banned)
            )
            self._add(chain, api.llama_sampler_init_logit_bias(vocabulary, len(banned), biases))
        if self._penalises:
            penalties = api.llama_sampler_init_penalties(
                vocabulary, _PENALTY_WINDOW, sampling.repeat_penalty, 0.0, sampling.presence_penalty
            )
            self._add(chain, penalties)
        if sampling.temperature <= 0:
            self._add(chain, api.llama_sampler_init_greedy())
            return chain
        self._add(chain, api.llama_sampler_init_top_k(sampling.top_k or _SHORTLIST))
        if sampling.top_p < 1:
            self._add(chain, api.llama_sampler_init_top_p(sampling.top_p, 1))
        if sampling.min_p > 0:
            self._add(chain, api.llama_sampler_init_min_p(sampling.min_p, 1))
        self._add(chain, api.llama_sampler_init_temp(ctypes.c_float(sampling.temperature)))
        self._draw = api.llama_sampler_init_dist(seed & 0xFFFFFFFF)
        self._add(chain, self._draw)
        return chain

    def _add(self, chain: Any, sampler: Any) -> None:
        if not sampler:
            raise RuntimeError("llama.cpp refused a sampler")
        self._api.llama_sampler_chain_add(chain, sampler)
