"""Speed, time left, and a limit on the speed of all transfers together.  Pure: time is given in seconds."""

from collections import deque

_WINDOW = 8.0
_LEAST = 1.0


class Speed:
    """Bytes a second over the last 8 seconds."""

    def __init__(self) -> None:
        self._arrived: deque[tuple[float, int]] = deque()
        self._sum = 0
        self._began: float | None = None

    def add(self, now: float, count: int) -> None:
        self._began = now if self._began is None else self._began
        if self._arrived and now - self._arrived[-1][0] < 0.1:
            at, before = self._arrived.pop()
            self._arrived.append((at, before + count))
        else:
            self._arrived.append((now, count))
        self._sum += count
        self._forget(now)

    def per_second(self, now: float) -> float:
        """0 while nothing came in the last seconds."""
        self._forget(now)
        if self._began is None or not self._arrived:
            return 0.0
        return self._sum / max(_LEAST, min(_WINDOW, now - self._began))

    def _forget(self, now: float) -> None:
        while self._arrived and self._arrived[0][0] < now - _WINDOW:
            self._sum -= self._arrived.popleft()[1]
        if not self._arrived:
            self._began = None


def seconds_left(missing: int, per_second: float) -> float | None:
    """None when it cannot be told."""
    return missing / per_second if per_second > 0 else None


class Bucket:
    """A limit of `rate` bytes a second, 0 for none, with a second's worth at once."""

    def __init__(self, rate: float = 0.0) -> None:
        self.rate = rate
        self._left = rate
        self._last: float | None = None

    def take(self, now: float, count: int) -> float:
        """Spend `count` bytes that came; gives the seconds to wait before reading on."""
        if self.rate <= 0:
            return 0.0
        passed = 0.0 if self._last is None else max(0.0, now - self._last)
        self._last = now
        self._left = min(self.rate, self._left + passed * self.rate) - count
        return max(0.0, -self._left / self.rate)
