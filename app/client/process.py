"""One child process at the level of the system: started, written to, read, reaped.

Everything that may block is done on threads of the child's own.  One starts the process.  One writes to it: a pipe
that is full because the child does not read would otherwise freeze the window.  One reads (`app.pump`) and
reaps the process once the pipe has ended.  All callbacks come on the event loop, in the order of the messages, and
`on_death` comes last and exactly once, whatever the end was.  All threads have ended by then.
"""

import asyncio
import contextlib
import logging
import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue

from app import priority
from app.client.clock import Clock
from app.client.death import Death
from app.pump import Pump
from app.wire import LastWords, Message, Shutdown

Entry = Callable[["Connection[Message, Message]", str], None]
"""What the child runs, importable by name: `main(connection, process_name)`."""

OnMessage = Callable[[Message], None]
OnDeath = Callable[[Death], None]

_log = logging.getLogger(__name__)
_SPAWN = multiprocessing.get_context("spawn")
_PROCESSES = threading.Lock()
"""Held to start, signal or reap any child: `multiprocessing` polls all of them whenever it starts one, and two threads
that wait for one process leave one of them without its exit code."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds given to a child to end after Shutdown, after a terminate, and after a kill."""

    shutdown: float = 3.0
    terminate: float = 1.0
    kill: float = 5.0


PATIENCE = Patience()


class ChildProcess:
    """A running child.  The constructor starts it; all methods are called on the event loop and none blocks."""

    def __init__(
        self,
        entry: Entry,
        name: str,
        *,
        on_message: OnMessage,
        on_death: OnDeath,
        clock: Clock,
        patience: Patience,
        yields: int,
    ) -> None:
        """`yields`: how far it gives way to this process (`app.priority`)."""
        self._name = name
        self._on_message = on_message
        self._on_death = on_death
        self._clock = clock
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._gone = asyncio.Event()
        self._inbox: deque[Message | Death] = deque()
        self._outbox: SimpleQueue[Message | None] = SimpleQueue()
        self._death = Death(name)
        self._doomed = False
        self._alive = threading.Event()
        self._tried = threading.Event()
        self._yields = yields
        ours, self._theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=_run, args=(entry, self._theirs, name), name=name, daemon=True
        )
        self._pump = Pump(ours, self._heard, self._ended, name=f"{name}-in")
        self._starter = threading.Thread(target=self._start, name=f"{name}-start", daemon=True)
        self._writer = threading.Thread(target=self._write, name=f"{name}-out", daemon=True)
        self._starter.start()
        self._writer.start()

    @property
    def pid(self) -> int | None:
        """The process's id while it runs."""
        with _PROCESSES:
            return self._process.pid if self._alive.is_set() else None

    def send(self, message: Message) -> None:
        """Send it when its turn comes; lost where the child is gone, which `on_death` tells."""
        self._outbox.put(message)

    def kill(self, why: str) -> None:
        """End it at once.  `why` completes "it was ended because it ..."."""
        if self._doomed or self._gone.is_set():
            return
        self._doomed = True
        self._death = replace(self._death, why=why)
        self._signal(hard=True)
        # A process inside a driver's call may survive even this; its requests must end all the same.
        self._clock.call_later(self._patience.kill, self._give_up)

    async def stop(self) -> None:
        """End it in order: Shutdown, then terminate, then kill; returns when it is gone."""
        if not self._doomed:
            self._death = replace(self._death, asked=True)
        self.send(Shutdown())
        if await self._gone_within(self._patience.shutdown):
            return
        self._signal(hard=False)
        if await self._gone_within(self._patience.terminate):
            return
        self._doomed = True
        self._signal(hard=True)
        if not await self._gone_within(self._patience.kill):
            self._give_up()

    # --- on the event loop -----------------------------------------------------------------------------------

    async def _gone_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._gone.wait()
        except TimeoutError:
            return False
        return True

    def _give_up(self) -> None:
        if not self._gone.is_set():
            _log.warning("%s does not end; it is left behind", self._name)
            self._tell(self._death)

    def _drain(self) -> None:
        # A queue of our own, because Qt promises no order to timers of equal time, which is what qasync makes of calls.
        while self._inbox:
            item = self._inbox.popleft()
            if isinstance(item, Death):
                self._finish(item)
            elif self._gone.is_set():
                continue
            elif isinstance(item, LastWords):
                _log.warning("last words of %s: %s\n%s", self._name, item.reason, item.detail)
                self._death = replace(self._death, last_words=item.reason)
            else:
                self._on_message(item)

    def _finish(self, death: Death) -> None:
        self._starter.join()
        self._writer.join()
        self._pump.join(self._patience.kill)
        self._pump.close()
        if death.started:
            death = replace(self._death, exitcode=death.exitcode)
        if not self._gone.is_set():
            self._tell(death)

    def _tell(self, death: Death) -> None:
        self._gone.set()
        if not death.asked:
            _log.warning("%s", death)
        self._on_death(death)

    # --- on the child's own threads, or on any ----------------------------------------------------------------

    def _start(self) -> None:
        """On a thread of its own, for that stays as low as the child."""
        why = "see the log"
        try:
            priority.lower_starter(self._yields)
            with _PROCESSES:
                self._process.start()
                self._alive.set()
        except OSError as error:
            why = error.strerror or str(error)
        finally:
            self._theirs.close()
            if not self._alive.is_set():
                self._post(Death(self._name, started=False, why=why))
            self._tried.set()

    def _write(self) -> None:
        self._tried.wait()
        if not self._alive.is_set():
            return
        if self._doomed:
            self._signal(hard=True)
        self._pump.start()
        while (message := self._outbox.get()) is not None:
            if not self._pump.send(message):
                return

    def _heard(self, message: Message) -> None:
        self._post(message)

    def _ended(self) -> None:
        exitcode = self._reap()
        self._outbox.put(None)
        self._writer.join()
        self._post(Death(self._name, exitcode=exitcode))

    def _post(self, item: Message | Death) -> None:
        self._inbox.append(item)
        # A loop that was closed before the child was stopped has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._drain)

    def _reap(self) -> int | None:
        """Wait for the process, whose end of the pipe is closed, and help it where it lingers."""
        sentinel = self._process.sentinel
        for seconds, hard in ((self._patience.shutdown, False), (self._patience.terminate, True)):
            if wait([sentinel], seconds):
                return self._collect()
            self._signal(hard=hard)
        return self._collect() if wait([sentinel], self._patience.kill) else None

    def _collect(self) -> int | None:
        with _PROCESSES:
            self._alive.clear()
            self._process.join()
            exitcode = self._process.exitcode
            self._process.close()
        return exitcode

    def _signal(self, *, hard: bool) -> None:
        # Before it runs there is nothing to wait for: the writer looks at `_doomed` once it does.
        if not self._alive.is_set():
            return
        with _PROCESSES:
            if not self._alive.is_set():
                return
            if hard:
                self._process.kill()
            else:
                self._process.terminate()


def _run(entry: Entry, connection: "Connection[Message, Message]", name: str) -> None:
    """First code of the child: Ctrl+C in a terminal reaches the whole group, but the app alone ends its children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    entry(connection, name)
