"""What each token writes, for those who follow a grammar; learned bit by bit, for all of it takes a while."""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

_AT_A_TIME = 2_048
"""Tokens learned beside a step: some 3 ms.  A vocabulary of 262,144 is known after 128 of them."""

_NOTHING = 256


class Lexicon:
    """The bytes of all tokens, asked of `piece` once each; control tokens write nothing."""

    def __init__(self, piece: Callable[[int], bytes], size: int) -> None:
        self._piece = piece
        self._pieces: list[bytes | None] = [None] * size
        self._first = np.full(size, _NOTHING, np.uint16)
        self._known = 0

    @property
    def complete(self) -> bool:
        """Whether all is learned."""
        return self._known == len(self._pieces)

    def piece(self, token: int) -> bytes:
        """The bytes that a token writes."""
        known = self._pieces[token]
        if known is None:
            known = self._pieces[token] = self._piece(token)
        return known

    def learn(self, most: int = _AT_A_TIME) -> None:
        """Learn some more tokens, to be quick when all are asked for."""
        end = min(self._known + most, len(self._pieces))
        for token in range(self._known, end):
            piece = self.piece(token)
            if piece:
                self._first[token] = piece[0]
        self._known = end

    def beginning(self, first: Iterable[int]) -> npt.NDArray[np.intp]:
        """The tokens whose first byte is one of these."""
        self.learn(len(self._pieces))
        wanted = np.zeros(_NOTHING + 1, np.bool_)
        wanted[list(first)] = True
        wanted[_NOTHING] = False
        return np.flatnonzero(wanted[self._first])
