"""The settings in force: changed in one place, saved in the background, told to whoever listens."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import settings
from app.errors import StoreError
from app.settings import Settings
from app.ui import aio


class Preferences(QObject):
    """Holds `current`; `changed` carries the settings before and after."""

    changed = Signal(object, object)

    def __init__(self, current: Settings, path: Path) -> None:
        super().__init__()
        self.current = current
        self._path = path
        self._saved = current
        self._lock = asyncio.Lock()

    def update(self, **changes: Any) -> None:
        """Change these fields."""
        self.replace(dataclasses.replace(self.current, **changes))

    def replace(self, new: Settings) -> None:
        """Use `new` from now on, and save it."""
        old, self.current = self.current, new
        if old != new:
            self.changed.emit(old, new)
            aio.spawn(self.save())

    async def save(self) -> None:
        """Write what is not written yet; returns once it is on disk."""
        async with self._lock:
            wanted = self.current
            if wanted == self._saved:
                return
            try:
                await asyncio.to_thread(settings.save, wanted, self._path)
            except OSError as error:
                raise StoreError(
                    f"The settings could not be saved: {error.strerror}.",
                    "Check that the disk has room and that the folder can be written.",
                ) from error
            self._saved = wanted
