"""The models on this machine as a person sees them: what lies where, under its name, when it was used, and what of it
could go.

Every call reads or writes the disk: not for the window's thread.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import ModelError
from app.hub import duplicates
from app.hub.library import Library, LocalModel
from app.hub.places import Layout
from app.remembered import Memory, Remembered

_DAY = 86_400.0


class Stopped(Exception):
    """Nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class Shelved:
    """A model, and what is remembered of it.  `since` is when its file was last changed, in seconds since the epoch."""

    model: LocalModel
    memory: Memory
    since: float = 0.0

    @property
    def name(self) -> str:
        """What it is called here."""
        return self.memory.name or self.model.name

    @property
    def path(self) -> str:
        """The file to load."""
        return str(self.model.path)

    def unused(self, now: float, days: int) -> bool:
        """Whether nobody has loaded it for so long, and it is the user's own to judge by that.

        What belongs to another program may be in use there, and only that program knows.
        """
        if not (self.model.removable or self.model.named):
            return False
        return max(self.memory.used, self.since) < now - days * _DAY


class Shelf:
    """May be used by several threads."""

    def __init__(self, library: Library, remembered: Remembered) -> None:
        self.library, self.remembered = library, remembered
        self._hashes: dict[tuple[str, int, int], str] = {}

    def look_in(self, folders: Iterable[str]) -> None:
        """Look for models in these folders of the user's too."""
        self.library.look_in(Path(folder) for folder in folders)

    def models(self) -> list[Shelved]:
        """All, by name."""
        found = [self._shelved(model) for model in self.library.scan()]
        return sorted(found, key=lambda one: (one.name.casefold(), one.path))

    def _shelved(self, model: LocalModel) -> Shelved:
        try:
            since = max(path.stat().st_mtime for path in model.files)
        except OSError:
            since = 0.0
        if model.place.layout is Layout.OLLAMA:
            # The file is called by its hash: whoever knows only its path shall find the name.
            self.remembered.label(model.path, model.name)
        return Shelved(model, self.remembered.of(model.path), since)

    def rename(self, one: Shelved, name: str) -> None:
        """Call it so in Tutti; its file keeps its name, for others may look for it.  Raises StoreError."""
        self.remembered.rename(one.model.path, "" if name == one.model.name else name)

    def remove(self, one: Shelved, *, agreed: bool = False, forced: bool = False) -> int:
        """Delete its files, and what is remembered of it; gives the bytes that are free now.

        What lies in a folder of the user's goes only when they have `agreed` to just that, and what another process has
        open (InUse) only when it is `forced`.  Raises ModelError, HubError and StoreError.
        """
        freed = self.library.remove(one.model, agreed=agreed, forced=forced)
        self.remembered.forget(one.model.path)
        return freed

    def alike(
        self, models: Sequence[Shelved], tell: Callable[[int], None] = lambda _count: None
    ) -> list[tuple[Shelved, ...]]:
        """Those with the same content, together; `tell` gets the bytes read, and may raise to stop."""
        by_path = {one.model.path: one for one in models}
        found = duplicates.duplicates([one.model for one in models], tell, self._hashes)
        return [tuple(by_path[model.path] for model in same) for same in found]

    def to_read(self, models: Sequence[Shelved]) -> int:
        """How many bytes `alike` has to read."""
        return duplicates.to_read([one.model for one in models])


def check_not_loaded(one: Shelved, loaded: Iterable[str]) -> None:
    """Raise ModelError where this is the model in one of these files."""
    if one.model.path.resolve() in (Path(path).resolve() for path in loaded):
        raise ModelError(f"“{one.name}” is loaded.", "Unload it first.")
