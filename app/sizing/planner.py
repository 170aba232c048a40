"""Plans for model files on this machine: the reading and measuring around the pure part.

The machine is measured when a model is loaded.  Until another load, that measurement is what plans for this model are
shown with: afterwards the model itself holds a part of what was free, and would seem to leave less room for itself.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from app.errors import MemoryPart, ModelError
from app.settings import Profile
from app.sizing.footprint import Footprint, read_footprint
from app.sizing.machine import Machine, measure
from app.sizing.profiles import NO_OWN, Own, Plan, plan, roomy
from app.sizing.remedies import Attempt

_NOTHING = Footprint(weights=0, layers=())
_NOWHERE = Machine(free=0, cores=1)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the profiles would make of `model` on `machine`; of an unknown model what they give at least."""

    model: Footprint = _NOTHING
    machine: Machine = _NOWHERE

    @property
    def known(self) -> bool:
        return bool(self.model.layers)

    def plan(self, profile: Profile, own: Own = NO_OWN) -> Plan:
        return plan(profile, self.model, self.machine, own)


NO_OUTLOOK = Outlook()


class Planner:
    """Reads files: to be called from a thread where a wait would be seen.  It may be called from several."""

    def __init__(self, measure: Callable[[], Machine] = measure) -> None:
        self._measure = measure
        self._lock = threading.Lock()
        self._known: tuple[str, int, Footprint] | None = None
        self._loaded: tuple[str, Machine] | None = None
        self._claimed: dict[str, int] = {}

    def load(
        self, path: str, profile: Profile, own: Own = NO_OWN, beside: Iterable[str] = ()
    ) -> Plan:
        """For a load that begins now; `beside` are the files that were loaded before and are there still."""
        with self._lock:
            machine = self._left(beside)
            self._loaded = (path, machine)
            model = self._footprint(path)
            found = plan(profile, model, machine, own)
            # What it may take, and the system still counts as free: a mapped file is given up for anybody.
            mapped = model.weights if found.mmap else 0
            self._claimed[path] = mapped + (found.spill_megabytes << 20)
            return found

    def fits(
        self, path: str, profile: Profile, own: Own = NO_OWN, beside: Iterable[str] = ()
    ) -> bool:
        """Whether there is room for this file beside those."""
        with self._lock:
            return roomy(profile, self._footprint(path), self._left(beside), own)

    def outlook(self, path: str) -> Outlook:
        """To choose by, for this file ("": of no file)."""
        with self._lock:
            loaded = self._loaded
            machine = loaded[1] if loaded and loaded[0] == path else self._measure()
            return Outlook(self._footprint(path), machine)

    def attempt(self, path: str, part: MemoryPart, profile: Profile, own: Own = NO_OWN) -> Attempt:
        """The load that has failed for want of memory, to find out what helps."""
        seen = self.outlook(path)
        return Attempt(path, seen.model, seen.machine, part, profile, own)

    def _left(self, beside: Iterable[str]) -> Machine:
        """The machine as these models leave it."""
        machine = self._measure()
        claimed = sum(self._claimed.get(path, 0) for path in beside)
        return replace(machine, free=max(0, machine.free - claimed))

    def _footprint(self, path: str) -> Footprint:
        """Of a file that cannot be read nothing is known; loading it will say why."""
        try:
            changed = Path(path).stat().st_mtime_ns if path else 0
            if self._known is None or self._known[:2] != (path, changed):
                found = read_footprint(Path(path)) if path else _NOTHING
                self._known = (path, changed, found)
        except (ModelError, OSError):
            return _NOTHING
        return self._known[2]
