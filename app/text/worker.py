"""The text worker: a child process that turns conversations into tokens.

Templates come from strangers and llama.cpp ends its process on some inputs, so both live here.  The pump's
thread only fills a queue; one loop answers every request with exactly one message, in order.  The parent
watches the time and kills this process when a request takes too long; when the parent is gone, it ends itself.
"""

import logging
import os
import queue
import signal
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from app import __version__, log, priority
from app.errors import ModelError
from app.grammar.model import Constrain
from app.pump import Pump
from app.wire import (
    PROTOCOL,
    Heartbeat,
    Inspect,
    LastWords,
    Load,
    LoadFailed,
    Message,
    Progress,
    Ready,
    Render,
    Shutdown,
    Tokenize,
)

if TYPE_CHECKING:
    from app.text.session import TextSession

_log = logging.getLogger(__name__)

_IDLE_SECONDS = 1.0
_ORPHAN_SECONDS = 2.0


def main(connection: "Connection[Message, Message]", process_name: str) -> None:
    """Entry of the child; returns when the parent says so or is gone."""
    log.start(process_name)
    log.capture_native(process_name)
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent
    priority.lower(priority.TEXT_WORKER)
    worker = _Worker(connection, process_name)
    worker.run()


class _Worker:
    def __init__(self, connection: "Connection[Message, Message]", name: str) -> None:
        self._inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._over = threading.Event()
        self._session: TextSession | None = None
        self._pump = Pump(connection, self._inbox.put, self._parent_gone, name=f"{name}-pump")

    def run(self) -> None:
        self._pump.start()
        try:
            self._pump.send(Ready(PROTOCOL, os.getpid(), __version__))
            while self._turn():
                pass
        except Exception as error:
            _log.exception("the text worker failed")
            self._pump.send(
                LastWords("The text worker failed.", f"{type(error).__name__}: {error}")
            )
            raise
        finally:
            self._over.set()
            if self._session is not None:
                self._session.close()

    def _parent_gone(self) -> None:
        """On the pump's thread: end the loop, and the process where the loop is stuck in a template."""
        self._inbox.put(None)
        if not self._over.wait(_ORPHAN_SECONDS):
            os._exit(0)

    def _turn(self) -> bool:
        """Answer one message; False when it was the last."""
        try:
            message = self._inbox.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            return self._pump.send(Heartbeat())
        match message:
            case None | Shutdown():
                return False
            case Load():
                return self._load(message)
            case Render() | Tokenize() | Constrain() | Inspect():
                self._answer(message)
            case _:
                raise ValueError(f"unexpected message {type(message).__name__}")
        return True

    def _load(self, message: Load) -> bool:
        from app.text.session import TextSession

        self._pump.send(Progress(0.0, "Reading the vocabulary"))
        try:
            self._session = TextSession(Path(message.params.path), message.params.template)
        except ModelError as error:
            self._pump.send(LoadFailed(str(error)))
            return False
        return self._pump.send(self._session.loaded())

    def _answer(self, message: Render | Tokenize | Constrain | Inspect) -> None:
        if self._session is None:
            raise ValueError("a request came before a model")
        match message:
            case Render():
                self._pump.send(self._session.render(message))
            case Tokenize():
                self._pump.send(self._session.count(message))
            case Constrain():
                self._pump.send(self._session.constrain(message))
            case Inspect():
                self._pump.send(self._session.inspect(message))
