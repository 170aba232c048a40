"""How much a template may take: memory and processor time.

The process that watches this one measures time, too, and kills it; these limits cost a single request instead.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from app.errors import TextError

TEMPLATE_MEMORY = 200_000_000
"""Bytes that compiling or rendering a template may add."""

TEMPLATE_SECONDS = 1.5
"""Processor time that it may take."""

_AGAIN_SECONDS = 0.1


class TooMuchTime(TextError):
    """The time is up."""


class Allowance:
    """Processor time that several stretches of work may take together: for what must be over soon as a whole."""

    def __init__(self, seconds: float = TEMPLATE_SECONDS) -> None:
        self._left = seconds

    @contextmanager
    def limited(self) -> Iterator[None]:
        """`limited_time` with what is left."""
        if self._left <= 0:
            raise TooMuchTime("It takes too long.")
        began = time.process_time()
        try:
            with limited_time(self._left):
                yield
        finally:
            self._left -= time.process_time() - began


@contextmanager
def limited_memory(extra: int) -> Iterator[None]:
    """While this is entered, the process cannot grow by more than `extra` bytes: MemoryError instead.

    On Linux only; elsewhere the address space cannot be limited.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _address_space() + extra
    for present in (soft, hard):
        if present != resource.RLIM_INFINITY:
            limit = min(limit, present)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """Raise TooMuchTime inside when the process has worked that long.

    In the main thread and where there are POSIX timers only.  It is raised again and again, for code inside may
    swallow it.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    inside = True

    def stop(_number: int, _frame: FrameType | None) -> None:
        if inside:
            raise TooMuchTime("It takes too long.")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN_SECONDS)
    try:
        yield
    finally:
        try:
            inside = False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


def _address_space() -> int:
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
