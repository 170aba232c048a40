"""The check's process: it opens one file, says what it found, and ends.

A process for each file: after a hostile one nothing of it may be relied on, so that none is used twice.  Its start costs
about half a second.  While the loop is inside llama.cpp the pump's thread listens, and ends the process at once when
nobody waits any more or the app is gone.
"""

import logging
import os
import queue
from multiprocessing.connection import Connection
from pathlib import Path

from app import __version__, log
from app.pump import Pump
from app.verdict import CHECKING, SOUND, Finding, Verdict
from app.wire import PROTOCOL, Examined, LastWords, Load, Message, Progress, Ready, Shutdown

_LOG = logging.getLogger(__name__)

_REMEDY = "Choose another model."
"""Where the reason names none."""


def main(connection: "Connection[Message, Message]", process_name: str) -> None:
    """Entry of the child; never returns while the other side may still want something."""
    # Threads that wait shall sleep: whatever the processor has belongs to others.
    os.environ["GOMP_SPINCOUNT"] = "0"
    # The check computes on the processor: what graphics memory there is belongs to the engines.
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["HIP_VISIBLE_DEVICES"] = "-1"
    log.start(process_name)
    log.capture_native(process_name)
    _Process(connection, process_name).run()


class _Process:
    def __init__(self, connection: "Connection[Message, Message]", name: str) -> None:
        self._inbox: queue.SimpleQueue[Load] = queue.SimpleQueue()
        self._pump = Pump(connection, self._take, lambda: os._exit(0), name=f"{name}-pump")

    def _take(self, message: Message) -> None:
        """On the pump's thread, which is the only one that is free while a file is read."""
        if isinstance(message, Shutdown):
            os._exit(0)
        if isinstance(message, Load):
            self._inbox.put(message)

    def run(self) -> None:
        self._pump.start()
        try:
            self._pump.send(Ready(PROTOCOL, os.getpid(), __version__))
            self._pump.send(Examined(self._judged(Path(self._inbox.get().params.path))))
        except Exception as error:
            _LOG.exception("the check failed")
            self._pump.send(LastWords("The check failed.", f"{type(error).__name__}: {error}"))
            raise
        self._inbox.get()  # until the other side has heard it; the pump's thread ends the process

    def _judged(self, path: Path) -> Verdict:
        from app import modelfile
        from app.errors import ModelError
        from app.trial import limits
        from app.trial.examination import MemoryWanting, examine

        try:
            modelfile.check(path)
            limits.bind(sum(part.stat().st_size for part in modelfile.parts(path)))
            examine(path, self._tell)
        except ModelError as error:
            return Verdict(Finding.REFUSED, error.what, error.remedy or _REMEDY)
        except OSError as error:
            words = f"“{path.name}” cannot be read: {error.strerror}."
            return Verdict(
                Finding.REFUSED, words, "Look whether the disk is well, or choose another model."
            )
        except (MemoryError, MemoryWanting):
            return Verdict(
                Finding.LARGE,
                f"“{path.name}” wants far more memory than a model of its size should, or there is too little here.",
                "Close other programs, or choose another model.",
            )
        return SOUND

    def _tell(self, fraction: float) -> None:
        self._pump.send(Progress(fraction, CHECKING))
