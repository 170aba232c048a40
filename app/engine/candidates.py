"""Tokens with their logits as llama.cpp's samplers take them."""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

Candidates = npt.NDArray[Any]

_FIELDS = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data`."""


def logits_of(api: Any, context: Any, row: int, size: int) -> npt.NDArray[np.float32]:
    """The `size` logits of batch row `row` of the last decode, where they are; good until the next one."""
    pointer = api.llama_get_logits_ith(context, row)
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    if address is None:
        raise RuntimeError("llama.cpp gave no logits for a row that asked for some")
    return np.ctypeslib.as_array((ctypes.c_float * size).from_address(address))


def of_row(api: Any, context: Any, row: int, size: int) -> Candidates:
    """All `size` tokens, token i at index i, with the logits of batch row `row` of the last decode."""
    found = np.zeros(size, _FIELDS)
    found["id"] = np.arange(size, dtype=np.int32)
    found["logit"] = logits_of(api, context, row, size)
    return found


def choose(api: Any, chain: Any, candidates: Candidates) -> int:
    """What the chain chooses; it remembers nothing of it but the random numbers that it took."""
    pointer = ctypes.cast(candidates.ctypes.data, ctypes.POINTER(api.llama_token_data))
    array = api.llama_token_data_array(pointer, len(candidates), -1, False)
    api.llama_sampler_apply(chain, ctypes.byref(array))
    if not 0 <= array.selected < array.size:
        raise RuntimeError("a sampler chain chose nothing")
    return int(array.data[array.selected].id)
