"""DRY ("don't repeat yourself"): what would make a repetition longer loses, the more the longer it is.  Pure.

llama.cpp's own sampler of this name gives the same penalties, but searches the text of the whole vocabulary for each
breaker when it is made, in the loop that all chats wait for: with 49k tokens 13 ms for the usual ones, 270 ms for 16
letters (and five times as much with 262k).  Here a token costs 20 to 160 microseconds, for 100 to 16,000 that are looked
back on, and the tokens that hold a breaker come as flags.

A breaker that several tokens write together is found by the bytes of these tokens.  llama.cpp looks for a token that ends
with its beginning, and behind that for exactly the tokens that the rest is tokenised to by itself; what a model writes in
other tokens, it misses.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from app.engine.backend import TokenArray
from app.sampling import WHOLE, Sampling

MOST = 16_384
"""Tokens that the whole answer counts for at most."""

_LOG_OF_LARGEST = 88.7
"""Of a float of 32 bits: a longer repetition is penalised no more."""

_MOST_COST = 1e30


class Dry:
    """The history of one answer, and of its prompt.

    `breakers` has a bit for each token of the vocabulary, the first one highest: whether a breaker is in it.  `texts` are the
    breakers that may also stand in several tokens, whose bytes `piece` knows.
    """

    def __init__(
        self,
        sampling: Sampling,
        breakers: bytes,
        vocabulary: int,
        texts: tuple[bytes, ...] = (),
        piece: Callable[[int], bytes] = lambda _token: b"",
    ) -> None:
        self._sampling = sampling
        self._back = MOST if sampling.dry_penalty_last_n == WHOLE else sampling.dry_penalty_last_n
        self._breaks = np.zeros(vocabulary, np.bool_)
        known = min(8 * len(breakers), vocabulary)
        flags = np.unpackbits(np.frombuffer(breakers, np.uint8), count=known)
        self._breaks[: len(flags)] = flags
        self._tokens = np.zeros(256, np.int32)
        # At each place: how many tokens up to it are also the last ones of all.
        self._equal = np.zeros(256, np.int32)
        self._count = 0
        self._unbroken = 0
        self._texts = texts
        self._piece = piece
        self._longest = max(map(len, texts), default=0)
        self._tail = b""

    def begin(self, tokens: TokenArray) -> None:
        """Have these tokens before all others: as if each had been accepted, but in time that grows with their number."""
        tokens = tokens[-self._back :]
        count = self._count = len(tokens)
        self._tokens, self._equal = (np.zeros(256 + 2 * count, np.int32) for _ in range(2))
        self._tokens[:count] = tokens
        self._equal[:count] = _common_ends(tokens.tolist())
        broken = np.flatnonzero(self._breaks[tokens])
        self._unbroken = count - 1 - int(broken[-1]) if len(broken) else count
        if self._texts:
            for index, token in enumerate(tokens.tolist(), start=1):
                if self._completes(token):
                    self._unbroken = min(self._unbroken, count - index)

    def accept(self, token: int) -> None:
        """This one was chosen."""
        if self._count == len(self._tokens):
            self._make_room()
        count, tokens, equal = self._count, self._tokens, self._equal
        equal[1:count] = equal[: max(count - 1, 0)] + 1
        equal[:1] = 1
        equal[:count][tokens[:count] != token] = 0
        tokens[count] = token
        equal[count] = 0
        self._count += 1
        broken = self._breaks[token] | self._completes(token)
        self._unbroken = 0 if broken else self._unbroken + 1

    def penalise(self, logits: npt.NDArray[np.float32]) -> None:
        """Take from the logits of the next token what each would cost."""
        tokens, lengths = self.repeats()
        if not len(tokens):
            return
        sampling = self._sampling
        over = lengths - sampling.dry_allowed_length
        if sampling.dry_base > 1.000001:
            over = np.minimum(over, int(_LOG_OF_LARGEST / math.log(sampling.dry_base)))
        costs = sampling.dry_multiplier * sampling.dry_base ** over.astype(np.float64)
        logits[tokens] -= np.minimum(costs, _MOST_COST).astype(np.float32)

    def repeats(self) -> tuple[TokenArray, npt.NDArray[np.int32]]:
        """The tokens that would go on with a repetition, each once, and how long the longest of them is so far."""
        count, allowed = self._count, self._sampling.dry_allowed_length
        start = max(0, count - self._back)
        longest = min(self._unbroken, count - start)
        if count - start <= allowed or longest < allowed:
            return _NONE, _NONE
        followers = self._tokens[start + 1 : count]
        # A repetition lies whole in what is looked back on.
        within = np.arange(1, len(followers) + 1, dtype=np.int32)
        lengths = np.minimum(np.minimum(self._equal[start : count - 1], within), longest)
        wanted = (lengths >= allowed) & ~self._breaks[followers]
        if not wanted.any():
            return _NONE, _NONE
        followers, lengths = followers[wanted], lengths[wanted]
        order = np.lexsort((lengths, followers))
        followers, lengths = followers[order], lengths[order]
        longest_of_each = np.append(followers[1:] != followers[:-1], True)
        return followers[longest_of_each], lengths[longest_of_each]

    def _completes(self, token: int) -> bool:
        """Whether a breaker ends in this token that began before it; to be asked of every token, in order."""
        if not self._texts:
            return False
        piece, before = self._piece(token), self._tail
        text = before + piece
        # A control token stands between two texts.
        self._tail = text[-(self._longest - 1) :] if piece else b""
        return any(text.find(one, max(0, len(before) - len(one) + 1)) >= 0 for one in self._texts)

    def _make_room(self) -> None:
        kept = min(self._count, self._back)
        start, size = self._count - kept, 256 + 2 * kept
        tokens, equal = np.zeros(size, np.int32), np.zeros(size, np.int32)
        tokens[:kept], equal[:kept] = self._tokens[start:], self._equal[start:]
        self._tokens, self._equal, self._count = tokens, equal, kept


_NONE = np.zeros(0, np.int32)


def _common_ends(tokens: Sequence[int]) -> list[int]:
    """For each place how many tokens up to it are also the last ones of all; nothing for the last place itself.

    The Z function of the tokens in reverse: each comparison that succeeds moves on, so that it takes linear time.
    """
    backwards = tokens[::-1]
    count = len(backwards)
    ends = [0] * count
    left = right = 0
    for place in range(1, count):
        length = min(right - place, ends[place - left]) if place < right else 0
        while place + length < count and backwards[length] == backwards[place + length]:
            length += 1
        ends[place] = length
        if place + length > right:
            left, right = place, place + length
    return ends[::-1]
