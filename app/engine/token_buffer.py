"""A growing array of int32, so that a history is appended to and compared without being copied."""

import numpy as np

from app.engine.backend import TokenArray


class TokenBuffer:
    """Append at the end, cut at the end, look at all of it as a numpy view."""

    def __init__(self, values: TokenArray | None = None) -> None:
        self._data = np.empty(64, np.int32) if values is None else np.array(values, np.int32)
        self._length = 0 if values is None else len(values)

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> TokenArray:
        """All values; valid until the next change."""
        return self._data[: self._length]

    def extend(self, values: TokenArray) -> None:
        needed = self._length + len(values)
        if needed > len(self._data):
            grown = np.empty(max(needed, 2 * len(self._data)), np.int32)
            grown[: self._length] = self.view
            self._data = grown
        self._data[self._length : needed] = values
        self._length = needed

    def append(self, value: int) -> None:
        self.extend(np.array([value], np.int32))

    def truncate(self, length: int) -> None:
        self._length = length
