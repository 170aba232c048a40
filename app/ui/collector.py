"""When and where Python looks for garbage in cycles: on the window's thread, and not in the middle of a redraw.

Its own rule would search on whatever thread makes the allocation that is the one too many: on the store's or a pipe's
too, where freeing a widget ends the process.  And it would search everything that lives (eight chats that were read
through are 160,000 objects, 50 ms and more) at whatever moment that is.  So that rule is off while there is a window.
Here young objects are searched four times a second where there are enough of them, and the others while no chat
writes: what survives is then left out (frozen), and looked at again only now and then.
"""

import gc
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer

_YOUNG_MS: Final = 250
_YOUNG: Final = 2_000
"""So many new objects are worth a search among the new ones."""
_MIDDLE: Final = 20
"""One search among the new ones in so many also looks at those that survived the last ones."""
_EVERY_MS: Final = 30_000
_PATIENCE: Final = 20
"""After so many times that somebody was busy, the search is not put off any longer."""
_THOROUGH: Final = 20
"""One search in so many looks at everything."""


def _nobody() -> bool:
    return False


class Collector(QObject):
    """Takes over from Python when it is made, and gives back with `close`; `watch` tells it who is not to be disturbed.

    To be made before the first widget, and closed after the last, on the thread of both.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._busy: Callable[[], object] = _nobody
        self._put_off = self._searches = self._young_searches = 0
        self._automatic = gc.isenabled()
        gc.disable()
        self._timers = [self._timer(_EVERY_MS, self.consider)]
        self._timers.append(self._timer(_YOUNG_MS, self.consider_young))

    def watch(self, busy: Callable[[], object]) -> None:
        """`busy` is whether a pause would be seen now.  What has been made until now stays, and is left out."""
        self._busy = busy
        self._search()

    def consider(self) -> None:
        """Search now, unless somebody is busy and that can wait."""
        if self._busy() and self._put_off < _PATIENCE:
            self._put_off += 1
            return
        self._put_off = 0
        self._search()

    def consider_young(self) -> None:
        """Search among the new objects, where they are many."""
        if gc.get_count()[0] < _YOUNG:
            return
        self._young_searches += 1
        gc.collect(1 if self._young_searches % _MIDDLE == 0 else 0)

    def close(self) -> None:
        for timer in self._timers:
            timer.stop()
        gc.unfreeze()
        gc.collect()
        if self._automatic:
            gc.enable()

    def _timer(self, milliseconds: int, call: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(milliseconds)
        timer.timeout.connect(call)
        timer.start()
        return timer

    def _search(self) -> None:
        self._searches += 1
        if self._searches % _THOROUGH == 0:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
