"""The chats and their turns: one turn at a time in each chat, many chats at once.

Everything runs on the event loop.  What changes one chat is done one after the other, under that chat's lock;
`stop` alone needs no lock and acts at once.  Nothing is told to a listener before it is committed, but for the
text of a streaming answer, which is committed about once a second and when the answer ends.
"""

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from app.chat import context, titles
from app.chat.answer import NO_END
from app.chat.asking import Asking
from app.chat.events import (
    ConversationDeleted,
    MessageAdded,
    MessageFinished,
    MessagesRemoved,
    SummaryChanged,
    TurnChanged,
    TurnState,
)
from app.chat.library import Library
from app.chat.models import (
    Conversation,
    Message,
    Priority,
    Role,
    Status,
    Summary,
    TabState,
    clean,
)
from app.chat.past import PastTurn
from app.chat.ports import ConversationStore, Generator
from app.chat.summarising import Summarising
from app.chat.turn import Ports, Turn
from app.chat.urgency import Urgency
from app.chat.warming import Warming
from app.errors import AppError, StoreError
from app.settings import Settings
from app.tasks import Tasks

_log = logging.getLogger(__name__)

_CLOSE_SECONDS = 3.0
_TAB_STATES = {
    Status.STOPPED: TabState.STOPPED,
    Status.FAILED: TabState.FAILED,
}


