"""What a soak did, in lines that a person can read; the last of them are shown when it fails."""

import time
from collections import deque
from pathlib import Path

_SHOWN = 120


class Trace:
    """Writes to a file, line by line, so that it is there after a crash too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = time.monotonic()
        self._file = path.open("w", encoding="utf-8", buffering=1)
        self._last: deque[str] = deque(maxlen=_SHOWN)

    def __call__(self, *words: object) -> None:
        line = f"{time.monotonic() - self._began:9.2f} " + " ".join(map(str, words))
        self._last.append(line)
        self._file.write(line + "\n")

    def tail(self) -> str:
        return "\n".join([f"the whole trace: {self.path}", *self._last])

    def close(self) -> None:
        self._file.close()
