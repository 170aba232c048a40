"""One turn: a request to the generator, and the answer's row in the store.

A turn ends exactly once, by its stream or by `stop`, which takes what was held back; from that moment nothing that the
stream still delivers is taken.  The text that was told to listeners is the text that is stored.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace

from app.chat.answer import NO_END, Answer, verdict
from app.chat.events import (
    ChatEvent,
    MessageAdded,
    TextAppended,
    ThoughtAppended,
    TurnChanged,
    TurnState,
)
from app.chat.models import FinishReason, Message, Role, Status, TabState
from app.chat.ports import (
    CallEvent,
    ConversationStore,
    Counting,
    Ended,
    Generator,
    LeftOut,
    Reading,
    Request,
    Text,
    Thought,
    Waiting,
)
from app.chat.urgency import Urgency
from app.chat.withheld import Withheld
from app.errors import AppError, StoreError
from app.prompting import FedPrompt
from app.tasks import Tasks

_log = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 1.0
TELL_SECONDS = 0.1
_LET_GO_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Ports:
    """What a turn works with.  `clock` is monotonic, in seconds."""

    store: ConversationStore
    generator: Generator
    tasks: Tasks
    clock: Callable[[], float]
    emit: Callable[[ChatEvent], None]


@dataclass(frozen=True, slots=True)
class Sending:
    """The numbers of the messages of a request; `first` is the first of them where older ones stay out, else 0."""

    messages: tuple[int, ...] = ()
    first: int = 0


class Turn:
    """One answer of one chat; `run` it once.  `urgency` is that of its request, and may be changed at any time."""

    def __init__(self, conversation_id: int, ports: Ports, urgency: Urgency) -> None:
        self.conversation_id = conversation_id
        self.urgency = urgency
        self._ports = ports
        self._answer = Answer()
        self._over = asyncio.Event()
        self._ended: Ended | None = None
        self._reader: asyncio.Task[None] | None = None
        self._row: Message | None = None
        self._told = self._answer.state
        self._told_at = self._kept_at = ports.clock()
        self._timer: asyncio.TimerHandle | None = None
        self._keeping = False
        self._sending = Sending()
        self._withheld = Withheld()

    @property
    def state(self) -> TurnState:
        return self._answer.state

    @property
    def is_over(self) -> bool:
        """Nothing will be added any more; the row may still be on its way to the disk."""
        return self._over.is_set()

    def fresh(self, stored: Message) -> Message:
        """`stored`, with all the text so far where it is the answer that this turn writes."""
        if self._row is None or stored.id != self._row.id or stored.status is not Status.STREAMING:
            return stored
        return replace(stored, text=self._answer.text, reasoning=self._answer.reasoning)

    def stop(self) -> None:
        """End it now, with the text so far.  Does nothing when it is over."""
        if not self.is_over:
            for event in self._withheld.take():
                if isinstance(event, Text | Thought):
                    self._take(event)
            self._end(Ended(FinishReason.CANCELLED, self._answer.usage))
            if self._reader is not None:
                self._reader.cancel()

    def let_repeat(self) -> None:
        """The user has nothing against that this answer repeats itself."""
        if not self.is_over:
            self._answer.let_repeat()
            self._say_state(self._ports.clock())

    async def run(self, request: Request, sending: Sending = Sending()) -> Message:
        """Write the answer; returns it as it is stored.  Raises StoreError where not even its row could be made."""
        self._sending, self._withheld = sending, request.withheld
        store, chat = self._ports.store, self.conversation_id
        row = self._row = await store.add_message(chat, Role.ASSISTANT, "", Status.STREAMING)
        self._ports.emit(MessageAdded(row))
        if not self.is_over:
            self._reader = self._ports.tasks.spawn(self._read(request), f"answer in chat {chat}")
            self._reader.add_done_callback(self._reader_done)
        await self._over.wait()
        if self._timer is not None:
            self._timer.cancel()
        return await self._finish(row)

    async def _read(self, request: Request) -> None:
        stream = self._ports.generator.generate(request)
        try:
            async for event in stream:
                if self.is_over:
                    break
                if isinstance(event, Ended):
                    self._end(event)
                    break
                if isinstance(event, LeftOut):
                    self._leave_out(event.messages)
                elif not isinstance(event, CallEvent):  # a chat offers no tools
                    self._take(event)
        except AppError as error:
            self._end(Ended(FinishReason.ERROR, self._answer.usage, str(error)))
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    def _reader_done(self, _: asyncio.Task[None]) -> None:
        self._end(Ended(FinishReason.ERROR, self._answer.usage, NO_END))

    def _end(self, ended: Ended) -> None:
        if not self.is_over:
            self._ended = ended
            self._over.set()

    def _leave_out(self, count: int) -> None:
        """The first so many of the messages are not sent."""
        left = self._sending.messages[count:]
        if left:
            self._sending = Sending(left, left[0])

    def _take(self, event: Waiting | Counting | Reading | Thought | Text) -> None:
        now = self._ports.clock()
        text = self._answer.feed(event, now)
        if text and self._row is not None:
            kind = ThoughtAppended if isinstance(event, Thought) else TextAppended
            self._ports.emit(kind(self.conversation_id, self._row.id, text))
        self._tell(now)
        if text:
            self._keep_soon(now)

    def _tell(self, now: float) -> None:
        state = self.state
        if state == self._told:
            return
        told = self._told
        steady = (state.state, state.repeating) == (told.state, told.repeating)
        steady = steady and state.state is not TabState.WAITING
        if steady and now - self._told_at < TELL_SECONDS:
            return
        self._say_state(now)

    def _say_state(self, now: float) -> None:
        self._told, self._told_at = self.state, now
        self._ports.emit(TurnChanged(self.conversation_id, self.state))

    def _keep_soon(self, now: float) -> None:
        """Checkpoint by the clock; the timer is for the last text before a pause."""
        if now - self._kept_at >= CHECKPOINT_SECONDS:
            self._keep()
        else:
            self._keep_later()

    def _keep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._row is not None and not self._keeping and not self.is_over:
            self._keeping = True
            self._kept_at = self._ports.clock()
            name = f"checkpoint of chat {self.conversation_id}"
            self._ports.tasks.spawn(self._checkpoint(self._row.id), name)

    def _keep_later(self) -> None:
        if self._timer is None and not self.is_over:
            self._timer = asyncio.get_running_loop().call_later(CHECKPOINT_SECONDS, self._keep)

    async def _checkpoint(self, message_id: int) -> None:
        text, reasoning = self._answer.text, self._answer.reasoning
        try:
            await self._ports.store.checkpoint(message_id, text, reasoning)
        except StoreError as error:
            # The end of the turn tries again, and then tells the user.
            _log.warning("chat %d: no checkpoint: %s", self.conversation_id, error)
        finally:
            self._keeping = False
        if (self._answer.text, self._answer.reasoning) != (
            text,
            reasoning,
        ):  # a slow disk: the timer passed meanwhile
            self._keep_later()

    async def _finish(self, row: Message) -> Message:
        ended = self._ended or Ended(FinishReason.ERROR, self._answer.usage, NO_END)
        text, reasoning = self._answer.text, self._answer.reasoning
        status, error = verdict(ended, text, reasoning)
        if self._reader is not None and not self._reader.done():
            # Only when the request is let go of is it known which tokens were written for the text.
            await asyncio.wait((self._reader,), timeout=_LET_GO_SECONDS)
        fed = self._ports.generator.fed
        try:
            return await self._ports.store.finish_message(
                row.id,
                text,
                status,
                finish=ended.reason,
                usage=ended.usage,
                seconds=self._answer.seconds,
                error=error,
                reasoning=reasoning,
                thought_seconds=self._answer.thought_seconds,
                ids=fed(text),
                reasoning_ids=fed(reasoning),
                sent_from=self._sending.first,
                prompt=self._prompt(ended),
            )
        except StoreError as lost:
            failed = replace(row, text=text, reasoning=reasoning)
            return replace(failed, status=Status.FAILED, error=str(lost))

    def _prompt(self, ended: Ended) -> FedPrompt | None:
        """What was fed, where anything was."""
        if not ended.usage.prompt_tokens:
            return None
        return self._ports.generator.fed_prompt(self.conversation_id)