class ChatService(Library):
    """What the window talks to.  `settings` gives the present ones; `clock` is monotonic, in seconds."""

    def __init__(
        self,
        store: ConversationStore,
        generator: Generator,
        settings: Callable[[], Settings],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(store)
        self._tasks = Tasks()
        self._ports = Ports(store, generator, self._tasks, clock, self._emit)
        self._asking = Asking(store, generator, settings)
        self._warming = Warming(generator, self._tasks)
        self._summarising = Summarising(store, generator, self._asking, self._tasks, self._emit)
        self._turns: dict[int, Turn] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self._states: dict[int, TurnState] = {}
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._stops: Counter[int] = Counter()
        self._front: int | None = None
        self._closed = False

    def turn(self, conversation_id: int) -> TurnState:
        """How the turn of this chat is now."""
        turn = self._turns.get(conversation_id)
        if turn is not None and conversation_id not in self._states:
            return turn.state
        return self._states.get(conversation_id, TurnState())

    async def send(self, conversation_id: int, text: str) -> bool:
        """Store the message and let it be answered; True once the message is committed.

        False, and nothing is done, for a blank text, while an answer is being written, and after `close`.  Raises
        StoreError where the message could not be stored.  A message that is refused before it was read (too long,
        no model) stays with its failed answer, and its text is the chat's draft again.
        """
        text = clean(text)
        if context.is_blank(text):
            return False
        self._warming.end(conversation_id)
        stops = self._stops[conversation_id]
        async with self._locks[conversation_id]:
            if self._closed or not await self._is_free(conversation_id):
                return False
            question = await self._store.add_message(conversation_id, Role.USER, text, Status.DONE)
            self._emit(MessageAdded(question))
            await self._settle(question)
            self._start(conversation_id, stops)
        return True

    async def count(self, text: str) -> int:
        """The number of tokens of a draft; 0 where nobody can tell."""
        try:
            return await self._ports.generator.count_tokens(text)
        except AppError:
            return 0

    async def regenerate(self, conversation_id: int) -> bool:
        """Answer the last question anew, in place of the answer that is there or is being written.

        False where there is no question.
        """
        stops = self._stops[conversation_id]
        async with self._locks[conversation_id]:
            await self._end_turn(conversation_id)
            history = await self._store.messages(conversation_id)
            end = context.questions_end(history)
            if self._closed or end == 0:
                return False
            await self._remove(conversation_id, history[end:])
            await self._settle(history[end - 1])
            self._start(conversation_id, stops)
        return True

    async def retry(self, conversation_id: int) -> bool:
        """Ask again after a failure."""
        return await self.regenerate(conversation_id)

    def warm(self, conversation_id: int) -> None:
        """The user is typing here: have what goes before the next message read, so that Send finds it read.

        Costs no other chat anything; does nothing while an answer is written, and where it is done already.
        """
        if not self._closed and not self.turn(conversation_id).busy:
            self._warming.begin(conversation_id, partial(self._asking.so_far, conversation_id))

    def stop_warming(self, conversation_id: int) -> None:
        """Nobody types here any more."""
        self._warming.end(conversation_id)

    def stop(self, conversation_id: int) -> None:
        """End the turn of this chat now, with the text so far; does nothing where none runs."""
        self._stops[conversation_id] += 1
        turn = self._turns.get(conversation_id)
        if turn is not None:
            turn.stop()

    def let_repeat(self, conversation_id: int) -> None:
        """Say no more that the answer which is written here repeats itself."""
        turn = self._turns.get(conversation_id)
        if turn is not None:
            turn.let_repeat()

    def stop_all(self) -> None:
        for conversation_id in {*self._locks, *self._turns}:
            self.stop(conversation_id)

    async def delete(self, conversation_id: int) -> None:
        """End its turn and delete the chat for good."""
        self._warming.end(conversation_id)
        self.stop(conversation_id)
        async with self._locks[conversation_id]:
            await self._end_turn(conversation_id)
            await self._summarising.end(conversation_id)
            await self._store.delete_conversation(conversation_id)
            self._states.pop(conversation_id, None)
            self._locks.pop(conversation_id, None)
            self._stops.pop(conversation_id, None)
            await self._ports.generator.forget(conversation_id)
            self._emit(ConversationDeleted(conversation_id))

    def set_front(self, conversation_id: int | None) -> None:
        """Which chat is in front: its request goes first, also one that runs, and its answers are read as they come."""
        self._front = conversation_id
        for turn in self._turns.values():
            turn.urgency.set(self._class_of(turn.conversation_id))

    async def mark_read(self, conversation_id: int) -> None:
        """Take the unread mark off."""
        if self.turn(conversation_id).state is TabState.DONE_UNREAD:
            self._set_state(conversation_id, TurnState())
        conversation = await self._store.conversation(conversation_id)
        if conversation is not None and conversation.unread:
            await self._store.set_unread(conversation_id, False)
            await self._tell(conversation_id)

    async def conversations(self) -> Sequence[Conversation]:
        """All, newest change first."""
        found = await super().conversations()
        for conversation in found:
            if conversation.unread and conversation.id not in self._turns:
                self._states.setdefault(conversation.id, TurnState(TabState.DONE_UNREAD))
        return found

    async def messages(self, conversation_id: int) -> Sequence[Message]:
        """In order; an answer that is being written has its text so far, also what is not on disk yet.

        The text is read when this returns: whoever goes on without another await gets every later piece as an
        event, and none twice.
        """
        stored = await super().messages(conversation_id)
        turn = self._turns.get(conversation_id)
        return stored if turn is None else [turn.fresh(message) for message in stored]

    async def past_turn(self, conversation_id: int, message_id: int) -> PastTurn:
        """What was fed for the answer that this message is, or has; raises StoreError where the chat or it is gone."""
        writing = conversation_id in self._turns
        return await self._asking.past(conversation_id, message_id, writing=writing)

    async def summary(self, conversation_id: int) -> Summary | None:
        """What the model is shown in place of the oldest messages of this chat; None where it is shown no such thing."""
        return await self._asking.summary(conversation_id)

    async def close(self) -> None:
        """Stop all turns and wait until their rows are finished; nothing starts after that."""
        self._closed = True
        self._warming.end_all()
        self._summarising.end_all()
        self.stop_all()
        if self._running:
            await asyncio.wait(tuple(self._running.values()))
        await self._tasks.close(_CLOSE_SECONDS)

    async def _is_free(self, conversation_id: int) -> bool:
        """Whether a turn may begin; a turn that is over is waited for."""
        turn = self._turns.get(conversation_id)
        if turn is not None and turn.is_over:
            await self._end_turn(conversation_id)
        return conversation_id not in self._turns

    async def _end_turn(self, conversation_id: int) -> None:
        turn, task = self._turns.get(conversation_id), self._running.get(conversation_id)
        if turn is not None and task is not None:
            turn.stop()
            await asyncio.wait((task,))

    async def _remove(self, conversation_id: int, answers: Sequence[Message]) -> None:
        if answers:
            before = await self.summary(conversation_id)
            await self._store.delete_messages_from(conversation_id, answers[0].id)
            self._emit(MessagesRemoved(conversation_id, answers[0].id))
            after = await self.summary(conversation_id)
            if after != before:
                self._emit(SummaryChanged(conversation_id, after))

    async def _settle(self, question: Message) -> None:
        """The question is out: name a chat that has no title, empty the draft that it came from, keep its model."""
        chat = question.conversation_id
        try:
            conversation = await self._store.conversation(chat)
            if conversation is None:
                return
            if not conversation.title and (title := titles.from_message(question.text)):
                await self._store.rename(chat, title)
            if not conversation.model and self._ports.generator.model:
                await self._store.set_model(chat, self._ports.generator.model)
            if conversation.draft.strip() == question.text.strip():
                await self._store.set_draft(chat, "")
            await self._tell(chat)
        except StoreError as error:
            # The question itself is stored; the turn that follows meets the same disk and tells the user.
            _log.warning("chat %d: title or draft not stored: %s", chat, error)

    def _start(self, conversation_id: int, stops: int) -> None:
        """Begin a turn; `stops` was the number of stops when the user asked for it."""
        if self._closed:
            return
        self._warming.end(conversation_id)
        urgency = Urgency(self._class_of(conversation_id))
        turn = self._turns[conversation_id] = Turn(conversation_id, self._ports, urgency)
        if self._stops[conversation_id] != stops:
            turn.stop()
        self._states.pop(conversation_id, None)
        self._emit(TurnChanged(conversation_id, turn.state))
        self._running[conversation_id] = self._tasks.spawn(
            self._run(turn), f"turn of chat {conversation_id}"
        )

    async def _run(self, turn: Turn) -> None:
        chat = turn.conversation_id
        try:
            message = await turn.run(*await self._asking.turn(chat, turn.urgency))
            await self._conclude(message)
        except StoreError as error:
            self._set_state(chat, TurnState(TabState.FAILED, error=str(error)))
        finally:
            del self._turns[chat], self._running[chat]
            if chat not in self._states:  # a fault of ours: the tab must not look busy for ever
                self._set_state(chat, TurnState(TabState.FAILED, error=NO_END))

    def _class_of(self, conversation_id: int) -> Priority:
        return Priority.FRONT if conversation_id == self._front else Priority.NORMAL

    async def _conclude(self, message: Message) -> None:
        """Tell the end, and then do what follows from it."""
        chat = message.conversation_id
        done = TabState.IDLE if chat == self._front else TabState.DONE_UNREAD
        state = _TAB_STATES.get(message.status, done)
        error = message.error if state is TabState.FAILED else ""
        self._states[chat] = TurnState(state, error=error)
        self._emit(MessageFinished(message))
        self._emit(TurnChanged(chat, self._states[chat]))
        try:
            if state is TabState.DONE_UNREAD:
                await self._store.set_unread(chat, True)
            if context.was_refused(message):
                await self._give_back(chat)
            await self._tell(chat)
        except StoreError as error:
            _log.warning("chat %d: unread mark or draft not stored: %s", chat, error)
        if message.status is not Status.FAILED and not self._closed:
            self._summarising.begin(chat)

    async def _give_back(self, conversation_id: int) -> None:
        """Make the refused question the draft again, unless something new was typed meanwhile."""
        conversation = await self._store.conversation(conversation_id)
        history = await self._store.messages(conversation_id)
        end = context.questions_end(history)
        if conversation is not None and not conversation.draft and end:
            await self._store.set_draft(conversation_id, history[end - 1].text)

    def _set_state(self, conversation_id: int, state: TurnState) -> None:
        self._states[conversation_id] = state
        self._emit(TurnChanged(conversation_id, state))
