"""A growing array of int32, so that a history is appended to and compared without being copied."""

import numpy as np

from app.engine.backend import TokenArray


class TokenBuffer:
    """Append at the end, cut at the end, look at all of it as a numpy view.

    `length` is to be read only; it is looked at several times a step for every sequence.
    """

    __slots__ = ("_data", "length")

    def __init__(self, values: TokenArray | None = None) -> None:
        self._data = np.empty(64, np.int32) if values is None else np.array(values, np.int32)
        self.length = 0 if values is None else len(values)

    def __len__(self) -> int:
        return self.length

    @property
    def view(self) -> TokenArray:
        """All values; valid until the next change."""
        return self._data[: self.length]

    @property
    def last(self) -> int:
        """The value at the end; IndexError where there is none."""
        if not self.length:
            raise IndexError("nothing is in it")
        return int(self._data[self.length - 1])

    def extend(self, values: TokenArray) -> None:
        needed = self.length + len(values)
        if needed > len(self._data):
            self._grow(needed)
        self._data[self.length : needed] = values
        self.length = needed

    def append(self, value: int) -> None:
        needed = self.length + 1
        if needed > len(self._data):
            self._grow(needed)
        self._data[self.length] = value
        self.length = needed

    def truncate(self, length: int) -> None:
        self.length = length

    def _grow(self, needed: int) -> None:
        grown = np.empty(max(needed, 2 * len(self._data)), np.int32)
        grown[: self.length] = self.view
        self._data = grown
