"""The engine's process: pipe to inbox, loop, last words.

One thread makes every llama.cpp call; the pump's thread only fills the inbox.  The end of the pipe means that
the app is gone: the process ends, in the middle of a load too.
"""

import logging
import os
import queue
import secrets
import sys
import time
import traceback
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NoReturn

from app import __version__, log, priority
from app.device import Device
from app.errors import ModelError, OutOfMemory
from app.pump import Pump
from app.wire import (
    PROTOCOL,
    Abort,
    Begun,
    Forget,
    Heartbeat,
    LastWords,
    Load,
    Loaded,
    LoadFailed,
    LoadParams,
    Message,
    Progress,
    Ready,
    SetPriority,
    Shutdown,
    Submit,
)

if TYPE_CHECKING:
    from app.engine.backend import Backend
    from app.engine.baton import Baton
    from app.engine.core import Engine
    from app.engine.scheduler import Pace

_LOG = logging.getLogger(__name__)
_BEAT_SECONDS = 1.0
_SWITCH_SECONDS = 0.0005
_GOODBYE_SECONDS = 1.5
"""How long the states of chats may be saved when the process is to end; the app waits a little longer."""


def main(connection: "Connection[Message, Message]", process_name: str) -> None:
    """Run until Shutdown or the end of the pipe."""
    # Threads that wait for each other spin a little, then sleep; libgomp reads this when it is loaded.  On 2 quiet
    # cores SmolLM2 wrote 53 tokens/s without spinning, 118 with this much and no more with any more of it; with
    # both cores busy with something else 34, 20, and 1 to 5 when the threads spin as long as they do by default.
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    sys.setswitchinterval(_SWITCH_SECONDS)
    log.start(process_name)
    log.capture_native(process_name)
    priority.lower(priority.ENGINE)
    process = _Process(connection)
    try:
        process.run()
    except Exception as error:
        _LOG.exception("the engine dies")
        process.send(LastWords(f"{type(error).__name__}: {error}", traceback.format_exc()))
        raise
    finally:
        logging.shutdown()


class _Process:
    """The loop and what it holds."""

    def __init__(self, connection: "Connection[Message, Message]") -> None:
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        # The end of the pipe is a Shutdown like any other.
        self._pump = Pump(
            connection, self._take, lambda: self._inbox.put(Shutdown()), name="engine-pump"
        )
        self._engine: Engine | None = None
        self._backend: Backend | None = None
        self._baton: Baton | None = None
        self._last_sent = time.monotonic()
        self._stopping = False

    def _take(self, message: Message) -> None:
        """On the pump's thread: put a command into the inbox, and end a long read for one that is urgent."""
        self._inbox.put(message)
        engine, backend = self._engine, self._backend
        if engine is None or backend is None or not isinstance(message, Abort | Submit):
            return
        if engine.worth_interrupting(message):
            backend.interrupt()

    def send(self, message: Message) -> None:
        self._last_sent = time.monotonic()
        self._pump.send(message)

    def run(self) -> None:
        from app import llama

        self._pump.start()
        api = llama.load()
        native_log = llama.NativeLog(api)
        self.send(Ready(PROTOCOL, os.getpid(), __version__, llama.devices(api)))
        load = self._await_load()
        if load is not None:
            self._serve(api, native_log, load.params)

    def _await_load(self) -> Load | None:
        while True:
            message = self._next(_BEAT_SECONDS)
            if isinstance(message, Load):
                return message
            if isinstance(message, Shutdown):
                return None

    def _next(self, timeout: float) -> Message | None:
        """The next command; a heartbeat is sent while none comes."""
        try:
            return self._inbox.get(timeout=timeout) if timeout else self._inbox.get_nowait()
        except queue.Empty:
            if time.monotonic() - self._last_sent >= _BEAT_SECONDS:
                self.send(Heartbeat())
            return None

    def _progress(self, fraction: float) -> bool:
        """Called by llama.cpp while it loads; False gives up."""
        message = self._next(0)
        if isinstance(message, Shutdown):
            self._stopping = True
        elif message is not None:
            _refuse(message)
        elif time.monotonic() - self._last_sent > 0.05 or fraction >= 1:
            self.send(Progress(fraction, "Reading the model file"))
        return not self._stopping

    def _serve(self, api: Any, native_log: Any, params: LoadParams) -> None:
        from app.engine.context import LlamaBackend
        from app.engine.model import LoadCancelledError, Model

        try:
            model = Model(api, params, native_log, self._progress)
        except LoadCancelledError:
            return
        except ModelError as error:
            self.send(_failed(error))
            return
        try:
            model.check_usable()
            self.send(Progress(1.0, "Making room for the chats"))
            backend = LlamaBackend(api, model, params)
        except ModelError as error:
            model.close()
            self.send(_failed(error))
            return
        loaded = _loaded(api, model, backend)
        self._baton = _baton(loaded.device)
        self.send(loaded)
        self._loop(backend, backend.params, model.fingerprint)
        backend.close()
        model.close()

    def _loop(self, backend: Any, params: LoadParams, fingerprint: str) -> None:
        from app.engine.core import Engine
        from app.engine.scheduler import Pace

        files = _state_files(fingerprint, params)
        logged = _logged(backend)
        pace = Pace(gap=params.gap)
        engine = Engine(
            logged,
            most_running=params.sequences,
            clock=time.perf_counter,
            new_seed=lambda: secrets.randbits(32),
            pace=pace,
            spill_bytes=params.spill_bytes,
            files=files,
            on_begin=lambda begun: self.send(Begun(begun)),
        )
        self._engine, self._backend = engine, logged
        while True:
            logged.rearm()
            if not self._drain(engine):
                break
            if engine.has_work:
                self._step(engine, pace)

        if self._baton is not None:
            self._baton.close()
        deadline = time.monotonic() + _GOODBYE_SECONDS
        while time.monotonic() < deadline and engine.rest():
            pass
        if files is not None:
            files.close(max(0.0, deadline - time.monotonic()))

    def _step(self, engine: "Engine", pace: "Pace") -> None:
        """Make a step where it is this engine's turn on the device; else wait a moment, no longer than a command may."""
        baton, level = self._baton, engine.level
        if baton is None or level is None:
            self.send(engine.step())
        elif baton.take(level):
            engine.pace = pace.shared if baton.wanted else pace
            try:
                told = engine.step()
            finally:
                baton.give()
            self.send(told)
        else:
            told_early = engine.news()
            if told_early is not None:
                self.send(told_early)
            time.sleep(baton.pause)

    def _drain(self, engine: "Engine") -> bool:
        """Take all commands there are; wait for one when there is nothing else to do."""
        if self._baton is not None and not engine.has_work:
            self._baton.rest()
        message = self._next(0 if engine.has_work else _BEAT_SECONDS)
        if message is None and not engine.has_work:
            engine.rest()
        while message is not None:
            if isinstance(message, Submit):
                engine.submit(message)
            elif isinstance(message, Abort):
                engine.abort(message.request_id)
            elif isinstance(message, SetPriority):
                engine.set_priority(message.request_id, message.priority)
            elif isinstance(message, Forget):
                engine.forget(message.owner)
            elif isinstance(message, Shutdown):
                return False
            else:
                _refuse(message)
            message = self._next(0)
        return True


