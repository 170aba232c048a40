"""What a chat asks of the generator: its next turn, a turn of the past, a summary of what lies far back.

A request is made of what is stored and of the settings at that moment; nothing is kept here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.chat import context, past, summary
from app.chat.models import (
    ChatMessage,
    Conversation,
    Message,
    Priority,
    Sampling,
    Status,
    Summary,
)
from app.chat.past import PastTurn
from app.chat.ports import ConversationStore, Generator, Request
from app.chat.turn import Sending
from app.chat.urgency import Urgency
from app.errors import StoreError
from app.settings import Settings

_STEADY = Sampling(temperature=0.3)
"""How a summary is written: near to the likeliest words, yet another one when it is tried again."""


@dataclass(frozen=True, slots=True)
class Retelling:
    """The request that has a summary written, and the last message that it covers."""

    request: Request
    upto: int


class Asking:
    """Makes the requests of all chats.  `settings` gives the present ones."""

    def __init__(
        self, store: ConversationStore, generator: Generator, settings: Callable[[], Settings]
    ) -> None:
        self._store = store
        self._generator = generator
        self._settings = settings

    async def conversation(self, conversation_id: int) -> Conversation:
        """This chat; raises StoreError where it is gone."""
        conversation = await self._store.conversation(conversation_id)
        if conversation is None:
            raise StoreError("This chat was deleted.")
        return conversation

    async def turn(self, conversation_id: int, urgency: Urgency) -> tuple[Request, Sending]:
        """The answer that comes next."""
        conversation = await self.conversation(conversation_id)
        own, general = conversation.settings, self._settings()
        lines, sending = await self._next(conversation)
        request = replace(
            self._asked(conversation, lines),
            sampling=own.sampling or general.sampling,
            urgency=urgency,
            sampling_open=general.sampling_open if own.sampling is None else frozenset(),
        )
        return request, sending

    async def so_far(self, conversation_id: int) -> Request:
        """What stands in the chat, for the next question to follow."""
        conversation = await self.conversation(conversation_id)
        lines, _ = await self._next(conversation)
        return self._asked(conversation, lines)

    async def past(
        self, conversation_id: int, message_id: int, *, writing: bool = False
    ) -> PastTurn:
        """What was fed for the answer that this message is, or has; `writing`: a turn of the chat runs."""
        conversation = await self.conversation(conversation_id)
        history = await self._store.messages(conversation_id)
        before, answer = past.history_of(history, message_id)
        first = answer.sent_from if answer is not None else self._first(before)
        stands = await self._standing(before, None if answer is None else first)
        lines, _ = self._lines(conversation, before, first, stands)
        request = self._asked(conversation, lines)
        if answer is None:
            return PastTurn(request, answered=False)
        running = writing and answer.status is Status.STREAMING
        fed = (
            self._generator.fed_prompt(conversation_id)
            if running
            else await self._store.prompt(answer.id)
        )
        return PastTurn(request, past.matching(fed, answer))

    async def summary(self, conversation_id: int) -> Summary | None:
        """What stands for the oldest messages of the chat; None where nothing does."""
        if not self._summarises:
            return None
        return await self._standing(await self._store.messages(conversation_id))

    async def retelling(self, conversation_id: int) -> Retelling | None:
        """The summary that the chat wants now; None where it wants none, and where no model is ready.

        It goes on from the messages that it is of, as another question, so that they are not read again.
        """
        if not self._summarises:
            return None
        conversation = await self.conversation(conversation_id)
        context_tokens = self._generator.context_of(conversation.model)
        if not context_tokens:
            return None
        history = await self._store.messages(conversation_id)
        stands = await self._standing(history)
        open_messages = context.sent(history, 0 if stands is None else stands.message_id + 1)
        if not open_messages or summary.is_far(history[-1], open_messages[0].id, context_tokens):
            return None
        asked = summary.instruction(context_tokens)
        lines = context.lines(self._system_prompt(conversation), open_messages, stands)
        request = replace(
            self._asked(conversation, (*lines, asked)),
            sampling=_STEADY,
            max_tokens=summary.most_tokens(context_tokens),
            urgency=Urgency(Priority.BACKGROUND),
            thinking=False,
            may_leave_out=False,
            aside=True,
        )
        measured = await self._generator.measure(request)
        if measured is None or len(measured.starts) != len(request.messages):
            return None
        ends = (*measured.starts[1:], measured.tokens)
        sizes = [end - start for start, end in zip(measured.starts, ends, strict=True)]
        head = len(lines) - len(open_messages)
        wanted = summary.stride(
            [message.role for message in open_messages],
            sizes[head:-1],
            measured.starts[head],
            sizes[-1],
            context_tokens,
        )
        if not wanted:
            return None
        told = lines[head + wanted.start : head + wanted.stop]
        covering = replace(request, messages=(*lines[:head], *told, asked))
        return Retelling(covering, open_messages[wanted[-1]].id)

    @property
    def _leaves_out(self) -> bool:
        return self._settings().when_full != "stop"

    @property
    def _summarises(self) -> bool:
        return self._settings().when_full == "summarise"

    def _first(self, history: Sequence[Message]) -> int:
        """The first message of this history that is sent next, 0 where none is left out."""
        return context.sent_from(history) if self._leaves_out else 0

    async def _standing(
        self, history: Sequence[Message], before: int | None = None
    ) -> Summary | None:
        if not history or not self._summarises:
            return None
        summaries = await self._store.summaries(history[0].conversation_id)
        return summary.standing(summaries, history, before)

    async def _next(self, conversation: Conversation) -> tuple[tuple[ChatMessage, ...], Sending]:
        """What the model is shown of it next."""
        history = await self._store.messages(conversation.id)
        stands = await self._standing(history)
        return self._lines(conversation, history, self._first(history), stands)

    def _lines(
        self,
        conversation: Conversation,
        history: Sequence[Message],
        first: int,
        stands: Summary | None,
    ) -> tuple[tuple[ChatMessage, ...], Sending]:
        """The lines of this history from the message `first` on, without what a summary stands for."""
        messages = context.sent(history, first)
        if stands is not None:
            messages = [message for message in messages if message.id > stands.message_id]
            first = messages[0].id if messages else first
        lines = context.lines(self._system_prompt(conversation), messages, stands)
        return lines, Sending(tuple(message.id for message in messages), first)

    def _system_prompt(self, conversation: Conversation) -> str:
        own = conversation.settings.system_prompt
        return self._settings().system_prompt if own is None else own

    def _asked(self, conversation: Conversation, lines: tuple[ChatMessage, ...]) -> Request:
        """These lines as a request of this chat, with all that its prompt depends on."""
        own, most = conversation.settings, conversation.settings.max_answer_tokens
        return Request(
            lines,
            max_tokens=(self._settings().max_answer_tokens if most is None else most) or None,
            owner=conversation.id,
            thinking=own.thinking,
            effort=own.effort,
            since=conversation.created,
            may_leave_out=self._leaves_out,
            model=conversation.model,
        )
