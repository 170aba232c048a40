"""Any series of changes, restarts and kills: the store holds what a plain list would hold."""

import asyncio
import itertools
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.chat.models import (
    Conversation,
    ConversationSettings,
    FinishReason,
    Message,
    Role,
    Sampling,
    Status,
    Usage,
    clean,
)
from app.store.conversations import SqliteStore, open_store

TEXT = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["\ud800", "a\x00b", "\r\n", "x" * 9000]
)
PICK = st.integers(0, 10**6)


@dataclass
class Plain:
    """What should be in the store."""

    chats: dict[int, Conversation]
    messages: dict[int, Message]
    tabs: tuple[int, ...] = ()
    front: int | None = None

    def of(self, chat: int) -> list[Message]:
        return [message for message in self.messages.values() if message.conversation_id == chat]


class StoreMachine(RuleBasedStateMachine):
    """Drives a real database."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner()
        self.ticks = itertools.count(1)
        self.plain = Plain({}, {})
        self.path = self.folder / "chats.db"
        self.open()

    def open(self) -> None:
        self.store: SqliteStore = self.runner.run(
            open_store(self.path, clock=lambda: float(next(self.ticks)))
        )
        assert self.store.problems == ()

    def chat(self, pick: int) -> int:
        return sorted(self.plain.chats)[pick % len(self.plain.chats)]

    def touched(self, chat: int, **changes: object) -> None:
        self.plain.chats[chat] = replace(self.plain.chats[chat], **changes)  # type: ignore[arg-type]

    @rule()
    def create(self) -> None:
        made = self.runner.run(self.store.create_conversation())
        assert made.id > max(self.plain.chats, default=0)
        assert made == Conversation(made.id, "", made.created, made.created)
        self.plain.chats[made.id] = made

    @precondition(lambda self: self.plain.chats)
    @rule(pick=PICK, title=TEXT, draft=TEXT, unread=st.booleans())
    def change(self, pick: int, title: str, draft: str, unread: bool) -> None:
        chat = self.chat(pick)
        self.runner.run(self.store.rename(chat, title))
        self.runner.run(self.store.set_draft(chat, draft))
        self.runner.run(self.store.set_unread(chat, unread))
        self.touched(chat, title=clean(title), draft=clean(draft), unread=unread)

    @precondition(lambda self: self.plain.chats)
    @rule(
        pick=PICK,
        prompt=st.none() | TEXT,
        sampling=st.none()
        | st.builds(
            Sampling, temperature=st.floats(0, 5), seed=st.none() | st.integers(0, 2**32 - 1)
        ),
        most=st.none() | st.integers(0, 1_000_000),
    )
    def set_settings(
        self, pick: int, prompt: str | None, sampling: Sampling | None, most: int | None
    ) -> None:
        chat = self.chat(pick)
        self.runner.run(self.store.set_settings(chat, ConversationSettings(prompt, sampling, most)))
        kept = None if prompt is None else clean(prompt)
        self.touched(chat, settings=ConversationSettings(kept, sampling, most))

    @precondition(lambda self: self.plain.chats)
    @rule(pick=PICK, text=TEXT, role=st.sampled_from(Role), streaming=st.booleans())
    def add(self, pick: int, text: str, role: Role, streaming: bool) -> None:
        chat = self.chat(pick)
        status = Status.STREAMING if streaming else Status.DONE
        made = self.runner.run(self.store.add_message(chat, role, text, status))
        assert made.id > max(self.plain.messages, default=0)
        assert made == Message(made.id, chat, role, clean(text), status, made.created)
        self.plain.messages[made.id] = made
        self.touched(chat, updated=made.created)

    @precondition(lambda self: self.plain.messages)
    @rule(pick=PICK, text=TEXT)
    def checkpoint(self, pick: int, text: str) -> None:
        number = sorted(self.plain.messages)[pick % len(self.plain.messages)]
        self.runner.run(self.store.checkpoint(number, text))
        message = self.plain.messages[number]
        if message.status is Status.STREAMING:
            self.plain.messages[number] = replace(message, text=clean(text))

    @precondition(lambda self: self.plain.messages)
    @rule(
        pick=PICK,
        text=TEXT,
        status=st.sampled_from([Status.DONE, Status.STOPPED, Status.FAILED]),
        finish=st.none() | st.sampled_from(FinishReason),
        counts=st.tuples(*[st.integers(0, 2**40)] * 3),
        error=TEXT,
    )
    def finish(
        self,
        pick: int,
        text: str,
        status: Status,
        finish: FinishReason | None,
        counts: tuple[int, int, int],
        error: str,
    ) -> None:
        number = sorted(self.plain.messages)[pick % len(self.plain.messages)]
        usage = Usage(*counts)
        done = self.runner.run(
            self.store.finish_message(
                number, text, status, finish=finish, usage=usage, seconds=1.5, error=error
            )
        )
        self.plain.messages[number] = replace(
            self.plain.messages[number],
            text=clean(text),
            status=status,
            finish=finish,
            usage=usage,
            seconds=1.5,
            error=clean(error),
        )
        assert done == self.plain.messages[number]

    @precondition(lambda self: self.plain.messages)
    @rule(pick=PICK)
    def cut(self, pick: int) -> None:
        cut = self.plain.messages[sorted(self.plain.messages)[pick % len(self.plain.messages)]]
        self.runner.run(self.store.delete_messages_from(cut.conversation_id, cut.id))
        for message in self.plain.of(cut.conversation_id):
            if message.id >= cut.id:
                del self.plain.messages[message.id]

    @precondition(lambda self: self.plain.chats)
    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        chat = self.chat(pick)
        self.runner.run(self.store.delete_conversation(chat))
        for message in self.plain.of(chat):
            del self.plain.messages[message.id]
        del self.plain.chats[chat]
        self.plain.tabs = tuple(tab for tab in self.plain.tabs if tab != chat)
        if self.plain.front == chat:
            self.plain.front = None

    @precondition(lambda self: self.plain.chats)
    @rule(data=st.data())
    def set_tabs(self, data: st.DataObject) -> None:
        tabs = tuple(data.draw(st.permutations(sorted(self.plain.chats))))
        front = data.draw(st.integers(0, len(tabs) - 1))
        self.runner.run(self.store.set_open_tabs(tabs, front))
        self.plain.tabs, self.plain.front = tabs, tabs[front]

    @rule()
    def restart(self) -> None:
        self.runner.run(self.store.close())
        self.after_start()

    @rule()
    def killed(self) -> None:
        """What a kill leaves are the files as they are between two calls."""
        copy = self.folder / "copy"
        copy.mkdir()
        for file in self.path.parent.glob("chats.*db*"):
            shutil.copy(file, copy)
        self.runner.run(self.store.close())
        for file in self.path.parent.glob("chats.*db*"):
            file.unlink()
        for file in list(copy.iterdir()):
            shutil.move(file, self.path.parent)
        copy.rmdir()
        self.after_start()

    def after_start(self) -> None:
        for number, message in self.plain.messages.items():
            if message.status is Status.STREAMING:
                self.plain.messages[number] = replace(message, status=Status.INTERRUPTED)
        self.open()

    @invariant()
    def the_same(self) -> None:
        if not hasattr(self, "store"):
            return
        run, plain = self.runner.run, self.plain
        ordered = sorted(plain.chats.values(), key=lambda chat: (-chat.updated, -chat.id))
        assert list(run(self.store.conversations())) == ordered
        for chat in plain.chats:
            assert list(run(self.store.messages(chat))) == plain.of(chat)
        front = plain.tabs.index(plain.front) if plain.front is not None else 0
        assert run(self.store.open_tabs()) == (plain.tabs, front)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.runner.run(self.store.close())
            self.runner.close()
            shutil.rmtree(self.folder)


def test_short_series() -> None:
    run_state_machine_as_test(
        StoreMachine, settings=settings(max_examples=8, stateful_step_count=20)
    )


@pytest.mark.soak
def test_long_series() -> None:
    run_state_machine_as_test(
        StoreMachine, settings=settings(max_examples=50, stateful_step_count=50)
    )
