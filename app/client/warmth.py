"""Which states of conversations were read beforehand since the engine began.  Pure; bounded."""

from app.chat.models import ChatMessage

MOST = 64


class Warmth:
    """Remembers the last `MOST` conversations by a digest."""

    def __init__(self) -> None:
        self._known: dict[int, None] = {}

    def wanted(self, messages: tuple[ChatMessage, ...]) -> bool:
        """Whether this one was not read yet."""
        return hash(messages) not in self._known

    def remember(self, messages: tuple[ChatMessage, ...]) -> None:
        """It was read."""
        self._known.pop(hash(messages), None)
        self._known[hash(messages)] = None
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def clear(self) -> None:
        """Nothing is read any more."""
        self._known.clear()
