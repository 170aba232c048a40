"""What the next message of a chat follows, read while the user still types it.

At most one warm-up for each chat, which ends when the message is sent or nobody types any more.  Whether there is
anything to read is the generator's to know.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from app.chat.ports import Generator, Request
from app.errors import StoreError
from app.tasks import Tasks

_log = logging.getLogger(__name__)

SoFar = Callable[[], Awaitable[Request]]
"""Gives what stands in a chat, as a request."""


class Warming:
    """The warm-ups that run."""

    def __init__(self, generator: Generator, tasks: Tasks) -> None:
        self._generator = generator
        self._tasks = tasks
        self._running: dict[int, asyncio.Task[None]] = {}

    def begin(self, conversation_id: int, so_far: SoFar) -> None:
        """Have that read beforehand; does nothing while that is being done for this chat."""
        if conversation_id in self._running:
            return
        task = self._tasks.spawn(self._warm(so_far), f"warm-up of chat {conversation_id}")
        self._running[conversation_id] = task

        def forget(ended: asyncio.Task[None]) -> None:
            if self._running.get(conversation_id) is ended:
                del self._running[conversation_id]

        task.add_done_callback(forget)

    def end(self, conversation_id: int) -> None:
        """Stop the one of this chat, if there is one."""
        task = self._running.pop(conversation_id, None)
        if task is not None:
            task.cancel()

    def end_all(self) -> None:
        for conversation_id in tuple(self._running):
            self.end(conversation_id)

    async def _warm(self, so_far: SoFar) -> None:
        try:
            await self._generator.warm(await so_far())
        except StoreError as error:
            _log.info("no warm-up: %s", error)
