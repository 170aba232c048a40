"""Tells when nothing was asked of the model for a while."""

import contextlib
from collections.abc import Callable, Iterator

from app.client.clock import Clock, Timer


class IdleWatch:
    """Calls `on_idle` once no request has run for `minutes` (0: never).  On the event loop."""

    def __init__(self, clock: Clock, on_idle: Callable[[], None]) -> None:
        self._clock = clock
        self._on_idle = on_idle
        self._seconds = 0.0
        self._busy = 0
        self._since = clock.now()
        self._timer: Timer | None = None

    @property
    def since(self) -> float:
        """When something happened the last time."""
        return self._since

    def set_minutes(self, minutes: float) -> None:
        """Applies at once to the time that has passed already."""
        self._seconds = minutes * 60
        self._disarm()
        self._look()

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """A request runs."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self.touch()

    def touch(self) -> None:
        """Something happened: the time counts from now."""
        self._since = self._clock.now()
        if self._timer is None:
            self._look()

    def close(self) -> None:
        """Never call again."""
        self.set_minutes(0)

    def _look(self) -> None:
        # One timer that looks again is enough; Qt keeps a cancelled timer until its time has come.
        self._timer = None
        if not self._seconds or self._busy:
            return
        left = self._seconds - (self._clock.now() - self._since)
        if left > 0:
            self._timer = self._clock.call_later(left, self._look)
        else:
            self._since = self._clock.now()
            self._on_idle()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
