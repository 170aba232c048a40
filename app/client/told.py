"""The state of the model, and who is told of it."""

import asyncio
from collections.abc import Callable
from functools import partial

from app.chat.model_state import ModelState

Listener = Callable[[ModelState], None]


class ToldState:
    """Holds `now`; every change is told to the listeners, in order.  On the event loop."""

    def __init__(self, state: ModelState) -> None:
        self.now = state
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` soon after every change; the returned function ends it."""
        # Wrapped, so that the same function may listen twice and each leave by itself.
        entry = partial(listener)
        self._listeners.append(entry)

        def leave() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return leave

    def show(self, state: ModelState) -> None:
        """It is this one from now on."""
        if state == self.now:
            return
        self.now = state
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            # Not called from here: a listener that fails must not leave a load half done.
            loop.call_soon(self._tell, listener, state)

    def _tell(self, listener: Listener, state: ModelState) -> None:
        if listener in self._listeners:
            listener(state)
