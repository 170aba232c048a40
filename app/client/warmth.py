"""Which states of conversations were read beforehand since the engine began, and which it dies of.  Pure; bounded."""

from app.chat.models import ChatMessage
from app.client.suspicion import SUSPICIOUS

MOST = 64


class Warmth:
    """Remembers the last `MOST` conversations of each kind by a digest."""

    def __init__(self) -> None:
        self._known: dict[int, None] = {}
        self._deaths: dict[int, int] = {}

    def wanted(self, messages: tuple[ChatMessage, ...]) -> bool:
        """Whether this one was not read yet, and is not what the engine dies of: a warm-up is never looked into."""
        key = hash(messages)
        return key not in self._known and self._deaths.get(key, 0) < SUSPICIOUS

    def remember(self, messages: tuple[ChatMessage, ...]) -> None:
        """It was read."""
        self._known.pop(hash(messages), None)
        self._known[hash(messages)] = None
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def died(self, messages: tuple[ChatMessage, ...]) -> None:
        """The engine ended while it read this one; that outlives it."""
        key = hash(messages)
        self._deaths[key] = self._deaths.pop(key, 0) + 1
        if len(self._deaths) > MOST:
            del self._deaths[next(iter(self._deaths))]

    def clear(self) -> None:
        """Nothing is read any more."""
        self._known.clear()
