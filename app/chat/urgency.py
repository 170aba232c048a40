"""How urgent a request is, told to whoever serves it whenever that changes."""

from collections.abc import Callable

from app.chat.models import Priority

Watcher = Callable[[Priority], None]


class Urgency:
    """The scheduling class of one request: who asks `set`s it, also in the middle of the answer; who serves it
    looks at `priority` when it begins and `watch`es it from then on.  On the event loop."""

    def __init__(self, priority: Priority = Priority.NORMAL) -> None:
        self._priority = priority
        self._watchers: list[Watcher] = []

    @property
    def priority(self) -> Priority:
        """The class at this moment."""
        return self._priority

    def set(self, priority: Priority) -> None:
        """Change it, at once."""
        if priority is self._priority:
            return
        self._priority = priority
        for watcher in tuple(self._watchers):
            watcher(priority)

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` at every change; the returned function ends it."""
        self._watchers.append(watcher)

        def leave() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return leave
