"""The time that this package goes by: monotonic seconds and timers, replaceable as one.

Timers fire on the event loop, perhaps a little early (Qt counts in whole milliseconds), so whoever waits for a span
looks at `now` again.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Monotonic time."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` on the event loop once `seconds` have passed."""
        ...


class LoopClock:
    """The clock of the running event loop."""

    def now(self) -> float:
        return time.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)
