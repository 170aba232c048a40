"""One reader thread for one end of a pipe.

Both ends run it: a child that is busy in a decode would otherwise leave the pipe full, and a `send` from the
window would block until the step is over.  `on_message` and `on_eof` are called on the pump's thread and must
not block.  `on_eof` is called exactly once, after the last message, when the other side closed or died.
"""

import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

from app.wire import Message


class Pump:
    """Read messages until the other side is gone."""

    def __init__(
        self,
        connection: "Connection[Message, Message]",
        on_message: Callable[[Message], None],
        on_eof: Callable[[], None],
        *,
        name: str,
    ) -> None:
        self._connection = connection
        self._on_message = on_message
        self._on_eof = on_eof
        self._send_lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def send(self, message: Message) -> bool:
        """Send; False when the other side is gone (its end is then reported by `on_eof`)."""
        try:
            with self._send_lock:
                self._connection.send(message)
        except OSError:
            return False
        return True

    def join(self, timeout: float) -> bool:
        """Wait for the reader to end; True when it has."""
        if self._thread is not threading.current_thread() and self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Close this end, once the reader has ended."""
        self._connection.close()

    def _run(self) -> None:
        try:
            while True:
                self._on_message(self._connection.recv())
        except (EOFError, OSError):
            pass
        finally:
            self._on_eof()
