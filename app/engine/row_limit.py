"""How many rows a step may carry before more of them bring fewer tokens a second in all; found out while running, pure.

A step costs something by itself and something for each row, so that more rows bring more.  Where that ends (a device
that shares its memory, a processor that grows hot) is a matter of the machine: speeds are compared by number of rows,
and only those of steps that looked at about as many cells.  What a smaller number brought is tried again after a while.
"""

from dataclasses import dataclass

_ENOUGH = 32
"""Steps before a speed counts."""
_SMOOTHING = 1 / 16
_FALLEN = 0.8
"""The share of the best speed under which the total counts as falling: a busy machine alone makes it waver by a tenth."""
_FORGOTTEN = 2000
"""Steps after which a speed is no longer known."""
_ALIKE = 1.5
"""Between the cells of steps whose speeds are compared."""


@dataclass(slots=True)
class _Speed:
    """Rows a second, smoothed, at one number of rows."""

    value: float
    cells: int
    step: int
    seen: int = 1


class RowLimit:
    """The number of rows that brings the most tokens a second, as far as it is known."""

    def __init__(self) -> None:
        self._speeds: dict[int, _Speed] = {}
        self._step = 0

    def observe(self, rows: int, cells: int, seconds: float) -> None:
        """Learn from a step that carried `rows` rows and nothing else, with `cells` cells in use."""
        self._step += 1
        if seconds <= 0:
            return
        speed = rows / seconds
        known = self._known(rows, cells)
        if known is None:
            self._speeds[rows] = _Speed(speed, cells, self._step)
            return
        known.value += (speed - known.value) * max(_SMOOTHING, 1 / (known.seen + 1))
        known.cells, known.step = cells, self._step
        known.seen += 1

    def limit(self, wanted: int, cells: int) -> int:
        """How many of `wanted` rows the next step should carry; all, unless fewer brought more together."""
        present = self._settled(wanted, cells)
        if present is None:
            return wanted
        best, most = wanted, present.value
        for rows in self._speeds:
            known = self._settled(rows, cells)
            if rows < wanted and known is not None and known.value > most:
                best, most = rows, known.value
        return best if present.value < _FALLEN * most else wanted

    def _settled(self, rows: int, cells: int) -> _Speed | None:
        known = self._known(rows, cells)
        return known if known is not None and known.seen >= _ENOUGH else None

    def _known(self, rows: int, cells: int) -> _Speed | None:
        found = self._speeds.get(rows)
        if found is None or self._step - found.step > _FORGOTTEN:
            return None
        low, high = sorted((found.cells, cells))
        return found if high <= max(low, 1) * _ALIKE else None
