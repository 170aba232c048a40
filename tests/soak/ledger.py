"""Every answer of a soak from its first word to its last: that it ends once, whole, and for a reason that is known.

A talker writes one ASCII character a token, so that the length of a text says how many tokens it is made of: a token
that was lost or doubled on the way shows.
"""

from collections import Counter
from dataclasses import dataclass, field

from app.chat.answer import EMPTY_ANSWER
from app.chat.context import is_blank
from app.chat.events import (
    ChatEvent,
    ConversationDeleted,
    MessageAdded,
    MessageFinished,
    TextAppended,
)
from app.chat.models import FinishReason, Message, Role, Status, Usage
from app.client.death import Death
from app.client.engine import _set_aside
from app.wire import Submit
from tests.soak.trace import Trace

SET_ASIDE = _set_aside(Death("engine"))[:40]
UNLOADED = ("model was unloaded", "Another model was loaded")
TOO_LONG = "This needs "


@dataclass
class Chat:
    """What the soak knows of a chat: how long its answers are, and what was done to the one that is being written."""

    limit: int
    greedy: bool
    poisoned: bool = False
    stopped: bool = False
    unloaded: bool = False


@dataclass
class Ledger:
    """Hears all events of the chats."""

    trace: Trace
    chats: dict[int, Chat] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    context: int = 0
    prompts: dict[int, Submit] = field(default_factory=dict)
    """Of each chat's latest request, as it was first sent."""
    written: list[tuple[Submit, str]] = field(default_factory=list)
    """What greedy chats were asked, and what came of it, since somebody took these."""
    _open: dict[int, list[str]] = field(default_factory=dict)
    _writing: dict[int, int] = field(default_factory=dict)

    @property
    def open(self) -> int:
        return len(self._open)

    def submitted(self, submit: Submit) -> None:
        """What goes on after a death has something written already, and what is only read has nothing to write."""
        if submit.owner in self.chats and not submit.written and submit.max_tokens != 0:
            self.prompts[submit.owner] = submit

    def hear(self, event: ChatEvent) -> None:
        match event:
            case MessageAdded(message=message) if message.role is Role.ASSISTANT:
                if message.conversation_id in self._writing:
                    self.faults.append(f"two answers at once in chat {message.conversation_id}")
                self._open[message.id] = []
                self._writing[message.conversation_id] = message.id
            case TextAppended(message_id=key, text=text):
                if key not in self._open:
                    self.faults.append(f"text for message {key}, which is not being written")
                else:
                    self._open[key].append(text)
            case MessageFinished(message=message):
                self._end(message)
            case ConversationDeleted(conversation_id=chat):
                if chat in self._writing:
                    self.faults.append(f"chat {chat} was deleted while it was written in")
                self.chats.pop(chat, None)
                self.prompts.pop(chat, None)

    def _end(self, message: Message) -> None:
        chat = message.conversation_id
        pieces = self._open.pop(message.id, None)
        if pieces is None:
            self.faults.append(f"message {message.id} ended twice, or never began")
            return
        del self._writing[chat]
        if "".join(pieces) != message.text:
            self.faults.append(f"message {message.id}: what was told is not what is stored")
        facts = self.chats[chat]
        name = f"chat {chat} message {message.id}"
        self.judge(
            name, facts, message.text, message.status, message.finish, message.usage, message.error
        )
        if facts.greedy and message.text and message.status in (Status.DONE, Status.STOPPED):
            self.written.append((self.prompts[chat], message.text))
        facts.stopped = facts.unloaded = False

    def judge(
        self,
        name: str,
        chat: Chat,
        text: str,
        status: Status,
        finish: FinishReason | None,
        usage: Usage,
        error: str,
    ) -> None:
        """Whether an answer may end like this."""
        self.trace(name, status, finish, usage, error[:60])
        kind, fault = self._kind(chat, text, status, usage, error)
        self.ends[kind] += 1
        if fault:
            said = f"{status} {finish} {usage} {error!r} {len(text)} characters"
            self.faults.append(f"{name} {fault}: {said}")
            self.trace("FAULT:", name, fault, said, repr(text))

    def _kind(
        self, chat: Chat, text: str, status: Status, usage: Usage, error: str
    ) -> tuple[str, str]:
        if status is Status.DONE:
            full = usage.prompt_tokens + usage.completion_tokens == self.context
            whole = usage.completion_tokens == chat.limit or full
            good = whole and len(text) == usage.completion_tokens
            return "full" if full else "done", "" if good else "is not whole"
        if status is Status.STOPPED:
            good = chat.stopped and len(text) == usage.completion_tokens <= chat.limit
            return "stopped", "" if good else "was stopped by nobody, or lost text"
        if error == EMPTY_ANSWER:
            good = is_blank(text) and usage.completion_tokens == len(text)
            return "blank", "" if good else "is not empty"
        if error.startswith(SET_ASIDE):
            return "set aside", "" if chat.poisoned else "is innocent"
        if any(words in error for words in UNLOADED):
            return "unloaded", "" if chat.unloaded else "was not unloaded"
        if error.startswith(TOO_LONG):
            return "too long", ""
        return "failed", "has failed"
