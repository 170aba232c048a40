"""Which model the requests have, where they want different ones and one is loaded at a time.

Requests for the present model run together.  One for another model waits until they are over, and those that come after
it wait behind it, so that no model keeps the others out.  Pure, but for the event that wakes a request.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator


class Place:
    """Of one request.  `model` "" is whichever there is."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._come = asyncio.Event()

    @property
    def in_turn(self) -> bool:
        return self._come.is_set()

    def begin(self) -> None:
        """It may run from now on."""
        self._come.set()

    async def come(self) -> None:
        """Returns when it may run."""
        await self._come.wait()


class Rotation:
    """The requests in order of arrival; `present` is the model that there is.  On the event loop."""

    def __init__(self, present: Callable[[], str]) -> None:
        self._present = present
        self._waiting: deque[Place] = deque()
        self._running: list[Place] = []
        self._model = ""
        self._changing: Place | None = None
        """The request that will have its model loaded, until that has begun: nobody may begin with the old one."""

    @property
    def models(self) -> frozenset[str]:
        """What the requests want that run or wait; empty where there is none."""
        return frozenset(place.model for place in (*self._running, *self._waiting))

    @contextlib.contextmanager
    def join(self, model: str) -> Iterator[Place]:
        """A request for this model, for as long as the block runs; it is to wait for its turn."""
        place = Place(model)
        self._waiting.append(place)
        self._look()
        try:
            yield place
        finally:
            line = self._running if place in self._running else self._waiting
            line.remove(place)
            if place is self._changing:
                self._changing = None
            self._look()

    def is_now(self, model: str) -> None:
        """This one is being loaded, for whatever reason."""
        self._model, self._changing = model, None
        self._look()

    def _look(self) -> None:
        while self._waiting and self._changing is None:
            first = self._waiting[0]
            if not self._running:
                self._model = first.model or self._present()
                self._changing = first if self._model != self._present() else None
            if self._running and first.model not in ("", self._model):
                return
            self._waiting.popleft()
            self._running.append(first)
            first.begin()
