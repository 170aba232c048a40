"""The tips of the pool's slots: states kept where a fork may begin, on memories that cannot be cut.

One tip may be a few kilobytes or some megabytes; all of them together are bounded in bytes, those of one slot in number.
"""

from collections.abc import Iterable

from app.engine.backend import Backend
from app.engine.blob import Tip
from app.engine.checkpoints import MOST, thinned
from app.engine.slot import Slot

_LEAST_BYTES = 64 << 20
_FEWER = (MOST // 2, MOST // 4, 3)


class Tips:
    """Keeps them, in at most `budget` bytes (and 64 MiB in any case)."""

    def __init__(self, backend: Backend, budget: int) -> None:
        self._backend = backend
        self._budget = max(_LEAST_BYTES, budget)

    def keep(self, slot: Slot, slots: Iterable[Slot]) -> None:
        """Keep the state at the slot's present end; the oldest of all `slots` are thinned where it gets too much."""
        if not slot.length or any(tip.at == slot.length for tip in slot.tips):
            return
        data = self._backend.save_tip(slot.id)
        if data is not None:
            slot.tips.append(Tip(slot.length, data))
            _thin(slot, MOST)
            self._bound(sorted(slots, key=lambda one: (one.busy, one.last_used)))

    def at(self, slot: Slot, length: int) -> bytes | None:
        """The state at this length, which is the slot's own or that of a tip; None where it was not kept."""
        if length == slot.length:
            return self._backend.save_tip(slot.id)
        return next((tip.data for tip in slot.tips if tip.at == length), None)

    def _bound(self, slots: list[Slot]) -> None:
        kept = _bytes(slots)
        for most in _FEWER:
            for slot in slots:
                if kept <= self._budget:
                    return
                if len(slot.tips) > most:
                    _thin(slot, most)
                    kept = _bytes(slots)


def _thin(slot: Slot, most: int) -> None:
    kept = set(thinned([tip.at for tip in slot.tips], most))
    slot.tips = [tip for tip in slot.tips if tip.at in kept]


def _bytes(slots: list[Slot]) -> int:
    # Forks have their tips in common.
    tips = {id(tip): tip for slot in slots for tip in slot.tips}
    return sum(len(tip.data) for tip in tips.values())
