"""Engines that take turns on one device, with a clock that the test moves: what each of them computed, and when."""

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from app.engine.baton import Baton
from app.engine.board import SIZE, Board
from app.wire import Priority

BETWEEN = 0.001
"""Seconds from the end of a step until its engine asks again."""


class OneLock:
    """What each engine's lock is a side of."""

    def __init__(self) -> None:
        self.owner: Side | None = None


@dataclass(eq=False)
class Side:
    """The lock as one engine has it."""

    shared: OneLock

    def take(self) -> bool:
        if self.shared.owner is not None:
            return False
        self.shared.owner = self
        return True

    def give(self) -> None:
        assert self.shared.owner is self
        self.shared.owner = None


@dataclass
class Player:
    """An engine: `level` is the class of its work (None: it has none), `length` that of its steps in seconds."""

    number: int
    baton: Baton
    side: Side
    length: float
    level: Priority | None = None
    steps: list[tuple[float, float]] = field(default_factory=list)
    """From when to when it computed."""
    stopped: bool = False
    asks: int = 0
    life: int = 0

    def computed(self, since: float = 0.0) -> float:
        return sum(end - begin for begin, end in self.steps if begin >= since)


class Stage:
    """Some engines on one device, whose steps take as long as `lengths` says."""

    def __init__(self, *lengths: float) -> None:
        self.now = 0.0
        self.memory = memoryview(bytearray(SIZE))
        self.shared = OneLock()
        self._order = itertools.count()
        self._events: list[tuple[float, int, Player, int, Callable[[], None]]] = []
        self.players = [self._player(number, length) for number, length in enumerate(lengths)]

    def _player(self, number: int, length: float) -> Player:
        side = Side(self.shared)
        baton = Baton(number, Board(self.memory), side, lambda: self.now)
        return Player(number, baton, side, length)

    def play(self, player: Player, level: Priority | None) -> None:
        """It has work of this class from now on, or none."""
        idle = player.level is None
        player.level = level
        if idle and level is not None:
            self._later(0.0, player, lambda: self._ask(player))

    def stop(self, player: Player) -> None:
        """It does nothing any more, whatever it was doing."""
        player.stopped = True
        player.life += 1

    def go_on(self, player: Player) -> None:
        """It does something again."""
        player.stopped = False
        self._later(0.0, player, lambda: self._ask(player))

    def kill(self, player: Player) -> None:
        """Its process is gone, and with it its lock."""
        self.stop(player)
        if self.shared.owner is player.side:
            self.shared.owner = None

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self._events and self._events[0][0] <= until:
            self.now, _, player, life, event = heapq.heappop(self._events)
            if life == player.life and not player.stopped:
                event()
        self.now = until

    def _later(self, seconds: float, player: Player, event: Callable[[], None]) -> None:
        entry = (self.now + seconds, next(self._order), player, player.life, event)
        heapq.heappush(self._events, entry)

    def _ask(self, player: Player) -> None:
        if player.level is None:
            player.baton.rest()
            return
        player.asks += 1
        if player.baton.take(player.level):
            began = self.now
            self._later(player.length, player, lambda: self._end(player, began))
        else:
            self._later(player.baton.pause, player, lambda: self._ask(player))

    def _end(self, player: Player, began: float) -> None:
        player.baton.give()
        player.steps.append((began, self.now))
        self._later(BETWEEN, player, lambda: self._ask(player))
