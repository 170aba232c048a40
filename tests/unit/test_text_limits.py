"""Memory and processor time are limited for as long as it is said, and no longer."""

import signal
import sys
from collections.abc import Callable

import pytest

from app.text.limits import TooMuchTime, limited_memory, limited_time


def work_for_ever() -> None:
    while True:
        sum(number % 7 for number in range(1000))


def swallow_once() -> int:
    """Work for ever, twice; the first end is swallowed."""
    try:
        work_for_ever()
    except TooMuchTime:
        work_for_ever()
    return 0


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_memory() -> None:
    with limited_memory(50_000_000):
        assert len(bytearray(1_000_000)) == 1_000_000
        with pytest.raises(MemoryError):
            bytearray(2_000_000_000)  # more than any part of a test run may give free meanwhile
    assert len(bytearray(200_000_000)) == 200_000_000


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX timers")
@pytest.mark.parametrize("work", [work_for_ever, swallow_once])
def test_time_even_for_code_that_swallows_its_end(work: Callable[[], object]) -> None:
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(TooMuchTime), limited_time(0.02):
        work()
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
