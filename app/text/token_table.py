"""What llama.cpp says of every token of a vocabulary, of which a large one has 260,000: each question in one go.

Such a loop runs when a chat waits for its model, and most of its time went into the binding's checks of the arguments, not
into llama.cpp.  So the functions are called as they lie in the library, over arguments that are right by themselves.
"""

import ctypes
import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate, repeat
from typing import Any

from app import llama

_CHUNK = 4096
"""Tokens whose pieces are fetched together."""

_ROOM = 64
"""Bytes for each of them; one that is longer is fetched once more by itself."""


class TokenTable:
    """The tokens 0 to `size` of a vocabulary, to which `vocabulary` is llama.cpp's pointer."""

    def __init__(self, api: Any, vocabulary: int, size: int) -> None:
        self._api = api
        self._vocabulary = ctypes.c_void_p(vocabulary)
        self._size = size

    def pieces(self) -> tuple[bytes, bytes]:
        """What all tokens write, one behind the other, and where each ends: little-endian numbers of 32 bits."""
        pieces = list(self._pieces())
        ends = array("I", accumulate(map(len, pieces)))
        if sys.byteorder == "big":
            ends.byteswap()
        return b"".join(pieces), ends.tobytes()

    def attributes(self) -> list[int]:
        """The flags of each token."""
        call = llama.bare(self._api, "llama_vocab_get_attr", ctypes.c_int)
        return list(map(call, repeat(self._vocabulary), range(self._size)))

    def _pieces(self) -> Iterator[bytes]:
        buffer = ctypes.create_string_buffer(_CHUNK * _ROOM)
        begins = range(0, len(buffer), _ROOM)
        places = [ctypes.c_void_p(ctypes.addressof(buffer) + begin) for begin in begins]
        for first in range(0, self._size, _CHUNK):
            tokens = range(first, min(first + _CHUNK, self._size))
            counts = list(self._write(tokens, places, _ROOM))
            written = buffer.raw
            for token, begin, count in zip(tokens, begins, counts, strict=False):
                yield written[begin : begin + count] if count >= 0 else self._long(token, -count)

    def _long(self, token: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        (count,) = self._write([token], [ctypes.c_void_p(ctypes.addressof(buffer))], size)
        return buffer.raw[:count]

    def _write(
        self, tokens: Iterable[int], places: Iterable[ctypes.c_void_p], room: int
    ) -> Iterator[int]:
        """Have each token's piece written to its place; how long it is, and where there is no room for it, how long it
        would be, below 0."""
        call = llama.bare(self._api, "llama_token_to_piece", ctypes.c_int32)
        left, special = repeat(0), repeat(ctypes.c_bool(False))
        return map(call, repeat(self._vocabulary), tokens, places, repeat(room), left, special)
