"""Measures rows, ours and the peer's in turn, and keeps what it has when it is stopped."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from app.bench.figure import Result, Values, results
from app.bench.rows.row import Row, Setup
from app.errors import AppError

_MOST_SECONDS = 1200.0
"""A run that takes longer hangs."""

Tell = Callable[[str], None]


class Runner:
    """`runs` holds, for each row that was begun, the runs that ended: ours and the peer's.

    `failures` holds why a row could not be measured; the others are measured all the same.
    """

    def __init__(self, setup: Setup, pairs: int, progress: Tell) -> None:
        self._setup = setup
        self._pairs = pairs
        self._progress = progress
        self._rows: dict[str, Row] = {}
        self.runs: dict[str, list[tuple[Values, Values]]] = {}
        self.failures: dict[str, str] = {}

    @property
    def results(self) -> list[Result]:
        """Of all rows so far."""
        return [
            result
            for name, runs in self.runs.items()
            for result in results(name, self._rows[name].figures, runs, self._rows[name].peer_name)
        ]

    async def measure(self, rows: Sequence[Row]) -> None:
        """Measure each of them, so many times."""
        for number, row in enumerate(rows, start=1):
            self._rows[row.name] = row
            try:
                await self._measure(row, f"{number}/{len(rows)} {row.name}")
            except AppError as error:
                self.failures[row.name] = str(error)

    async def _measure(self, row: Row, words: str) -> None:
        runs = self.runs.setdefault(row.name, [])
        beside = self._setup.peer(row.peer_name) is not None
        for pair in range(self._pairs):
            # A seed of its own for each pair, the same for the two of it.
            seed = 1000 * (pair + 1)
            where = f"{words}, run {pair + 1} of {self._pairs}"
            self._progress(f"{where}: Tutti")
            ours = await _bounded(row.ours(self._setup, seed))
            theirs: Values = {}
            if beside:
                self._progress(f"{where}: {row.peer_name}")
                theirs = await _bounded(row.peer(self._setup, seed))
            runs.append((ours, theirs))


async def _bounded(run: Awaitable[Values]) -> Values:
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            return await run
    except TimeoutError:
        raise AppError(f"It did not end within {_MOST_SECONDS:.0f} s.") from None
