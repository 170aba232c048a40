"""The memory that the engines of one device share: what each of them wants, and who computes.

A file of numbers, each of 8 bytes that are written and read at once.  An engine writes its own record only, and who
computes and how far that is only while it holds the device, so that there is nothing else to lock.  How many records are in
use is set anew with each question, should two have written it at once.  Zeros mean that nobody is there.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

MOST = 16
"""Engines on one device."""

NOBODY = -1
_NOW, _HOLDER, _USED = range(3)
_WISH, _PASSED, _BEAT, _BEGAN, _LAST = range(5)
_RECORD, _FIRST = 8, 8
SIZE = 8 * (_FIRST + MOST * _RECORD)
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What another engine wants.  `beat` grows whenever that engine asks for the device."""

    number: int
    passed: float
    beat: float


class Board:
    """A view of `memory`, of `SIZE` bytes."""

    def __init__(self, memory: memoryview) -> None:
        self._numbers = memory.cast("d")

    def clear(self) -> None:
        """Nobody is there, and nothing was computed."""
        for place in range(len(self._numbers)):
            self._numbers[place] = 0.0

    # --- an engine's own record ------------------------------------------------------------------------------

    def claim(self, number: int, passed: float) -> None:
        """This engine wants the device, and asks for it now."""
        at = _at(number)
        self._numbers[at + _PASSED] = passed
        self._numbers[at + _BEAT] += 1.0
        if self._numbers[_USED] <= number:
            self._numbers[_USED] = number + 1.0
        self._numbers[at + _WISH] = 1.0

    def retire(self, number: int) -> None:
        """This engine wants nothing, or there is none of this number."""
        self._numbers[_at(number) + _WISH] = 0.0

    def began(self, number: int, at: float) -> None:
        """It computes since `at` (seconds of the machine's clock)."""
        self._numbers[_at(number) + _BEGAN] = at

    def ended(self, number: int, seconds: float, passed: float) -> None:
        """Its step took so long."""
        at = _at(number)
        self._numbers[at + _LAST] = seconds
        self._numbers[at + _PASSED] = passed

    # --- what all of them read -------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The pass of the engine that computed last."""
        now = self._numbers[_NOW]
        return now if math.isfinite(now) else 0.0

    @now.setter
    def now(self, passed: float) -> None:
        self._numbers[_NOW] = passed

    @property
    def holder(self) -> int:
        """Who computes, or has died while it did; NOBODY between two steps."""
        number = self._numbers[_HOLDER] - 1
        return int(number) if number in range(MOST) else NOBODY

    @holder.setter
    def holder(self, number: int) -> None:
        self._numbers[_HOLDER] = number + 1.0

    def wishes(self) -> Iterator[Wish]:
        """Of the engines that want the device."""
        numbers = self._numbers
        for number in range(int(min(numbers[_USED], MOST))):
            at = _at(number)
            if numbers[at + _WISH]:
                yield Wish(number, numbers[at + _PASSED], numbers[at + _BEAT])

    def beat(self, number: int) -> float:
        return self._numbers[_at(number) + _BEAT]

    def since(self, number: int) -> float:
        """When its present, or last, step began."""
        return self._numbers[_at(number) + _BEGAN]

    def last(self, number: int) -> float:
        """Seconds of its last step."""
        return self._numbers[_at(number) + _LAST]

    def close(self) -> None:
        """Let go of the memory."""
        self._numbers.release()


def _at(number: int) -> int:
    return _FIRST + number * _RECORD
