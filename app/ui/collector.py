"""When Python looks for garbage in cycles: not in the middle of a redraw.

Its own rule would search everything that lives (eight chats that were read through are 160,000 objects, 50 ms and
more) at whatever moment an allocation happens to be the one too many.  Here young objects are searched as ever, and
the others while no chat writes: what survives is then left out (frozen), and looked at again only now and then.
"""

import gc
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer

_YOUNG: Final = (2_000, 20, 10_000)
"""Python's thresholds: the last one is so high that it is only a net under our own rule."""
_EVERY_MS: Final = 30_000
_PATIENCE: Final = 20
"""After so many times that somebody was busy, the search is not put off any longer."""
_THOROUGH: Final = 20
"""One search in so many looks at everything."""


class Collector(QObject):
    """Takes over from Python when it is made, and gives back with `close`; `busy` is whether a pause would be seen."""

    def __init__(self, busy: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._busy = busy
        self._put_off = self._searches = 0
        self._before = gc.get_threshold()
        gc.set_threshold(*_YOUNG)
        self._search()
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self.consider)
        self._timer.start()

    def consider(self) -> None:
        """Search now, unless somebody is busy and that can wait."""
        if self._busy() and self._put_off < _PATIENCE:
            self._put_off += 1
            return
        self._put_off = 0
        self._search()

    def _search(self) -> None:
        self._searches += 1
        if self._searches % _THOROUGH == 0:
            gc.unfreeze()
        gc.collect()
        gc.freeze()

    def close(self) -> None:
        self._timer.stop()
        gc.set_threshold(*self._before)
        gc.unfreeze()
