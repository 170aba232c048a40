"""Turns: one at a time in each chat, many chats at once, each with exactly one end."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from app.chat.answer import EMPTY_ANSWER
from app.chat.events import (
    ChatEvent,
    ConversationChanged,
    ConversationDeleted,
    MessageAdded,
    MessageFinished,
    MessagesRemoved,
    TextAppended,
    ThoughtAppended,
    TurnChanged,
    TurnState,
)
from app.chat.models import (
    ChatMessage,
    ConversationSettings,
    FinishReason,
    Message,
    Priority,
    Role,
    Sampling,
    Status,
    TabState,
    Usage,
)
from app.chat.ports import Ended, Event, LeftOut, Reading, Request, Text, Thought, Waiting
from app.chat.turns import ChatService
from app.errors import EngineError, StoreError
from app.sampling import FIELDS
from app.settings import Settings
from app.store.conversations import SqliteStore, open_store
from tests.fakes import FakeGenerator, Script

E = TypeVar("E")


@dataclass
class Room:
    """A service over a real store, with a scripted generator and a clock that the test moves."""

    store: SqliteStore
    generator: FakeGenerator
    settings: Settings = field(default_factory=Settings)
    events: list[ChatEvent] = field(default_factory=list)
    now: float = 100.0
    step: float = 0.0

    def __post_init__(self) -> None:
        self.service = ChatService(
            self.store, self.generator, lambda: self.settings, clock=self._tick
        )
        self.service.subscribe(self.events.append)

    def _tick(self) -> float:
        self.now += self.step
        return self.now

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, happened: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not happened():  # noqa: ASYNC110 - a turn of the loop, not a time, is waited for
                await asyncio.sleep(0)

    async def chat(self) -> int:
        return (await self.service.create()).id

    async def idle(self, *chats: int) -> None:
        await self.until(lambda: not any(chat in self.service._turns for chat in chats))

    async def ask(self, chat: int, text: str) -> Message:
        """Send and wait for the end; returns the answer."""
        assert await self.service.send(chat, text)
        await self.idle(chat)
        return (await self.store.messages(chat))[-1]

    async def texts(self, chat: int) -> list[str]:
        return [message.text for message in await self.store.messages(chat)]

    def shown(self, message_id: int) -> str:
        return "".join(e.text for e in self.of(TextAppended) if e.message_id == message_id)

    def gated(self) -> asyncio.Semaphore:
        self.generator.gate = asyncio.Semaphore(0)
        return self.generator.gate


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., None]:
    def play(scenario: Callable[[Room], Awaitable[None]], *scripts: Script) -> None:
        async def main() -> None:
            store = await open_store(tmp_path / "chats.db")
            generator = FakeGenerator(scripts=list(scripts) or [(Text("Hello"), Text("."))])
            room = Room(store, generator)
            try:
                await scenario(room)
            finally:
                await room.service.close()
                left = asyncio.all_tasks() - {asyncio.current_task()}
                await store.close()
            assert not left
            assert generator.running == 0
            finished = [event.message.id for event in room.of(MessageFinished)]
            assert len(finished) == len(set(finished)), "an answer ended twice"

        asyncio.run(main())

    return play


def test_a_turn_from_send_to_end(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        assert room.service.turn(chat) == TurnState()
        assert await room.service.send(chat, "Why?\r\nSay it.")
        assert room.service.turn(chat).state is TabState.WAITING
        assert await room.texts(chat) == ["Why?\nSay it."]
        await room.idle(chat)
        question, answer = await room.store.messages(chat)
        assert (answer.text, answer.status, answer.finish) == (
            "Hello.",
            Status.DONE,
            FinishReason.STOP,
        )
        assert answer.usage == Usage(10, 2, 0)
        assert room.shown(answer.id) == "Hello."
        assert room.of(MessageAdded)[0] == MessageAdded(question)
        assert room.of(MessageAdded)[1].message.status is Status.STREAMING
        assert room.of(MessageFinished) == [MessageFinished(answer)]
        kinds = [type(event) for event in room.events]
        assert kinds == [
            ConversationChanged,  # created
            MessageAdded,
            ConversationChanged,  # has a title now
            TurnChanged,  # waiting
            MessageAdded,
            TextAppended,
            TurnChanged,  # writing
            TextAppended,
            MessageFinished,
            TurnChanged,  # done
            ConversationChanged,  # unread
        ]
        kept = await room.service.conversation(chat)
        assert kept is not None
        assert kept.title == "Why?"

    run(scenario)


@pytest.mark.parametrize("text", ["", "   ", "\n", "\x00", "\x00" * 1000, " \t\x00\r\n"])
def test_blank_text_does_nothing(run: Callable[..., None], text: str) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        assert not await room.service.send(chat, text)
        assert await room.texts(chat) == []
        await room.ask(chat, "next")

    run(scenario)


def test_the_request_has_history_settings_and_priority(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        room.settings = Settings(
            system_prompt="General.", max_answer_tokens=50, sampling=Sampling(temperature=0.1)
        )
        chat = await room.chat()
        await room.ask(chat, "one")
        own = ConversationSettings("Own.", Sampling(seed=1), 0)
        await room.service.set_settings(chat, own)
        room.service.set_front(chat)
        await room.ask(chat, "two")
        first, second = room.generator.requests
        created = (await room.store.conversation(chat)).created
        system, user, assistant = Role.SYSTEM, Role.USER, Role.ASSISTANT
        assert first == Request(
            (ChatMessage(system, "General."), ChatMessage(user, "one")),
            Sampling(temperature=0.1),
            50,
            owner=chat,
            since=created,
            may_leave_out=True,
            sampling_open=frozenset(FIELDS) - {"temperature"},
        )
        assert first.urgency.priority is Priority.NORMAL
        assert second == Request(
            (
                ChatMessage(system, "Own."),
                ChatMessage(user, "one"),
                ChatMessage(assistant, "Hello."),
                ChatMessage(user, "two"),
            ),
            Sampling(seed=1),
            None,
            owner=chat,
            since=created,
            may_leave_out=True,
        )
        assert second.urgency.priority is Priority.FRONT

    run(scenario)


def test_the_front_chat_is_urgent_from_the_moment_it_is_in_front(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chats = [await room.chat() for _ in range(3)]
        for chat in chats:
            await room.service.send(chat, "go")
        await room.until(lambda: room.generator.running == 3)

        def classes() -> list[Priority]:
            return [request.urgency.priority for request in room.generator.requests]

        normal, front = Priority.NORMAL, Priority.FRONT
        assert classes() == [normal, normal, normal]
        room.service.set_front(chats[0])
        assert classes() == [front, normal, normal]
        for _ in chats:
            gate.release()
        await room.until(lambda: len(room.of(TextAppended)) == 3)
        room.service.set_front(chats[2])
        assert classes() == [normal, normal, front]
        room.service.set_front(None)
        assert classes() == [normal, normal, normal]

    run(scenario)


def test_an_answer_that_is_interrupted_goes_on_and_counts_once(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chat = await room.chat()
        await room.service.send(chat, "go")
        await room.until(lambda: room.generator.running)
        for _ in range(4):
            gate.release()
        await room.until(lambda: room.service.turn(chat).written == 3)
        room.service.stop(chat)
        await room.idle(chat)
        states = [event.turn.state for event in room.of(TurnChanged)]
        waiting, reading, writing = TabState.WAITING, TabState.READING, TabState.WRITING
        assert states[:4] == [waiting, reading, writing, waiting]
        _, answer = await room.store.messages(chat)
        assert (answer.text, answer.usage) == ("Hello", Usage(9, 3, 4))

    again = Waiting(0, "the engine is starting again")
    run(scenario, (Reading(9, 9, 4), Text("Hel", 2), again, Text("lo"), Reading(12, 12, 0)))


def test_one_turn_in_each_chat_and_many_chats_at_once(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chats = [await room.chat() for _ in range(6)]
        for chat in chats:
            assert await room.service.send(chat, f"question {chat}")
            assert not await room.service.send(chat, "a second one")
        twice = await asyncio.gather(*(room.service.send(chat, "third") for chat in chats))
        assert not any(twice)
        await room.until(lambda: room.generator.running == 6)
        for _ in range(6 * 3):
            gate.release()
        await room.idle(*chats)
        for chat, answer in zip(chats, "abcdef", strict=True):
            assert await room.texts(chat) == [f"question {chat}", answer * 2]

    run(scenario, *[(Text(letter), Text(letter)) for letter in "abcdef"])


def test_two_sends_at_the_same_moment(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        room.gated()
        chat = await room.chat()
        results = await asyncio.gather(*(room.service.send(chat, word) for word in "abc"))
        assert results == [True, False, False]
        assert (await room.texts(chat))[0] == "a"

    run(scenario)


def test_the_states_are_told_at_once_and_steady_ones_ten_times_a_second(
    run: Callable[..., None],
) -> None:
    async def scenario(room: Room) -> None:
        room.step = 1 / 64
        chat = await room.chat()
        told: list[tuple[float, TabState]] = []
        room.service.subscribe(
            lambda event: (
                told.append((room.now, event.turn.state))
                if isinstance(event, TurnChanged)
                else None
            )
        )
        room.service.set_front(chat)
        await room.ask(chat, "go")
        states = [event.turn for event in room.of(TurnChanged)]
        assert states[:4] == [
            TurnState(TabState.WAITING),
            TurnState(TabState.WAITING, place=2),
            TurnState(TabState.WAITING, place=1),
            TurnState(TabState.READING, done=1, total=100, cached=0),
        ]
        for kind, least in ((TabState.READING, 100 // 7), (TabState.WRITING, 200 // 7)):
            times = [when for when, state in told if state is kind]
            assert len(times) >= least
            assert all(after - before >= 0.1 for before, after in itertools.pairwise(times))
        assert states[-2].tokens_per_second == pytest.approx(3 * 64, rel=0.05)
        assert states[-1] == TurnState(TabState.IDLE)

    run(
        scenario,
        [
            Waiting(2),
            Waiting(1),
            *(Reading(done, 100, 0) for done in range(1, 101)),
            *(Text("x", 3) for _ in range(200)),
        ],
    )


def test_checkpoints_come_once_a_second(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        room.step = 0.1
        chat = await room.chat()
        await room.service.send(chat, "go")
        kept = [""]
        for count in range(1, 51):
            gate.release()
            await room.until(lambda count=count: len(room.of(TextAppended)) == count)
            text = (await room.texts(chat))[-1]
            if text != kept[-1]:
                kept.append(text)
        # One every ten pieces (0.1 s each), and none lags by more than eleven.
        assert 4 <= len(kept) - 1 <= 6
        assert all(len(after) - len(before) <= 11 for before, after in itertools.pairwise(kept))

    run(scenario, [Text("x")] * 60)


@pytest.mark.slow
def test_text_before_a_pause_is_kept_too(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chat = await room.chat()
        await room.service.send(chat, "go")
        gate.release()
        await room.until(lambda: room.of(TextAppended))
        async with asyncio.timeout(20):
            text = ""
            while text != "before the pause":
                text = (await room.texts(chat))[-1]

    run(scenario, (Text("before the pause"), Text("after")))


def test_stop_keeps_what_was_shown(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chat = await room.chat()
        await room.service.send(chat, "go")
        for _ in range(3):
            gate.release()
        await room.until(lambda: len(room.of(TextAppended)) == 2)
        room.service.stop(chat)
        room.service.stop(chat)
        gate.release()
        await room.idle(chat)
        answer = (await room.store.messages(chat))[-1]
        assert (answer.text, answer.status, answer.finish) == (
            "Result: ##",
            Status.STOPPED,
            FinishReason.CANCELLED,
        )
        assert answer.usage == Usage(7, 2, 3)
        assert room.shown(answer.id) == answer.text
        assert room.service.turn(chat) == TurnState(TabState.STOPPED)
        assert room.generator.closed_early == 1
        room.service.stop(chat)
        room.service.stop_all()

    run(scenario, (Reading(7, 7, 3), Text("Result: "), Text("##"), Text("late")))


@pytest.mark.parametrize("quits", [False, True])
def test_stop_takes_what_was_held_back(run: Callable[..., None], quits: bool) -> None:
    """Case 29: also when the app quits."""

    async def scenario(room: Room) -> None:
        gate = room.gated()
        room.generator.held_back = (Thought("</thi"), Text("##"), Ended(FinishReason.STOP, Usage()))
        chat = await room.chat()
        await room.service.send(chat, "go")
        gate.release()
        await room.until(lambda: room.of(TextAppended))
        if quits:
            await room.service.close()
        else:
            room.service.stop(chat)
            room.service.stop(chat)
            await room.idle(chat)
        answer = (await room.store.messages(chat))[-1]
        assert (answer.text, answer.reasoning) == ("Result: ##", "</thi")
        assert (answer.status, answer.finish) == (Status.STOPPED, FinishReason.CANCELLED)
        assert room.shown(answer.id) == answer.text

    run(scenario, (Text("Result: "), Text("late")))


def test_stop_before_the_first_token_then_send(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chat = await room.chat()
        await room.service.send(chat, "a")
        room.service.stop(chat)
        assert await room.service.send(chat, "b")
        for _ in range(3):
            gate.release()
        await room.idle(chat)
        assert await room.texts(chat) == ["a", "", "b", "Hello."]
        assert [line.content for line in room.generator.requests[-1].messages] == ["a", "b"]

    run(scenario)


def test_a_stop_while_the_message_is_being_stored_counts(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        async with asyncio.TaskGroup() as group:
            group.create_task(room.service.send(chat, "a"))
            await asyncio.sleep(0)
            room.service.stop_all()
        await room.idle(chat)
        assert room.service.turn(chat).state is TabState.STOPPED
        assert room.generator.requests == []

    run(scenario)


class LateGenerator(FakeGenerator):
    """Delivers three more pieces after it was told to stop, as a slow engine does."""

    async def generate(self, request: Request) -> AsyncIterator[Event]:
        number = len(self.requests)
        self.requests.append(request)
        late = 0
        while late < 3:
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                late = 1
            late += late > 0
            yield Text(f"<{number}>")
        yield Ended(FinishReason.CANCELLED, Usage())


def test_stop_then_regenerate_never_mixes_two_answers(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        generator = LateGenerator()
        service = ChatService(room.store, generator, Settings)
        service.subscribe(room.events.append)
        chat = await room.chat()
        await service.send(chat, "go")
        for number in range(15):
            await room.until(
                lambda number=number: any(f"<{number}>" in e.text for e in room.of(TextAppended))
            )
            service.stop(chat)
            assert await service.regenerate(chat)
            assert len(await room.texts(chat)) <= 2
        await room.until(lambda: any("<15>" in e.text for e in room.of(TextAppended)))
        await service.close()
        answers = {event.message.id for event in room.of(MessageFinished)}
        assert len(answers) == 16
        for number, answer in enumerate(sorted(answers)):
            assert set(room.shown(answer).replace("><", "> <").split()) <= {f"<{number}>"}
        _, answer = await room.store.messages(chat)
        assert answer.text == room.shown(answer.id) != ""
        assert len(room.of(MessagesRemoved)) == 15

    run(scenario)


def test_regenerate_replaces_a_running_answer(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chat = await room.chat()
        await room.service.send(chat, "go")
        gate.release()
        await room.until(lambda: room.of(TextAppended))
        assert await room.service.regenerate(chat)
        for _ in range(2):
            gate.release()
        await room.idle(chat)
        assert await room.texts(chat) == ["go", "second"]
        stopped, finished = (event.message for event in room.of(MessageFinished))
        assert (stopped.text, stopped.status) == ("first", Status.STOPPED)
        assert room.of(MessagesRemoved) == [MessagesRemoved(chat, stopped.id)]
        assert finished.text == "second"
        assert len(room.generator.requests[-1].messages) == 1

    run(scenario, (Text("first"), Text("more")), (Text("second"),))


def test_regenerate_without_a_question_does_nothing(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        assert not await room.service.regenerate(chat)
        await room.store.add_message(chat, Role.ASSISTANT, "imported", Status.DONE)
        assert not await room.service.retry(chat)
        assert await room.texts(chat) == ["imported"]
        await room.ask(chat, "a")
        assert len(room.generator.requests[-1].messages) == 2

    run(scenario)


@pytest.mark.parametrize(
    ("script", "text", "error"),
    [
        ((), "", EMPTY_ANSWER),
        ((Text("\n\n"),), "\n\n", EMPTY_ANSWER),
        ((Ended(FinishReason.LENGTH, Usage()),), "", EMPTY_ANSWER),
        ((Ended(FinishReason.ENGINE_DIED, Usage(), "It died."),), "", "It died."),
        ((Text("half"), Ended(FinishReason.ENGINE_DIED, Usage(), "It died.")), "half", "It died."),
        ((Text("half"), Ended(FinishReason.ERROR, Usage(), "It broke.")), "half", "It broke."),
    ],
)
def test_a_failure_is_visible_and_retry_works(
    run: Callable[..., None], script: Script, text: str, error: str
) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        answer = await room.ask(chat, "a")
        assert (answer.text, answer.status, answer.error) == (text, Status.FAILED, error)
        assert room.shown(answer.id) == text
        assert room.service.turn(chat) == TurnState(TabState.FAILED, error=error)
        kept = await room.service.conversation(chat)
        assert kept is not None
        assert (kept.draft, kept.unread) == ("", False)
        assert await room.service.retry(chat)
        await room.idle(chat)
        assert await room.texts(chat) == ["a", "fine"]
        assert room.service.turn(chat).state is TabState.DONE_UNREAD
        await room.ask(chat, "b")
        assert [line.content for line in room.generator.requests[-1].messages] == ["a", "fine", "b"]

    run(scenario, script, (Text("fine"),))


TOO_LONG = "This needs 30,000 tokens, but a chat holds at most 8,192."


def test_a_refused_message_is_the_draft_again_and_does_not_block_the_chat(
    run: Callable[..., None],
) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        await room.ask(chat, "a")
        await room.service.set_draft(chat, "far too long")
        answer = await room.ask(chat, "far too long")
        assert (answer.status, answer.error) == (Status.FAILED, TOO_LONG)
        assert room.service.turn(chat) == TurnState(TabState.FAILED, error=TOO_LONG)
        changes = [event.conversation.draft for event in room.of(ConversationChanged)]
        assert changes[-2:] == ["", "far too long"]
        await room.ask(chat, "short")
        assert [line.content for line in room.generator.requests[-1].messages] == [
            "a",
            "fine",
            "short",
        ]

    refused = (Ended(FinishReason.ERROR, Usage(), TOO_LONG),)
    run(scenario, (Text("fine"),), refused, (Text("fine"),))


def test_a_retry_of_a_refused_message_takes_it_from_the_input_box(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        await room.ask(chat, "a")
        assert (await room.service.conversations())[0].draft == "a"
        assert await room.service.retry(chat)
        await room.idle(chat)
        assert await room.texts(chat) == ["a", "fine"]
        assert (await room.service.conversations())[0].draft == ""

    run(scenario, (Ended(FinishReason.ERROR, Usage(), "No model."),), (Text("fine"),))


def test_what_is_typed_meanwhile_is_not_overwritten(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chat = await room.chat()
        await room.service.send(chat, "a")
        await room.service.set_draft(chat, "new thought")
        gate.release()
        await room.idle(chat)
        assert (await room.service.conversations())[0].draft == "new thought"
        assert await room.service.retry(chat)
        assert (await room.service.conversations())[0].draft == "new thought"

    run(scenario, (Ended(FinishReason.ERROR, Usage(), "No model."),))


def test_unread_marks(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        front, back = await room.chat(), await room.chat()
        room.service.set_front(front)
        await room.ask(front, "a")
        await room.ask(back, "b")
        assert room.service.turn(front).state is TabState.IDLE
        assert room.service.turn(back).state is TabState.DONE_UNREAD
        unread = {chat.id: chat.unread for chat in await room.service.conversations()}
        assert unread == {front: False, back: True}
        again = ChatService(room.store, room.generator, Settings)  # after a restart
        await again.conversations()
        assert again.turn(back).state is TabState.DONE_UNREAD
        count = len(room.events)
        await room.service.mark_read(front)
        assert len(room.events) == count
        await room.service.mark_read(back)
        assert room.of(TurnChanged)[-1] == TurnChanged(back, TurnState())
        assert not any(chat.unread for chat in await room.service.conversations())

    run(scenario)


def test_delete_ends_the_turn_and_nothing_of_it_is_told_afterwards(
    run: Callable[..., None],
) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chat, other = await room.chat(), await room.chat()
        await room.service.send(chat, "a")
        gate.release()
        await room.until(lambda: room.of(TextAppended))
        await room.service.delete(chat)
        assert room.events[-1] == ConversationDeleted(chat)
        assert room.generator.forgotten == [chat]
        count = len(room.events)
        gate.release()
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(room.events) == count
        assert room.service.turn(chat) == TurnState()
        with pytest.raises(StoreError, match="deleted"):
            await room.service.send(chat, "b")
        assert not await room.service.regenerate(chat)
        assert [kept.id for kept in await room.service.conversations()] == [other]

    run(scenario)


def test_close_stops_all_and_nothing_starts_afterwards(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chats = [await room.chat() for _ in range(4)]
        for chat in chats:
            await room.service.send(chat, "a")
        for _ in chats:
            gate.release()
        await room.until(lambda: len(room.of(TextAppended)) == 4)
        await room.service.close()
        for chat in chats:
            answer = (await room.store.messages(chat))[-1]
            assert answer.status is Status.STOPPED
            assert answer.text == room.shown(answer.id)
        assert sum(len(event.text) for event in room.of(TextAppended)) >= 4 * len("Hell")
        assert not await room.service.send(chats[0], "b")
        assert not await room.service.regenerate(chats[0])

    run(scenario)


def test_a_message_that_cannot_be_stored_is_not_sent(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        await limit_pages(room, 1)
        with pytest.raises(StoreError, match="disk is full"):
            await room.service.send(chat, "x" * 100_000)
        assert room.of(MessageAdded) == []
        assert room.service.turn(chat) == TurnState()
        await limit_pages(room, 99_999)
        await room.ask(chat, "x" * 100_000)

    run(scenario)


def test_an_answer_that_cannot_be_stored_is_told(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        gate = room.gated()
        chat = await room.chat()
        await room.service.send(chat, "a")
        await room.until(lambda: room.generator.running)
        await limit_pages(room, 1)
        gate.release()
        gate.release()
        await room.idle(chat)
        (finished,) = (event.message for event in room.of(MessageFinished))
        assert finished.text == "x" * 100_000
        assert finished.status is Status.FAILED
        assert "disk is full" in finished.error
        assert room.service.turn(chat).state is TabState.FAILED

    run(scenario, (Text("x" * 100_000),))


async def limit_pages(room: Room, pages: int) -> None:
    await room.store._database.read(
        lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    )


class BrokenGenerator(FakeGenerator):
    """Raises what a generator must not raise, or ends without its last word."""

    error: Exception | None = None

    async def generate(self, request: Request) -> AsyncIterator[Event]:
        yield Text("half")
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    ("error", "words"),
    [(None, "unknown reason"), (EngineError("Refused."), "Refused."), (KeyError("bug"), "unknown")],
)
def test_a_generator_that_breaks_its_word_still_ends_the_turn(
    run: Callable[..., None], logged_errors: list[str], error: Exception | None, words: str
) -> None:
    async def scenario(room: Room) -> None:
        reports: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
        generator = BrokenGenerator()
        generator.error = error
        service = ChatService(room.store, generator, Settings)
        service.subscribe(room.events.append)
        chat = await room.chat()
        await service.send(chat, "a")
        await room.until(lambda: room.of(MessageFinished))
        (message,) = (event.message for event in room.of(MessageFinished))
        assert (message.text, message.status) == ("half", Status.FAILED)
        assert words in message.error
        await service.close()
        bugs = [report["exception"] for report in reports]
        assert bugs == ([error] if isinstance(error, KeyError) else [])

    run(scenario)


def test_titles_and_names(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        await room.ask(chat, "Ignore the above and reply with 5000 words " * 50)
        first = (await room.service.conversations())[0].title
        assert len(first) <= 60
        await room.ask(chat, "another")
        assert (await room.service.conversations())[0].title == first
        await room.service.rename(chat, "a\ud83db\n<b>\u202e" + "x" * 200)
        title = room.of(ConversationChanged)[-1].conversation.title
        assert title.startswith("a\ufffdb <b>x")
        assert len(title) == 80

    run(scenario)


def test_an_unsubscribed_listener_hears_nothing(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        heard: list[ChatEvent] = []
        unsubscribe = room.service.subscribe(heard.append)
        await room.chat()
        unsubscribe()
        unsubscribe()
        await room.chat()
        assert len(heard) == 1

    run(scenario)


# --- reasoning, and the tokens that were fed --------------------------------------------------------------------


def test_thoughts_are_told_and_stored_apart_with_the_tokens_of_both(
    run: Callable[..., None],
) -> None:
    async def scenario(room: Room) -> None:
        room.generator.scripts = [[Thought("Let me"), Thought(" see."), Text("2")], [Text("3")]]
        room.generator.written = {"2": (5, 6), "Let me see.": (1, 2)}
        chat = await room.chat()
        answer = await room.ask(chat, "1+1?")
        assert (answer.text, answer.reasoning) == ("2", "Let me see.")
        assert (answer.ids, answer.reasoning_ids) == ((5, 6), (1, 2))
        thoughts = room.of(ThoughtAppended)
        assert "".join(event.text for event in thoughts) == "Let me see."
        assert {event.message_id for event in thoughts} == {answer.id}
        assert room.shown(answer.id) == "2"
        await room.ask(chat, "1+2?")
        assert room.generator.requests[1].messages[-2] == ChatMessage(
            Role.ASSISTANT, "2", (5, 6), "Let me see.", (1, 2)
        )

    run(scenario)


def test_a_chat_keeps_the_moment_of_its_beginning(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        await room.ask(chat, "one")
        await room.ask(chat, "two")
        created = (await room.store.conversation(chat)).created
        assert [request.since for request in room.generator.requests] == [created, created]

    run(scenario)


def test_how_much_a_chat_shall_reason_is_its_own_setting(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat()
        wanted = ConversationSettings(thinking=False, effort="low")
        await room.store.set_settings(chat, wanted)
        assert (await room.store.conversation(chat)).settings == wanted
        await room.ask(chat, "one")
        assert room.generator.requests[0].thinking is False
        assert room.generator.requests[0].effort == "low"

    run(scenario)


def test_half_a_thought_is_there_after_a_stop(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        room.generator.gate = asyncio.Semaphore(0)
        room.generator.scripts = [[Thought("Let me"), Text("never")]]
        chat = await room.chat()
        assert await room.service.send(chat, "1+1?")
        room.generator.gate.release()
        await room.until(lambda: room.of(ThoughtAppended))
        (_, writing) = await room.service.messages(chat)
        assert writing.reasoning == "Let me"
        room.service.stop(chat)
        await room.idle(chat)
        stopped = (await room.store.messages(chat))[-1]
        assert (stopped.status, stopped.text, stopped.reasoning) == (Status.STOPPED, "", "Let me")

    run(scenario)


# --- a chat that is full ----------------------------------------------------------------------------------------


def test_what_was_left_out_stays_out_and_is_known_to_the_answer(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        room.generator.scripts = [[Text("1")], [Text("2")], [LeftOut(2), Text("3")], [Text("4")]]
        chat = await room.chat()
        for number in "1234":
            await room.ask(chat, f"q{number}")
        messages = await room.store.messages(chat)
        third = messages[2].id
        assert [message.sent_from for message in messages] == [0, 0, 0, 0, 0, third, 0, third]
        sent = [[line.content for line in request.messages] for request in room.generator.requests]
        assert sent[2] == ["q1", "1", "q2", "2", "q3"]
        assert sent[3] == ["q2", "2", "q3", "3", "q4"]
        assert all(request.may_leave_out for request in room.generator.requests)

    run(scenario)


def test_who_wants_a_full_chat_to_stop_gets_all_of_it_sent(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        room.generator.scripts = [[Text("1")], [LeftOut(2), Text("2")], [Text("3")]]
        chat = await room.chat()
        await room.ask(chat, "q1")
        await room.ask(chat, "q2")
        room.settings = Settings(when_full="stop")
        await room.ask(chat, "q3")
        last = room.generator.requests[-1]
        assert not last.may_leave_out
        assert [line.content for line in last.messages] == ["q1", "1", "q2", "2", "q3"]

    run(scenario)


def test_a_refused_answer_does_not_bring_back_what_was_left_out(run: Callable[..., None]) -> None:
    async def scenario(room: Room) -> None:
        refused = Ended(FinishReason.ERROR, Usage(), "Too long.", "context_length_exceeded")
        room.generator.scripts = [[Text("1")], [LeftOut(2), Text("2")], [refused], [Text("4")]]
        chat = await room.chat()
        for number in "1234":
            await room.ask(chat, f"q{number}")
        assert [line.content for line in room.generator.requests[-1].messages] == ["q2", "2", "q4"]

    run(scenario)
