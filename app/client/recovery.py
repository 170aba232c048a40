"""When a dead engine is started again, and when it is given up.  Pure; the caller gives the times.

The first start comes at once; the pause before each other one grows with every death, and all begins anew after a
healthy minute.  Deaths that follow one another within that minute and between which nothing was written mean that the
engine cannot work here.
"""

DELAYS = (0.0, 0.5, 2.0, 5.0)
"""Seconds before the first start, the second and so on; the last counts for all that follow.  The dead process has been
reaped by then, so that nothing of it is left to wait for."""

HEALTHY_SECONDS = 60.0
VAIN_DEATHS = 3
"""As many quick deaths without progress give the engine up."""


class Recovery:
    """The deaths of one engine so far."""

    def __init__(self, delays: tuple[float, ...] = DELAYS) -> None:
        self._delays = delays
        self._deaths = 0
        self._vain = 0

    def died(
        self, lived: float, *, progress: bool = False, explained: bool = False
    ) -> float | None:
        """Seconds to wait before the next start; None to give up.

        `lived` are the seconds since the engine was ready (0 where it never was), `progress` says whether it wrote
        anything in that time, `explained` whether the death is put down to one request.
        """
        if lived >= HEALTHY_SECONDS:
            self._deaths = self._vain = 0
        elif progress:
            self._vain = 0
        elif not explained:
            self._vain += 1
        if self._vain >= VAIN_DEATHS:
            return None
        delay = self._delays[min(self._deaths, len(self._delays) - 1)]
        self._deaths += 1
        return delay
