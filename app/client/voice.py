"""How one model's tokens read: the bytes of each, and the tags around what it thinks.  Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from app.dialogue import Thinking, ThoughtTags
from app.text.stream import Vocabulary
from app.text.thoughts import symbols


class Voice:
    """Shared by all answers of one loaded model.

    In `tags` each control token is a character that no text has; `symbols` are these characters by token.
    """

    def __init__(self, vocabulary: Vocabulary, thinking: Thinking = Thinking()) -> None:
        self.vocabulary = vocabulary
        self.tags, self.symbols = symbols(thinking.tags, thinking.marks)
        self._told = dict(zip(thinking.tags, self.tags, strict=True))

    def told(self, opened: ThoughtTags | None) -> ThoughtTags | None:
        """These tags as they stand in `tags`."""
        return None if opened is None else self._told[opened]

    def within(self, ids: Sequence[int], text: str, *, last: bool = False) -> tuple[int, ...]:
        """Those of `ids` in a row whose bytes are exactly `text`, the first such ones or the `last`; () if none are."""
        if not text:
            return ()
        pieces = [self.vocabulary.piece(token) for token in ids]
        whole, sought = b"".join(pieces), text.encode()
        if whole.decode("utf-8", "replace") == text:
            return tuple(ids)
        start = whole.rfind(sought) if last else whole.find(sought)
        ends = list(accumulate(map(len, pieces)))
        if start < 0:
            return ()
        low = bisect_right(
            ends, start
        )  # control tokens before it, whose pieces are empty, stay out
        high = bisect_left(ends, start + len(sought)) + 1
        found = ids[low:high]
        return tuple(found) if self.vocabulary.join(found) == sought else ()
