"""What this machine has, at this moment."""

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

_GROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Machine:
    """`free` bytes of memory could be taken now without pushing anything out; `cores` may be used."""

    free: int
    cores: int


def measure(group: Path = _GROUP) -> Machine:
    """Look.  The limit of a container counts where it is the smaller one."""
    free = psutil.virtual_memory().available
    within = _free_in_group(group)
    return Machine(free if within is None else min(free, within), _cores())


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _free_in_group(group: Path) -> int | None:
    """What the control group of this process leaves; None where it has no limit."""
    try:
        most = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        cached = _inactive_files(group / "memory.stat")
    except (OSError, ValueError):
        return None
    return max(0, int(most) - used + cached) if most.isdigit() else None


def _inactive_files(statistics: Path) -> int:
    """Bytes of files that the group keeps in memory and would give up first."""
    for line in statistics.read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == "inactive_file":
            return int(value)
    return 0
