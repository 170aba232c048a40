"""Tokens per second over the last moments, from totals that only grow."""

from collections import deque

from app.client.clock import Clock

_WINDOW = 2.0


class Speedometer:
    """Remembers when a total was seen, for about two seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, total: int) -> None:
        """`total` is what was written so far, all in all."""
        self._seen.append((self._clock.now(), total))
        self._forget()

    @property
    def per_second(self) -> float:
        """0 before the second step, and once no step came for two seconds."""
        self._forget()
        if len(self._seen) < 2:
            return 0.0
        (begin, first), (end, last) = self._seen[0], self._seen[-1]
        return (last - first) / (end - begin) if end > begin else 0.0

    def _forget(self) -> None:
        oldest = self._clock.now() - _WINDOW
        while self._seen and self._seen[0][0] < oldest:
            self._seen.popleft()
