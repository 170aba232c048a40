"""Token ids to text, as they come: UTF-8 across token borders and stop strings across everything.

Pure and sans-IO: no thread, no clock, no model.  One `TextStream` belongs to one answer; a `Vocabulary` may be
shared.  Promises: what was given out is never taken back, the text does not depend on how it was cut into
tokens, and a piece that cannot begin a stop string comes out of the very `feed` that brought it.
"""

import codecs
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import compress
from operator import not_, sub

_NONE: Mapping[int, str] = {}


class Vocabulary:
    """The bytes of each token, as `wire.VocabularyLoaded` carries them.

    `ends` are little-endian uint32; raises ValueError when they do not fit `pieces`.
    """

    def __init__(self, pieces: bytes, ends: bytes) -> None:
        table = array("I")
        table.frombytes(ends)
        if sys.byteorder == "big":
            table.byteswap()
        if (table[-1] if table else 0) != len(pieces):
            raise ValueError("the table of pieces and its ends do not fit each other")
        self._pieces = pieces
        self._ends = table

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self._ends)

    def piece(self, token: int) -> bytes:
        """The bytes of `token`, empty for control tokens; raises IndexError outside the vocabulary."""
        if not 0 <= token < len(self._ends):
            raise IndexError(f"token {token} is not in a vocabulary of {len(self._ends)}")
        start = self._ends[token - 1] if token else 0
        return self._pieces[start : self._ends[token]]

    def sizes(self, tokens: Iterable[int]) -> list[int]:
        """The number of bytes of each of these tokens, which must be in the vocabulary."""
        return list(map(self._sizes.__getitem__, tokens))

    @cached_property
    def _sizes(self) -> "array[int]":
        return array("I", map(sub, self._ends, [0, *self._ends[:-1]]))

    @cached_property
    def silent(self) -> frozenset[int]:
        """The tokens that have no bytes: control tokens."""
        return frozenset(compress(range(len(self)), map(not_, self._sizes)))

    def holding(self, text: bytes) -> Iterator[int]:
        """The tokens that have these bytes, at least one, in them."""
        at = self._pieces.find(text)
        while at >= 0:
            token = bisect_right(self._ends, at)
            whole = at + len(text) <= self._ends[token]
            if whole:
                yield token
            at = self._pieces.find(text, self._ends[token] if whole else at + 1)

    def join(self, tokens: Iterable[int]) -> bytes:
        """The bytes of all `tokens` in a row."""
        return b"".join(map(self.piece, tokens))


class TextStream:
    """Turns the tokens of one answer into text.

    Bytes that can never become a character come out as U+FFFD at once, half a character at the end as one in
    `flush`.  The first stop string that is complete ends the text before it (of several that are complete with
    the same character the longest); `stopped` is then True and nothing more comes out.  `symbols` are what some
    tokens stand for instead of their pieces.
    """

    def __init__(
        self, vocabulary: Vocabulary, stop: Iterable[str] = (), symbols: Mapping[int, str] = _NONE
    ) -> None:
        self.stopped = False
        self._vocabulary = vocabulary
        self._symbols = symbols
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._matchers = [_Matcher(text) for text in stop if text]
        self._held = ""

    @property
    def held(self) -> int:
        """Bytes that were fed and have not come out; once `stopped`, those that never will."""
        return len(self._held.encode()) + len(self._decoder.getstate()[0])

    def feed(self, token: int) -> str:
        """The text that is certain now."""
        if self.stopped:
            return ""
        symbol = self._symbols.get(token)
        piece = self._vocabulary.piece(token) if symbol is None else symbol.encode()
        return self._release(self._decoder.decode(piece))

    def flush(self, *, ragged: bool = True) -> str:
        """The text that was held back; to be called when the answer is over, for whatever reason.

        Half a character is one U+FFFD, or nothing where the end may not be `ragged`.
        """
        if self.stopped:
            return ""
        if not ragged:
            self._decoder.reset()
        text = self._release(self._decoder.decode(b"", final=True))
        if not self.stopped:
            text += self._held
            self._held = ""
            for matcher in self._matchers:
                matcher.matched = 0
        return text

    def _release(self, new: str) -> str:
        if not self._matchers:
            return new
        text = self._held + new
        for index, character in enumerate(new, start=len(self._held) + 1):
            matched = max((matcher.advance(character) for matcher in self._matchers), default=0)
            if matched:
                self.stopped = True
                self._held = text[index - matched :]
                return text[: index - matched]
        keep = max((matcher.matched for matcher in self._matchers), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]


class _Matcher:
    """Knuth, Morris and Pratt: how much of `text` the characters seen so far end with."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.matched = 0
        self._fallback = _borders(text)

    def advance(self, character: str) -> int:
        """Take one character; the length of `text` when it is now complete, else 0."""
        while self.matched and self.text[self.matched] != character:
            self.matched = self._fallback[self.matched]
        if self.text[self.matched] == character:
            self.matched += 1
        return self.matched if self.matched == len(self.text) else 0


def _borders(text: str) -> list[int]:
    """For each length n, the longest proper prefix of `text[:n]` that is also its suffix."""
    borders = [0, 0]
    for character in text[1:]:
        border = borders[-1]
        while border and text[border] != character:
            border = borders[border]
        borders.append(border + (text[border] == character))
    return borders
