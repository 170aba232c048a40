"""llama.cpp's sampler chain for one `Sampling`: which samplers, in which order.

The order is the one that `Sampling` states, from the penalties on; logit bias and DRY are added to the logits, so that it
does not matter that the bias is the chain's first link and DRY comes before it.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.engine import candidates
from app.engine.backend import TokenArray
from app.sampling import WHOLE, Sampling

_SHORTLIST = 1024
"""Top-k that stands in for "off": without one, top-p sorts the whole vocabulary (3 to 8 ms a token), mirostat too."""

MOST = 16_384
"""Tokens of a prompt that count for the penalties at most: 15 to 50 ms, in the loop that all chats wait for; 256 take 0.3."""

_LEAST = 1e-20
"""Share of the best token's chance under which one counts as impossible: typical would make NaN of a chance of 0."""

_COLDEST = 1e-4
"""The least to divide by, which makes the likeliest token as good as certain; by far less, all logits become infinite."""

_MIROSTAT_GUIDES = 100
"""Tokens from which mirostat 1 guesses how the chances fall; as llama.cpp has it."""


class Chain:
    """One chain over the logits of one context, with its own random numbers; `close` frees it.

    `excluding` says that XTC acts in it, always.  `banned` tokens are never chosen.  With mirostat the random numbers
    are those of `seed` and the number of tokens `written` before.
    """

    def __init__(
        self,
        api: Any,
        context: Any,
        sampling: Sampling,
        seed: int,
        banned: tuple[int, ...],
        *,
        excluding: bool = False,
        written: int = 0,
    ) -> None:
        self._api = api
        self._context = context
        self._cells = int(api.llama_n_ctx(context))
        model = api.llama_get_model(context)
        self._vocabulary = int(api.llama_vocab_n_tokens(api.llama_model_get_vocab(model)))
        self._chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
        self._remembered = 0
        self._draw: Any = None
        self._bias(sampling, banned)
        self._penalise(sampling)
        if sampling.temperature <= 0:
            self._add(api.llama_sampler_init_greedy())
        elif sampling.mirostat:
            self._steer(sampling, _native_seed(seed + written))
        else:
            self._filter(sampling, excluding=excluding)
            self._heat(sampling.temperature)
            self._draw = self._add(api.llama_sampler_init_dist(_native_seed(seed)))

    def sample(self, row: int) -> int:
        """Choose a token from the logits of batch row `row` of the last decode, and remember it."""
        return int(self._api.llama_sampler_sample(self._chain, self._context, row))

    def propose(self, row: int) -> int:
        """As `sample`, but nothing is remembered; it took a random number."""
        return candidates.choose(self._api, self._chain, self._candidates(row))

    def among(self, row: int, tokens: Sequence[int]) -> int:
        """The choice among these, by a copy of the chain: each token of an answer takes one random number, not two."""
        copy = self._api.llama_sampler_clone(self._chain)
        try:
            return candidates.choose(
                self._api, copy, self._candidates(row)[np.array(tokens, np.intp)]
            )
        finally:
            self._api.llama_sampler_free(copy)

    def accept(self, token: int) -> None:
        """Take in what was proposed, or chosen in its place."""
        self._api.llama_sampler_accept(self._chain, token)

    def look_back_on(self, prompt: TokenArray) -> None:
        """Have these tokens before any that is chosen: they count for the penalties alone."""
        if not self._remembered:
            return
        accept, chain = self._api.llama_sampler_accept, self._chain
        for token in prompt[-min(self._remembered, MOST) :].tolist():
            accept(chain, token)

    def follow(self, token: int) -> None:
        """Be as if this token had been chosen here: it counts for the penalties, and it took a random number."""
        if self._remembered:
            self._api.llama_sampler_accept(self._chain, token)
        if self._draw is not None:
            self._draw_in_vain()

    def close(self) -> None:
        if self._chain is not None:
            self._api.llama_sampler_free(self._chain)
            self._chain = self._draw = None

    def _candidates(self, row: int) -> candidates.Candidates:
        return candidates.of_row(self._api, self._context, row, self._vocabulary)

    def _draw_in_vain(self) -> None:
        # Two candidates, for with one alone some versions draw nothing.
        api = self._api
        pair = (api.llama_token_data * 2)(*(api.llama_token_data(one, 0.0, 0.0) for one in (0, 1)))
        candidates = api.llama_token_data_array(pair, 2, -1, False)
        api.llama_sampler_apply(self._draw, ctypes.byref(candidates))

    def _bias(self, sampling: Sampling, banned: tuple[int, ...]) -> None:
        api = self._api
        biases = [*sampling.logit_bias, *((token, -float("inf")) for token in banned)]
        if biases:
            native = (api.llama_logit_bias * len(biases))(
                *(api.llama_logit_bias(token, bias) for token, bias in biases)
            )
            self._add(api.llama_sampler_init_logit_bias(self._vocabulary, len(biases), native))

    def _penalise(self, sampling: Sampling) -> None:
        if not sampling.penalises:
            return
        back = sampling.repeat_last_n
        self._remembered = self._cells if back == WHOLE else min(back, self._cells)
        self._add(
            self._api.llama_sampler_init_penalties(
                self._vocabulary,
                self._remembered,
                sampling.repeat_penalty,
                sampling.frequency_penalty,
                sampling.presence_penalty,
            )
        )

    def _filter(self, sampling: Sampling, *, excluding: bool) -> None:
        api = self._api
        self._add(api.llama_sampler_init_top_k(sampling.top_k or _SHORTLIST))
        if sampling.typical_p < 1:
            self._add(api.llama_sampler_init_min_p(_LEAST, 1))
            self._add(api.llama_sampler_init_typical(sampling.typical_p, 1))
        if sampling.top_p < 1:
            self._add(api.llama_sampler_init_top_p(sampling.top_p, 1))
        if sampling.min_p > 0:
            self._add(api.llama_sampler_init_min_p(sampling.min_p, 1))
        if excluding:
            # It acts at each call with this probability, without a look at its own random numbers.
            self._add(api.llama_sampler_init_xtc(1.0, sampling.xtc_threshold, 1, 0))

    def _heat(self, temperature: float) -> None:
        degrees = ctypes.c_float(max(temperature, _COLDEST))
        self._add(self._api.llama_sampler_init_temp(degrees))

    def _steer(self, sampling: Sampling, seed: int) -> None:
        api = self._api
        tau, eta = sampling.mirostat_tau, sampling.mirostat_eta
        self._add(api.llama_sampler_init_top_k(_SHORTLIST))
        self._heat(sampling.temperature)
        if sampling.mirostat == 2:
            self._add(api.llama_sampler_init_mirostat_v2(seed, tau, eta))
        else:
            self._add(
                api.llama_sampler_init_mirostat(self._vocabulary, seed, tau, eta, _MIROSTAT_GUIDES)
            )

    def _add(self, sampler: Any) -> Any:
        if not sampler:
            raise RuntimeError("llama.cpp refused a sampler")
        self._api.llama_sampler_chain_add(self._chain, sampler)
        return sampler


def _native_seed(seed: int) -> int:
    """The largest number means "any seed" to llama.cpp."""
    return seed % 0xFFFFFFFF
