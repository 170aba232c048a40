"""What a step costs, learned from the steps themselves; pure.

Two figures are kept as moving averages: the time of a decode-only step with n rows, and the time that each
prefill token adds.  They answer one question: how many prefill tokens fit into a given time beside n rows.
"""

_SMOOTHING = 0.25
_FIRST_CHUNK = 32


class CostModel:
    """Seconds per step, from (rows, chunk, seconds) of past steps."""

    def __init__(self) -> None:
        self._by_rows: dict[int, float] = {}
        self._per_token: float | None = None

    def observe(self, rows: int, chunk: int, seconds: float) -> None:
        """Learn from a step of `rows` decode rows and `chunk` prefill tokens."""
        if chunk == 0 and rows:
            self._by_rows[rows] = _mix(self._by_rows.get(rows), seconds)
        elif chunk:
            share = max(seconds - self.decode_seconds(rows), seconds * chunk / (chunk + rows) / 2)
            self._per_token = _mix(self._per_token, share / chunk)

    def decode_seconds(self, rows: int) -> float:
        """The expected time of a decode-only step; 0 while nothing is known."""
        if rows == 0 or not self._by_rows:
            return 0.0
        nearest = min(self._by_rows, key=lambda known: abs(known - rows))
        known = self._by_rows[nearest]
        # A step grows at most in proportion to its rows, and never shrinks when rows are added.
        return known * rows / nearest if rows > nearest else known

    def chunk_for(self, seconds: float) -> int:
        """How many prefill tokens take about `seconds`; a small first guess while nothing is known."""
        if self._per_token is None:
            return _FIRST_CHUNK
        return int(seconds / self._per_token)


def _mix(old: float | None, new: float) -> float:
    return new if old is None else old + _SMOOTHING * (new - old)
