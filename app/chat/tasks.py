"""The tasks of the domain: held while they run, and their failures seen."""

import asyncio
import logging
from collections.abc import Coroutine

_log = logging.getLogger(__name__)


class Tasks:
    """Owns every task that it spawns; a failure goes to the loop's exception handler at once."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, coroutine: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        # The one place of the domain that makes tasks; they are owned here.
        task = asyncio.create_task(coroutine, name=name)  # noqa: TID251
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

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

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            task.get_loop().call_exception_handler(
                {
                    "message": f"the task {task.get_name()} failed",
                    "exception": error,
                    "task": task,
                }
            )