def _failed(error: ModelError) -> LoadFailed:
    if isinstance(error, OutOfMemory):
        # What helps is known to whoever sees the whole machine.
        return LoadFailed(error.what, error.part)
    return LoadFailed(str(error))


def _refuse(message: Message) -> NoReturn:
    raise TypeError(f"the engine does not take {type(message).__name__}")


def _logged(backend: Any) -> Any:
    """The backend, writing a decode log where a test asks for one."""
    path = os.environ.get("TUTTI_DECODE_LOG")
    if not path:
        return backend
    from pathlib import Path

    from app.engine.decode_log import LoggedBackend

    return LoggedBackend(backend, Path(path).open("w", encoding="utf-8"))


def _state_files(fingerprint: str, params: LoadParams) -> Any:
    """Where the states of chats lie, for this model under these parameters; None where none are to be written."""
    if not params.states_folder:
        return None
    from pathlib import Path

    from app import llama
    from app.engine.state_files import StateFiles, layout

    name, folder = layout(fingerprint, params, llama.version()), Path(params.states_folder)
    return StateFiles(folder / fingerprint, name, params.disk_bytes, together=folder)


def _baton(device: str) -> "Baton | None":
    """What engines of this user on this device take turns by."""
    from app import paths
    from app.engine import baton

    return baton.join(paths.data_dir() / "turns", device, time.perf_counter)


def _loaded(api: Any, model: Any, backend: Any) -> Loaded:
    params = backend.params
    device = _device(api, params)
    notes = backend.notes
    if params.gpu_layers > 0 and not device.gpu:
        notes = [*notes, "There is no GPU to put layers on; all of them run on the processor."]
    return Loaded(
        description=model.description,
        device=device.name,
        pool_tokens=backend.info.cells,
        context_tokens=backend.info.context,
        sequences=params.sequences,
        vocabulary=backend.info.vocabulary,
        memory=backend.info.kind.value,
        fingerprint=model.fingerprint,
        notes=tuple(notes),
    )


def _device(api: Any, params: LoadParams) -> Device:
    """Where the model computes, or most of it."""
    from app import llama

    found = llama.devices(api)
    named = [device for device in found if device.name.lower() == params.device.lower()]
    offloads = bool(api.llama_supports_gpu_offload()) and params.gpu_layers != 0
    usual = [device for device in found if device.gpu == (offloads and found[0].gpu)]
    return (named or usual)[0]
