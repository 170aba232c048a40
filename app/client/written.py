"""What the engine wrote: from the text of an answer to the ids that were fed for it.

A chat that goes on, or an API client that sends an answer back word for word, is continued with these ids, so that
the engine finds its own text in the pool: the same text tokenised afresh may be other tokens.  Only a digest of the
text is kept.  Pure; bounded in tokens; what was not asked for longest goes first.
"""

import hashlib
import json
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.chat.models import ToolCall, clean

_ENTRY_COST = 16
"""Tokens that an entry counts for besides its own, so that very short answers are bounded too."""


@dataclass(frozen=True, slots=True)
class _Entry:
    owner: int
    ids: "array[int]"


class Written:
    """A memory of at most `budget` tokens (4 bytes each).

    It outlives a model that is unloaded and loaded again.  Ids of another model do no harm: they are used only where
    they stand for exactly this text in the vocabulary at hand.
    """

    def __init__(self, budget: int = 2_000_000) -> None:
        self._budget = budget
        self._cost = 0
        self._ids: OrderedDict[bytes, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ids)

    def remember(self, text: str, ids: Sequence[int], owner: int = 0) -> None:
        """`ids` were fed for exactly `text`; nothing is kept of an empty answer or of one over the budget."""
        key = _key(text)
        self._forget(key)
        cost = len(ids) + _ENTRY_COST
        if not text or not ids or cost > self._budget:
            return
        self._ids[key] = _Entry(owner, array("i", ids))
        self._cost += cost
        while self._cost > self._budget:
            self._forget(next(iter(self._ids)))

    def ids(self, text: str) -> tuple[int, ...]:
        """The ids that were fed for this text, or ()."""
        key = _key(text)
        found = self._ids.get(key)
        if found is None:
            return ()
        self._ids.move_to_end(key)
        return tuple(found.ids)

    def forget(self, owner: int) -> None:
        """Drop what was written in this chat."""
        for key in [key for key, entry in self._ids.items() if entry.owner == owner]:
            self._forget(key)

    def _forget(self, key: bytes) -> None:
        gone = self._ids.pop(key, None)
        if gone is not None:
            self._cost -= len(gone.ids) + _ENTRY_COST


def with_calls(content: str, calls: Iterable[ToolCall]) -> str:
    """Stands for an answer that calls tools; no other text is the same."""
    return "\x00" + json.dumps([content, *([call.name, call.arguments] for call in calls)])


def _key(text: str) -> bytes:
    # Chats store the cleaned text, and that is what comes back.
    return hashlib.blake2b(clean(text).encode(), digest_size=16).digest()
