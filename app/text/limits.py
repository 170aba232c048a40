"""How much a template may take: memory here, time by whoever watches this process."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPLATE_MEMORY = 200_000_000
"""Bytes that compiling or rendering a template may add."""


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


def _address_space() -> int:
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
