"""When a broken transfer is tried again, and when one that hardly moves counts as stalled.  Pure: time is given."""

from app.errors import HubError, HubProblem

PASSING = frozenset(
    {
        HubProblem.BUSY,
        HubProblem.DOWN,
        HubProblem.OFFLINE,
        HubProblem.SILENT,
        HubProblem.PROTOCOL,
    }
)
"""Problems that may go away by themselves."""

_FIRST, _LONGEST = 0.1, 8.0
_TRIES = 30
_PROBE = 30.0


class Retry:
    """Waits between the tries of one transfer, twice as long each time.

    After 30 tries without a byte a `patient` one asks every 30 seconds, for ever; any other gives up.
    """

    def __init__(self, *, patient: bool) -> None:
        self._patient = patient
        self._failures = 0

    def arrived(self) -> None:
        """Bytes came: start anew."""
        self._failures = 0

    def wait(self, error: HubError, spread: float) -> float | None:
        """Seconds until the next try; None to give up.  `spread` in 0..1 keeps many clients apart.

        What the hub asked for is never cut short.
        """
        if error.problem not in PASSING:
            return None
        self._failures += 1
        if self._failures > _TRIES:
            return max(_PROBE, error.wait or 0.0) if self._patient else None
        delay: float = min(_LONGEST, _FIRST * 2.0 ** (self._failures - 1)) * (0.75 + 0.25 * spread)
        return max(delay, error.wait or 0.0)


class StallWatch:
    """Notices when fewer than `least` bytes arrive in `seconds` of waiting for the server.

    A gap longer than `most_gap` is our own: no read waits longer than that, so that the machine slept or the process
    was stopped; it does not count.
    """

    def __init__(self, seconds: float, *, most_gap: float, least: int = 64 * 1024) -> None:
        self._seconds = seconds
        self._most_gap = most_gap
        self._least = least
        self._last: float | None = None
        self._waited = 0.0
        self._bytes = 0

    def look(self, now: float, arrived: int) -> bool:
        """`arrived` bytes since the last look; True when it has stalled."""
        gap = 0.0 if self._last is None else now - self._last
        self._last = now
        self._waited += gap if gap <= self._most_gap else 0.0
        self._bytes += arrived
        if self._bytes >= self._least:
            self._waited, self._bytes = 0.0, 0
        return self._waited >= self._seconds

    def skip(self, now: float) -> None:
        """The time until `now` was not spent waiting for the server."""
        self._last = now
