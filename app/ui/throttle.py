"""Work that many events ask for, done at most once an interval."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Throttle(QObject):
    """Call `action` an interval after the first `request`, once for all requests in between."""

    def __init__(self, interval_ms: int, action: Callable[[], None], parent: QObject) -> None:
        super().__init__(parent)
        self._ended = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(interval_ms)
        self._timer.timeout.connect(action)

    def request(self) -> None:
        """Have the action done soon."""
        if not self._timer.isActive() and not self._ended:
            self._timer.start()

    def drop(self) -> None:
        """Forget what was asked for."""
        self._timer.stop()

    def end(self) -> None:
        """Forget it, and take no more."""
        self._ended = True
        self._timer.stop()
