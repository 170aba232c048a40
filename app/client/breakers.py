"""Which tokens end a repetition for DRY: from the texts that a user names to a flag for each token of the vocabulary."""

import asyncio
from collections import OrderedDict

from app.sampling import Sampling
from app.text.stream import Vocabulary

_KEPT = 8


class Breakers:
    """Of one vocabulary.  What was searched last is remembered, for nearly everybody has the same ones."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: OrderedDict[tuple[str, ...], bytes] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def of(self, sampling: Sampling) -> bytes:
        """A bit for each token, the first one highest; nothing where DRY is off.

        Searched on a thread: a letter stands in most tokens of a large vocabulary.
        """
        texts = sampling.dry_sequence_breakers
        if not sampling.dries or not texts:
            return b""
        async with self._one_at_a_time:
            found = self._known.get(texts)
            if found is None:
                found = await asyncio.to_thread(flags, self._vocabulary, texts)
            self._known[texts] = found
            self._known.move_to_end(texts)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return found


def long_breakers(sampling: Sampling) -> tuple[bytes, ...]:
    """Those that several tokens may write together."""
    texts = sampling.dry_sequence_breakers if sampling.dries else ()
    data = (text.encode("utf-8", "surrogatepass") for text in texts)
    return tuple(text for text in data if len(text) > 1)


def flags(vocabulary: Vocabulary, texts: tuple[str, ...]) -> bytes:
    """A bit for each token: whether one of these texts is in it."""
    found = bytearray((len(vocabulary) + 7) // 8)
    for text in texts:
        for token in vocabulary.holding(text.encode("utf-8", "surrogatepass")):
            found[token >> 3] |= 0x80 >> (token & 7)
    return bytes(found)
