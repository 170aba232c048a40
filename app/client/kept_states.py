"""The files in which engines keep the states of chats, as far as the app has to do with them: to delete them.

An engine deletes its own when it is told to forget a chat; those of models that are not loaded are deleted here.  So
are those that an engine writes as the last thing it does, when it can no longer be told.
"""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from pathlib import Path

_LOG = logging.getLogger(__name__)


class KeptStates:
    """The states under `folder` ("": there is none), of every model."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._late: list[set[int]] = []

    async def forget(self, owner: int) -> None:
        """Delete those of this chat, and what engines that are ending now will still write of it."""
        for late in self._late:
            late.add(owner)
        await asyncio.to_thread(self._delete, owner)

    def outlive(self, ending: Awaitable[None]) -> Coroutine[None, None, None]:
        """Wait for the end of an engine; then delete what it has written of the chats that are forgotten from now on."""
        late: set[int] = set()
        self._late.append(late)
        return self._outlive(ending, late)

    async def _outlive(self, ending: Awaitable[None], late: set[int]) -> None:
        try:
            await ending
        finally:
            # This one, and not another that is equal.
            self._late = [one for one in self._late if one is not late]
        for owner in late:
            await asyncio.to_thread(self._delete, owner)

    def _delete(self, owner: int) -> None:
        if not self._folder:
            return
        for path in Path(self._folder).glob(f"*/{owner}-*.state"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                _LOG.warning("a chat's state could not be deleted: %s", error)
