"""Which downloads run, wait, rest or failed: the policy of the list, in order of arrival.  Pure."""

from dataclasses import dataclass, replace

from app.errors import HubError
from app.hub.remote import RemoteModel
from app.hub.standing import State


@dataclass(frozen=True, slots=True)
class Entry:
    """`busy` while a thread still works on it, also after it was paused; `error` only when FAILED."""

    model: RemoteModel
    state: State = State.WAITING
    busy: bool = False
    error: HubError | None = None


class Queue:
    """At most `at_once` run together; asking for the same twice is asking once."""

    def __init__(self, at_once: int = 2) -> None:
        self.at_once = at_once
        self._entries: dict[str, Entry] = {}
        self._leaving: set[str] = set()
        """Removed, with a thread that is not over yet: the same may be asked for again at once."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """In order of arrival."""
        return tuple(self._entries.values())

    def entry(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def add(self, model: RemoteModel, *, paused: bool = False) -> str:
        """Its key.  One that failed, rests or is done begins again."""
        key = model.key
        before = self._entries.get(key)
        if before is None:
            state = State.PAUSED if paused else State.WAITING
            self._entries[key] = Entry(model, state, busy=key in self._leaving)
        elif not paused:
            self.resume(key)
        return key

    def pause(self, key: str) -> bool:
        """Whether a thread has to be stopped for it."""
        entry = self._entries.get(key)
        if entry is None or entry.state not in {State.WAITING, State.RUNNING}:
            return False
        self._entries[key] = replace(entry, state=State.PAUSED)
        return entry.busy

    def resume(self, key: str) -> None:
        entry = self._entries.get(key)
        if entry is not None and entry.state in {State.PAUSED, State.FAILED, State.DONE}:
            self._entries[key] = replace(entry, state=State.WAITING, error=None)

    def remove(self, key: str) -> Entry | None:
        """Forget it; gives what it was."""
        entry = self._entries.pop(key, None)
        if entry is not None and entry.busy:
            self._leaving.add(key)
        return entry

    def leaves(self, key: str) -> bool:
        """Whether it was removed while a thread worked on it that is not over yet."""
        return key in self._leaving

    def starts(self) -> list[Entry]:
        """Those that begin to run now; a thread is needed for each."""
        room = self.at_once - sum(entry.state is State.RUNNING for entry in self.entries)
        ready = [e for e in self.entries if e.state is State.WAITING and not e.busy]
        chosen = [replace(entry, state=State.RUNNING, busy=True) for entry in ready[: max(0, room)]]
        self._entries.update({entry.model.key: entry for entry in chosen})
        return chosen

    def ended(self, key: str, error: HubError | None = None, *, done: bool = False) -> None:
        """Its thread is over: `done`, with `error`, or because it was stopped."""
        entry = self._entries.get(key)
        came_back = key in self._leaving
        self._leaving.discard(key)
        if entry is None:
            return
        if done and not came_back:
            entry = replace(entry, state=State.DONE)
        elif entry.state is State.RUNNING and not came_back:
            entry = replace(entry, state=State.FAILED if error else State.WAITING, error=error)
        self._entries[key] = replace(entry, busy=False)
