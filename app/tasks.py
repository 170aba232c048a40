"""Tasks that are held until they are done, where `app.ui.aio` cannot be imported.

asyncio keeps only a weak reference to a task, and tells of one that failed only when it is collected; here a failure
reaches the loop's exception handler at once.
"""

import asyncio
import logging
from collections.abc import Coroutine

_log = logging.getLogger(__name__)


class Tasks:
    """Owner of running tasks; everything is called on the event loop."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        """Run `work` until it ends by itself or is cancelled."""
        # This class is the owner that the ban asks for.
        task = asyncio.create_task(work, name=name)  # noqa: TID251
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    async def finish(self, *, but: "asyncio.Task[None] | None" = None) -> None:
        """Wait until all that run now, but for one, have ended."""
        if others := self._running - {but}:
            await asyncio.wait(others)

    async def close(self, seconds: float) -> None:
        """Wait for all; cancel what still runs after that time."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)
        late = tuple(self._running)
        for task in late:
            _log.warning("the task %s did not end in time", task.get_name())
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=seconds)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        task.get_loop().call_exception_handler(
            {"message": f"The task {task.get_name()} failed", "exception": error, "task": task}
        )
