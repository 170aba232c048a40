"""What the check of a file may take, by the bytes of all its parts.

Generous: a good file never comes near them, for the weights are mapped and not copied, and a hostile one is stopped
long before the machine suffers.  Memory is limited on Linux alone, processor time where there are POSIX limits, and
the time by the clock everywhere, by the process that watches.
"""

import sys
from pathlib import Path

from app import priority

_GB = 1_000_000_000
_WRITTEN_BYTES = 64 << 20
"""The longest file that may be written: the logs rotate long before."""


def seconds(size: int) -> float:
    """By the clock.  Long, for at the lowest priority a check may hardly get on while chats are answered."""
    return 600.0 + size / 10_000_000


def processor_seconds(size: int) -> int:
    """Of all threads together."""
    return 60 + 20 * size // _GB


def memory(size: int) -> int:
    """Bytes that it may have besides the mapped file: vocabulary, buffers, and what llama.cpp keeps of the weights."""
    return (2 << 30) + size // 2


def bind(size: int) -> None:
    """Put this process under the limits for a file of `size` bytes."""
    priority.lower(priority.CHECK)
    if sys.platform == "win32":
        return
    import resource

    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, _WRITTEN_BYTES)
    _lower(resource.RLIMIT_CPU, processor_seconds(size), more=5)
    if sys.platform == "linux":
        # Where memory runs short all the same, the system is to end this process and not the window's.
        Path("/proc/self/oom_score_adj").write_text("1000")
        there = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, there + size + memory(size))


def _lower(kind: int, limit: int, more: int = 0) -> None:
    """Never above what holds already; `more` is added to what cannot be raised again."""
    import resource

    _, hard = resource.getrlimit(kind)
    most = limit + more if hard == resource.RLIM_INFINITY else min(limit + more, hard)
    resource.setrlimit(kind, (min(limit, most), most))
