"""Summaries of what lies far back in full chats, written in the background.

At most one at a time for each chat, as a request of the lowest class.  No turn waits for it: a chat that is full before
its summary is there leaves out its oldest messages, and the summary is used from the next turn on.  Of one that is cut off
the whole sentences are kept.  One that fails, or comes to nothing, is dropped; after `TRIES` failures in a row the chat gets no more of them until the app is started again.  That its
model was taken away is no failure of the chat.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable

from app.chat.asking import Asking, Retelling
from app.chat.context import is_blank
from app.chat.events import SummaryChanged
from app.chat.models import FinishReason, clean
from app.chat.ports import ConversationStore, Ended, Generator, Request, Text
from app.chat.summary import whole_sentences
from app.errors import StoreError
from app.tasks import Tasks

_log = logging.getLogger(__name__)

TRIES = 3

_WRITTEN = (FinishReason.STOP, FinishReason.LENGTH)


class Summarising:
    """The summaries that are being written; `tell` hears of each that is kept."""

    def __init__(
        self,
        store: ConversationStore,
        generator: Generator,
        asking: Asking,
        tasks: Tasks,
        tell: Callable[[SummaryChanged], None],
    ) -> None:
        self._store = store
        self._generator = generator
        self._asking = asking
        self._tasks = tasks
        self._tell = tell
        self._running: dict[int, asyncio.Task[None]] = {}
        self._failures: Counter[int] = Counter()

    def begin(self, conversation_id: int) -> None:
        """Write what this chat wants, if anything; does nothing while that is being done."""
        if conversation_id in self._running or self._failures[conversation_id] >= TRIES:
            return
        name = f"summary of chat {conversation_id}"
        task = self._tasks.spawn(self._summarise(conversation_id), name)
        self._running[conversation_id] = task
        task.add_done_callback(lambda _: self._running.pop(conversation_id, None))

    async def end(self, conversation_id: int) -> None:
        """Stop the one of this chat, if there is one; returns when it has let go."""
        task = self._running.get(conversation_id)
        self._failures.pop(conversation_id, None)
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def end_all(self) -> None:
        """Stop all; their tasks end soon after."""
        for task in self._running.values():
            task.cancel()

    async def _summarise(self, conversation_id: int) -> None:
        """One after the other, where a single one cannot cover all that it should."""
        try:
            while (wanted := await self._asking.retelling(conversation_id)) is not None:
                if not await self._write(conversation_id, wanted):
                    return
        except StoreError as error:
            _log.warning("chat %d: no summary: %s", conversation_id, error)

    async def _write(self, conversation_id: int, wanted: Retelling) -> bool:
        """Have this one written and kept; whether it was."""
        text, ended = await self._answer(wanted.request)
        if ended is not None and ended.reason is FinishReason.LENGTH:
            text = whole_sentences(text)
        if ended is None or ended.reason not in _WRITTEN or is_blank(text):
            fault = self._generator.context_of(wanted.request.model) > 0  # or it was taken away
            self._failures[conversation_id] += 1 if fault else 0
            _log.warning("chat %d: the summary was dropped: %s", conversation_id, _why(ended))
            return False
        kept = await self._store.add_summary(wanted.upto, text)
        if kept is None:
            return False
        del self._failures[conversation_id]
        self._tell(SummaryChanged(conversation_id, await self._asking.summary(conversation_id)))
        return True

    async def _answer(self, request: Request) -> tuple[str, Ended | None]:
        """The text, without what was thought before it, and the end."""
        stream = self._generator.generate(request)
        pieces: list[str] = []
        try:
            async for event in stream:
                if isinstance(event, Text):
                    pieces.append(event.text)
                elif isinstance(event, Ended):
                    return clean("".join(pieces)).strip(), event
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        return "", None


def _why(ended: Ended | None) -> str:
    if ended is None:
        return "it has no end"
    if ended.reason is FinishReason.STOP:
        return "it is empty"
    if ended.reason is FinishReason.LENGTH:
        return "it was cut off, and had no whole sentence or no end"
    return ended.error or f"it ended with {ended.reason.value}"
