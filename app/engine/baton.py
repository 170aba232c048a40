"""Engines on one device take turns, one step each: a step is made only by the one that holds the baton.

Two busy engines on one set of cores are many times slower than one after the other.  The baton is a lock on a file, which
the system takes from a process that dies, beside a board on which each engine says what it wants (`app.engine.board`);
whose step is next follows from that (`app.engine.shares`).  An engine asks, and when it is not its turn asks again a little
later, so that it hears its commands meanwhile.  Alone, it pays some microseconds a step.

No engine can hold up the others for long.  One that does not come when it is its turn is passed over until it asks again.
One that does not end its step is waited for in vain only once: then the others go on without the baton, which is
slower, and not wrong, until the app has ended it.
"""

import logging
import mmap
import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Protocol

from app.engine import shares
from app.engine.board import MOST, NOBODY, SIZE, Board
from app.engine.shares import Claim
from app.filelock import lock, unlock
from app.wire import Priority

_LOG = logging.getLogger(__name__)

LATE_SECONDS = 0.05
"""So long an engine may take to come when it is its turn."""

HUNG_SECONDS, HUNG_STEPS = 5.0, 10.0
"""A step that takes longer than this, and longer than so many of that engine's last ones, is not waited for."""

_SHORTEST, _LONGEST = 0.0002, 0.005
"""Seconds between two questions: a small part of the step that is waited for, and never long enough for a command to be
heard late."""


class Lock(Protocol):
    """What only one of the engines has."""

    def take(self) -> bool:
        """Take it; False where another has it.  Never waits."""
        ...

    def give(self) -> None:
        """Give it back."""
        ...


