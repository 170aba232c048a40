"""The one door to qasync: how coroutines run on Qt's loop, and how their failures are seen.

Never spin Qt inside a coroutine (no `exec()`, no `processEvents`): the loop would be entered twice.  A task that
fails goes to the loop's exception handler, which `report_to` sets; nothing is lost because nobody awaited it.
"""

import asyncio
import functools
import inspect
import logging
import signal
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from PySide6.QtWidgets import QApplication, QDialog
from qasync import QEventLoop

_P = ParamSpec("_P")
_T = TypeVar("_T")

_log = logging.getLogger(__name__)

_END_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_tasks: set[asyncio.Task[Any]] = set()
"""asyncio itself holds tasks weakly only."""


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop that turns inside the application's own."""
    loop: asyncio.AbstractEventLoop = QEventLoop(QApplication.instance())
    loop.set_default_executor(ThreadPoolExecutor(4, thread_name_prefix="io"))
    return loop


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run `main` to its end on Qt's loop; other tasks that are left are then cancelled."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main)


def spawn(coroutine: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
    """Start a coroutine that nobody awaits; it is kept alive, and its failure is reported."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        coroutine.close()
        raise
    task = loop.create_task(coroutine)
    _tasks.add(task)
    task.add_done_callback(_settle)
    return task


async def drained(seconds: float) -> None:
    """Wait for all that was spawned on this loop, but no longer than this."""
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    left = [task for task in _tasks if task.get_loop() is loop and task is not me]
    if left:
        await asyncio.wait(left, timeout=seconds)


def async_slot(function: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    """Make a slot of a coroutine function.

    Arguments of the signal beyond those that the function takes are dropped, as Qt does for plain slots.
    """
    limit = _positional(function)

    @functools.wraps(function)
    def slot(*args: _P.args, **kwargs: _P.kwargs) -> None:
        taken: Any = args[:limit]
        spawn(function(*taken, **kwargs))

    return slot


def report_to(handler: Callable[[BaseException], None]) -> None:
    """Send every failure that reaches the running loop to `handler`, on the loop's thread."""

    def handle(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            handler(error)
        else:
            _log.error("event loop: %s", context.get("message"))

    asyncio.get_running_loop().set_exception_handler(handle)


def on_signals(handler: Callable[[], object]) -> Callable[[], None]:
    """Call `handler` on the running loop at SIGINT and SIGTERM, each time.

    The returned function ends that; from then on both are ignored, so that the second Ctrl+C of an impatient user
    does not cut the end short.
    """
    loop = asyncio.get_running_loop()
    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)

    def caught(*_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(handler)

    # Python looks at signals between its own instructions, and Qt's loop runs none while it waits:
    # the byte that arrives here wakes it.
    loop.add_reader(reader, lambda: reader.recv(64))
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    for number in _END_SIGNALS:
        signal.signal(number, caught)

    def ignore() -> None:
        for number in _END_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        if not loop.is_closed():
            loop.remove_reader(reader)
        reader.close()
        writer.close()

    return ignore


async def finished(dialog: QDialog) -> bool:
    """Open a dialog and wait for its end; True when it was accepted.  The dialog is then deleted."""
    result: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def settle(code: int) -> None:
        if not result.done():
            result.set_result(code == QDialog.DialogCode.Accepted)

    dialog.finished.connect(settle)
    dialog.open()
    try:
        return await result
    finally:
        dialog.finished.disconnect(settle)
        dialog.deleteLater()


def _settle(task: asyncio.Task[Any]) -> None:
    _tasks.discard(task)
    if task.cancelled():
        return
    error = task.exception()
    if error is not None:
        task.get_loop().call_exception_handler(
            {"message": f"task {task.get_name()} failed", "exception": error, "task": task}
        )


def _positional(function: Callable[..., Any]) -> int | None:
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return sum(kind not in by_name for kind in kinds)
