"""Any series of sends, stops, regenerations and deletions in several chats, with the engine going on between."""

import asyncio
import itertools
import tempfile
from collections.abc import Coroutine, Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.events import (
    ChatEvent,
    ConversationDeleted,
    MessageAdded,
    MessageFinished,
    MessagesRemoved,
    TextAppended,
    TurnChanged,
)
from app.chat.models import FinishReason, Role, Status, Usage
from app.chat.ports import Ended, Reading, Text, Waiting
from app.chat.turns import ChatService
from app.settings import Settings
from app.store.conversations import open_store
from tests.fakes import FakeGenerator, Script

CHATS = 3
EARLIER = "and so on " * 20
FULL = 500
"""Tokens (words, in short) of a context that is nearly full of what stands in each chat before."""
USED = 400
"""Tokens that are counted for every prompt: so many that a summary is wanted."""
EVENTS = st.one_of(
    st.builds(Waiting, st.integers(0, 3)),
    st.builds(Reading, st.integers(0, 9), st.just(USED), st.just(2)),
    st.builds(Text, st.text("ab \n\x00\ud800", max_size=4), st.integers(0, 3)),
)
ENDS = st.builds(
    Ended, st.sampled_from(FinishReason), st.just(Usage(USED, 5, 2)), st.just("Words.")
)
SCRIPTS = st.lists(
    st.builds(
        lambda events, end: [*events, *end],
        st.lists(EVENTS, max_size=6),
        st.lists(ENDS, max_size=1),
    ),
    min_size=1,
    max_size=8,
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["send", "stop", "regenerate", "delete", "go", "go", "front", "warm", "all"]
        ),
        st.integers(0, CHATS - 1),
        st.integers(0, 6),
    ),
    min_size=12,
    max_size=30,
)


class Witness:
    """Hears all events and checks what each may say."""

    def __init__(self) -> None:
        self.text: dict[int, str] = {}
        self.chat: dict[int, int] = {}
        self.streaming: dict[int, int] = {}
        self.deleted: set[int] = set()
        self.busy: dict[int, bool] = {}

    def hear(self, event: ChatEvent) -> None:
        if isinstance(event, MessageAdded):
            message = event.message
            assert message.conversation_id not in self.deleted
            if message.role is Role.ASSISTANT:
                assert message.conversation_id not in self.streaming, "two answers at once"
                self.streaming[message.conversation_id] = message.id
                self.text[message.id] = ""
        elif isinstance(event, TextAppended):
            assert self.streaming[event.conversation_id] == event.message_id
            self.text[event.message_id] += event.text
        elif isinstance(event, MessageFinished):
            assert self.streaming.pop(event.message.conversation_id) == event.message.id
            assert event.message.status is not Status.STREAMING
            assert event.message.text == self.text[event.message.id]
        elif isinstance(event, MessagesRemoved):
            assert event.conversation_id not in self.streaming
        elif isinstance(event, ConversationDeleted):
            assert event.conversation_id not in self.streaming
            self.deleted.add(event.conversation_id)
        elif isinstance(event, TurnChanged):
            self.busy[event.conversation_id] = event.turn.busy


class Play:
    """Three chats over a real store; the steps happen while the calls before may still run."""

    def __init__(self, service: ChatService, chats: list[int], group: asyncio.TaskGroup) -> None:
        self.service = service
        self.chats = chats
        self.witness = Witness()
        service.subscribe(self.witness.hear)
        self._group = group
        self._calls: list[asyncio.Task[bool]] = []

    async def act(self, what: str, chat: int, count: int) -> None:
        if what == "send" and chat not in self.witness.deleted:
            self._call(self.service.send(chat, f"question {count}"))
        elif what == "regenerate":
            self._call(self.service.regenerate(chat))
        elif what == "delete" and count == 0:
            await asyncio.gather(*self._calls)
            await self.service.delete(chat)
        elif what == "stop":
            self.service.stop(chat)
        elif what == "all":
            self.service.stop_all()
        elif what == "front":
            self.service.set_front(chat)
        elif what == "warm":
            self.service.warm(chat)
            if count % 2:
                self.service.stop_warming(chat)

    def _call(self, call: Coroutine[None, None, bool]) -> None:
        self._calls.append(self._group.create_task(call))

    async def check(self) -> None:
        assert not self.witness.streaming
        for chat in self.chats:
            assert not self.witness.busy.get(chat, False)
            assert not self.service.turn(chat).busy
            messages = await self.service.messages(chat)
            assert not (chat in self.witness.deleted and messages)
            roles = [message.role for message in messages]
            assert (Role.ASSISTANT, Role.ASSISTANT) not in itertools.pairwise(roles)
            for message in messages:
                assert message.status is not Status.STREAMING
                assert message.text == self.witness.text.get(message.id, message.text)


async def play(
    folder: Path, scripts: Sequence[Script], steps: list[tuple[str, int, int]], context: int
) -> None:
    store = await open_store(folder / "chats.db")
    gate = asyncio.Semaphore(0)
    generator = FakeGenerator(scripts=list(scripts), gate=gate, context_tokens=context)
    general = Settings(when_full="summarise" if context else "leave_out")
    service = ChatService(store, generator, lambda: general)
    chats = [(await service.create()).id for _ in range(CHATS)]
    for chat in chats:
        for role in (Role.USER, Role.ASSISTANT) * 3 if context else ():
            await store.add_message(chat, role, EARLIER, Status.DONE)
    async with asyncio.TaskGroup() as group:
        game = Play(service, chats, group)
        for what, index, count in steps:
            await game.act(what, chats[index], count)
            if what == "go":
                for _ in range(2 * count):
                    gate.release()
                    await store.value("a moment")
    await service.close()
    assert (generator.running, generator.warming) == (0, 0)
    await game.check()
    await store.close()


@settings(max_examples=30)
@given(SCRIPTS, STEPS, st.sampled_from([0, FULL]))
def test_every_answer_ends_once_and_is_stored_as_shown(
    scripts: list[Script], steps: list[tuple[str, int, int]], context: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), scripts, steps, context))