class Baton:
    """Of the engine `number` on `board`.  One thread makes every call; `clock` is the same for all engines, in seconds.

    `leave` is called at the end.
    """

    def __init__(
        self,
        number: int,
        board: Board,
        the_lock: Lock,
        clock: Callable[[], float],
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        self._number = number
        self._board = board
        self._lock = the_lock
        self._clock = clock
        self._leave = leave
        self._passed = 0.0
        self._level: int = Priority.NORMAL
        self._asked_at: float | None = None
        self._began: float | None = None
        self._holds = False
        self._passed_over: dict[int, float] = {}
        """Engines that did not come when it was their turn, with the beat that they had then."""
        self._next, self._holder = _Watch(), _Watch()
        self._next_is_own = True

    @property
    def wanted(self) -> bool:
        """Whether another engine waits for the device too."""
        return any(claim.number != self._number for claim in self._claims())

    @property
    def pause(self) -> float:
        """Seconds after which it is worth asking again: most of what is left of the step that is waited for."""
        holder = self._board.holder
        if holder in (NOBODY, self._number):
            return _SHORTEST
        length = self._board.last(holder)
        left = length - (self._clock() - self._board.since(holder))
        # One that is not the next has to wait for another step after this one.
        wanted = max(left * (0.75 if self._next_is_own else 1.0), -left / 10, length / 100)
        return min(max(wanted, _SHORTEST), _LONGEST)

    def take(self, level: int) -> bool:
        """Whether a step may be made now, for work of this class; `give` is to be called after it."""
        now = self._clock()
        self._claim(level, now)
        holder = self._board.holder
        hangs = self._hangs(holder, now)
        if not hangs and not self._is_next(holder, now):
            return False
        if self._lock.take():
            return self._taken(now)
        if hangs:
            self._begin(now)
        return hangs

    def give(self) -> None:
        """The step is over."""
        if self._began is None:
            return
        self._asked_at = self._clock()
        seconds, self._began = self._asked_at - self._began, None
        self._passed = shares.charged(self._passed, self._level, seconds)
        self._board.ended(self._number, seconds, self._passed)
        if self._holds:
            self._holds = False
            self._board.holder = NOBODY
            self._lock.give()

    def rest(self) -> None:
        """There is nothing to evaluate: the others need not wait for this one."""
        if self._asked_at is not None:
            self._asked_at = None
            self._board.retire(self._number)

    def close(self) -> None:
        """Leave the others for good."""
        self.give()
        self.rest()
        self._board.close()
        self._leave()

    def _claim(self, level: int, now: float) -> None:
        before, self._level = self._level, level
        # Who did not ask although it was its turn was as good as idle.
        idle = self._asked_at is None or now - self._asked_at > LATE_SECONDS
        self._asked_at = now
        moved = shares.joined if idle else shares.reweighted
        if idle or level != before:
            self._passed = moved(self._passed, self._board.now, before, level)
        self._board.claim(self._number, self._passed)

    def _claims(self) -> list[Claim]:
        """Of all engines that want the device and come when it is their turn."""
        return [
            Claim(wish.number, wish.passed)
            for wish in self._board.wishes()
            if self._passed_over.get(wish.number) != wish.beat
        ]

    def _is_next(self, holder: int, now: float) -> bool:
        """Whether this one's step is the next after that of the `holder`."""
        found = shares.first(claim for claim in self._claims() if claim.number != holder)
        self._next_is_own = found is None or found.number == self._number
        if found is None or self._next_is_own:
            return True
        beat = self._board.beat(found.number)
        if self._next.silence(found.number, beat, now) > LATE_SECONDS:
            self._passed_over[found.number] = beat
        return False

    def _hangs(self, holder: int, now: float) -> bool:
        """Whether the step of the one that has the baton does not end."""
        if holder == NOBODY:
            beat, last = 0.0, 0.0
        else:
            beat, last = self._board.beat(holder), self._board.last(holder)
        return self._holder.silence(holder, beat, now) > max(HUNG_SECONDS, HUNG_STEPS * last)

    def _taken(self, now: float) -> bool:
        """The lock is there: begin, unless another goes first."""
        died = self._board.holder
        if died != NOBODY:
            # Only a process that ended in its step leaves its number behind with the lock free.
            self._board.holder = NOBODY
            self._board.retire(died)
        if not self._is_next(NOBODY, now):
            self._lock.give()
            return False
        self._holder.forget()
        self._holds = True
        self._begin(now)
        self._board.now = max(self._board.now, self._passed)
        self._board.holder = self._number
        return True

    def _begin(self, now: float) -> None:
        self._began = now
        self._board.began(self._number, now)


class _Watch:
    """For how long the engine that is waited for has given no sign."""

    def __init__(self) -> None:
        self._who: tuple[int, float] | None = None
        self._since = 0.0

    def silence(self, number: int, beat: float, now: float) -> float:
        """Seconds since this engine and this beat were first seen; another one begins anew."""
        if self._who != (number, beat):
            self._who, self._since = (number, beat), now
        return now - self._since

    def forget(self) -> None:
        """Nobody is waited for."""
        self._who = None


class FileLock:
    """A lock on this file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def take(self) -> bool:
        return lock(self._file)

    def give(self) -> None:
        unlock(self._file)


def join(folder: Path, device: str, clock: Callable[[], float]) -> Baton | None:
    """Take part among the engines that use this folder and compute on this device.

    None where the folder or the file system does not allow it, or there are too many: then this engine takes no turns.
    """
    place = folder / f"1-{re.sub(r'[^A-Za-z0-9]', '_', device)}"
    with ExitStack() as files:
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            number, own = _own_number(place)
            files.enter_context(own)
            file = files.enter_context(_opened(place / "board"))
            if file.seek(0, os.SEEK_END) < SIZE:
                file.truncate(SIZE)
            board = Board(memoryview(mmap.mmap(file.fileno(), SIZE)))
            turn = files.enter_context(_opened(place / "turn.lock"))
            if _is_alone(place, number):
                board.clear()
        except OSError as error:
            _LOG.warning("this engine takes no turns on %s: %s", device, error)
            return None
        board.retire(number)
        return Baton(number, board, FileLock(turn), clock, files.pop_all().close)


def _own_number(place: Path) -> tuple[int, BinaryIO]:
    """A number that no living engine has, and the file whose lock says so; raises OSError where there is none left."""
    for number in range(MOST):
        file = _opened(place / f"{number}.lock")
        if lock(file):
            return number, file
        file.close()
    raise OSError(f"{MOST} engines compute on it already")


def _is_alone(place: Path, own: int) -> bool:
    """Whether no other engine lives: what stands on the board is then old."""
    for number in range(MOST):
        path = place / f"{number}.lock"
        if number == own or not path.exists():
            continue
        with _opened(path) as file:
            if not lock(file):
                return False
    return True


def _opened(path: Path) -> BinaryIO:
    """For this user alone, made where it is not there; no other process inherits it."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
