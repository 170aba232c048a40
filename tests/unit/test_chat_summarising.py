"""Summaries of full chats: written behind the answers, used from then on, and never in anybody's way."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from app.chat.events import MessagesRemoved, SummaryChanged
from app.chat.models import FinishReason, Message, Priority, Role, Summary, Usage
from app.chat.ports import Ended, Event, Text, Thought
from app.chat.summarising import TRIES
from app.chat.turns import ChatService
from app.settings import Settings
from app.store.conversations import SqliteStore, open_store
from tests.fakes import FakeGenerator

ROOM = 300
"""Tokens of the context: words, and three for each message."""
LONG = "word " * 40
SUMMARY = "They spoke of words."


class Room:
    """A service over a real store; each answer is the next letter and 40 words."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.generator = Writer()
        self.settings = Settings(when_full="summarise", system_prompt="Be brief.")
        self.service = ChatService(store, self.generator, lambda: self.settings)
        self.told: list[SummaryChanged | MessagesRemoved] = []
        self.service.subscribe(
            lambda event: (
                self.told.append(event)
                if isinstance(event, SummaryChanged | MessagesRemoved)
                else None
            )
        )

    async def chat(self, questions: int) -> int:
        """A chat with so many questions, each answered."""
        chat = (await self.service.create()).id
        for number in range(questions):
            await self.settled()
            await self.ask(chat, f"q{number}")
        return chat

    async def ask(self, chat: int, text: str) -> Message:
        """Send, and wait for the end of the answer, not of what follows from it."""
        assert await self.service.send(chat, f"{text} {LONG}")
        await self.until(lambda: chat not in self.service._turns)
        return (await self.store.messages(chat))[-1]

    async def settled(self) -> None:
        """Wait until no summary is being written."""
        await self.until(lambda: not self.service._summarising._running)

    async def until(self, happened: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not happened():  # noqa: ASYNC110 - a turn of the loop, not a time, is waited for
                await asyncio.sleep(0)


class Writer(FakeGenerator):
    """Answers turns with 40 words, and what is asked aside by the `summaries`, in order (the last again and again)."""

    def __init__(self) -> None:
        super().__init__(context_tokens=ROOM)
        self.turns: list[tuple[str, ...]] = []
        self.asides: list[tuple[str, ...]] = []
        self.summaries: list[list[Event]] = [[Thought("Hm."), Text(f" {SUMMARY}\n")]]
        self.hold: asyncio.Event | None = None
        """What holds back every summary, where set."""

    async def generate(self, request):  # type: ignore[no-untyped-def]
        lines = tuple(line.content for line in request.messages)
        if request.aside:
            self.asides.append(lines)
            if self.hold is not None:
                await self.hold.wait()
            self.scripts = [self.summaries[min(len(self.asides), len(self.summaries)) - 1]]
        else:
            self.turns.append(lines)
            self.scripts = [[Text(f"a{len(self.turns) - 1} {LONG}", tokens=41)]]
        async for event in super().generate(request):
            yield event


Scenario = Callable[[Room], Awaitable[None]]


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Scenario], None]:
    def play(scenario: Scenario) -> None:
        async def main() -> None:
            store = await open_store(tmp_path / "chats.db")
            room = Room(store)
            try:
                await scenario(room)
            finally:
                await room.service.close()
                left = asyncio.all_tasks() - {asyncio.current_task()}
                await store.close()
            assert not left
            assert room.generator.running == 0

        asyncio.run(main())

    return play


def heads(lines: tuple[str, ...]) -> list[str]:
    """The first word of each line."""
    return [line.split()[0] for line in lines]


def test_a_chat_that_is_nearly_full_goes_on_with_a_summary(run: Callable[[Scenario], None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat(2)
        await room.settled()
        assert room.generator.asides == [], "nothing is written before there is need"
        assert room.generator.measured == 0, "nor is the whole chat measured after every answer"
        await room.ask(chat, "q2")
        await room.settled()
        messages = await room.store.messages(chat)
        # Of the three turns (88 tokens each) two are never covered.
        (asked,) = room.generator.asides
        assert heads(asked) == ["Be", "q0", "a0", "Now"]
        assert "at most 11 words" in asked[-1]
        request = next(one for one in room.generator.requests if one.aside)
        assert request.urgency.priority is Priority.BACKGROUND
        assert (request.owner, request.thinking, request.max_tokens) == (chat, False, ROOM // 8)
        assert not request.may_leave_out
        stands = Summary(chat, messages[1].id, SUMMARY)
        assert await room.service.summary(chat) == stands
        assert room.told == [SummaryChanged(chat, stands)]
        answer = await room.ask(chat, "q3")
        sent = room.generator.turns[-1]
        assert [line.split()[0] for line in sent] == ["Be", "[The", "q1", "a1", "q2", "a2", "q3"]
        assert SUMMARY in sent[1]
        assert sent[2:-1] == tuple(message.text for message in messages[2:])
        assert answer.sent_from == messages[2].id
        assert len(await room.store.messages(chat)) == 8, "nothing is deleted"

    run(scenario)


def test_the_next_summary_is_made_of_the_last_one(run: Callable[[Scenario], None]) -> None:
    async def scenario(room: Room) -> None:
        room.generator.summaries = [[Text("First.")], [Text("Second.")]]
        chat = await room.chat(3)
        await room.settled()
        await room.ask(chat, "q3")
        await room.settled()
        _, second = room.generator.asides
        assert heads(second) == ["Be", "[The", "q1", "a1", "Now"]
        assert "First." in second[1]
        await room.ask(chat, "q4")
        sent = room.generator.turns[-1]
        assert heads(sent) == ["Be", "[The", "q2", "a2", "q3", "a3", "q4"]
        assert "Second." in sent[1]
        assert "First." not in sent[1]

    run(scenario)


def test_who_sends_before_it_is_there_does_not_wait(run: Callable[[Scenario], None]) -> None:
    async def scenario(room: Room) -> None:
        room.generator.hold = asyncio.Event()
        chat = await room.chat(3)
        await room.until(lambda: room.generator.asides)
        await room.ask(chat, "q3")
        assert heads(room.generator.turns[-1]) == ["Be", "q0", "a0", "q1", "a1", "q2", "a2", "q3"]
        request = room.generator.requests[-1]
        assert request.may_leave_out
        assert len(room.generator.asides) == 1, "one at a time"
        room.generator.hold.set()
        await room.settled()
        await room.ask(chat, "q4")
        assert SUMMARY in room.generator.turns[-1][1]

    run(scenario)


@pytest.mark.parametrize(
    "script",
    [
        [Text("Half a"), Ended(FinishReason.LENGTH, Usage())],
        [Ended(FinishReason.ERROR, Usage(), "Too long.", "context_length_exceeded")],
        [Text("Well"), Ended(FinishReason.ENGINE_DIED, Usage(), "It died.")],
        [Thought("Nothing but thoughts.")],
        [Text(" \n")],
    ],
)
def test_one_that_comes_to_nothing_is_dropped_and_not_tried_for_ever(
    run: Callable[[Scenario], None], script: list[Event], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(room: Room) -> None:
        room.generator.summaries = [script]
        chat = await room.chat(3)
        for number in range(3, 3 + TRIES + 2):
            await room.settled()
            await room.ask(chat, f"q{number}")
        await room.settled()
        assert len(room.generator.asides) == TRIES
        assert await room.service.summary(chat) is None
        assert heads(room.generator.turns[-1])[1] == "q0", "it is the generator's to leave out"
        assert caplog.text.count("the summary was dropped") == TRIES

    run(scenario)


def test_of_one_that_is_cut_off_the_whole_sentences_are_kept(
    run: Callable[[Scenario], None],
) -> None:
    async def scenario(room: Room) -> None:
        room.generator.summaries = [
            [Text(f"{SUMMARY} And of"), Ended(FinishReason.LENGTH, Usage())]
        ]
        chat = await room.chat(3)
        await room.settled()
        stands = await room.service.summary(chat)
        assert stands is not None
        assert stands.text == SUMMARY

    run(scenario)


def test_a_model_that_was_taken_away_is_no_failure(run: Callable[[Scenario], None]) -> None:
    async def scenario(room: Room) -> None:
        room.generator.summaries = [[Ended(FinishReason.ERROR, Usage(), "The model was unloaded.")]]
        room.generator.hold = asyncio.Event()
        chat = await room.chat(2)
        for number in range(TRIES):
            await room.ask(chat, f"q{number}")
            await room.until(lambda number=number: len(room.generator.asides) > number)
            room.generator.context_tokens = 0
            room.generator.hold.set()
            await room.settled()
            room.generator.context_tokens = ROOM
            room.generator.hold.clear()
        room.generator.hold.set()
        room.generator.summaries = [[Text(SUMMARY)]]
        await room.ask(chat, "and now")
        await room.settled()
        stands = await room.service.summary(chat)
        assert stands is not None
        assert stands.text == SUMMARY

    run(scenario)


def test_a_question_that_no_request_can_hold_is_passed_over(
    run: Callable[[Scenario], None],
) -> None:
    async def scenario(room: Room) -> None:
        chat = (await room.service.create()).id
        await room.ask(chat, "q0 " + "far too long " * 60)
        await room.ask(chat, "q1")
        await room.ask(chat, "q2")
        await room.settled()
        assert room.generator.asides == [], "what is left of the chat has room"
        await room.ask(chat, "q3")
        await room.settled()
        (asked,) = room.generator.asides
        assert heads(asked) == ["Be", "q1", "a1", "Now"]
        messages = await room.store.messages(chat)
        assert await room.service.summary(chat) == Summary(chat, messages[3].id, SUMMARY)

    run(scenario)


def test_only_who_wants_summaries_gets_them(run: Callable[[Scenario], None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat(3)
        await room.settled()
        for policy in ("leave_out", "stop"):
            room.settings = Settings(when_full=policy)
            assert await room.service.summary(chat) is None
            await room.ask(chat, policy)
            assert heads(room.generator.turns[-1])[:2] == ["q0", "a0"]
        assert len(room.generator.asides) == 1

    run(scenario)


def test_a_change_to_what_it_covers_takes_it_away(run: Callable[[Scenario], None]) -> None:
    async def scenario(room: Room) -> None:
        chat = await room.chat(3)
        await room.settled()
        messages = await room.store.messages(chat)
        await room.service.regenerate(chat)
        await room.until(lambda: chat not in room.service._turns)
        assert await room.service.summary(chat) is not None, "the last answer is not covered"
        await room.store.delete_messages_from(chat, messages[1].id)
        assert await room.store.summaries(chat) == []
        assert await room.store.add_summary(messages[1].id, "too late") is None
        await room.ask(chat, "anew")
        assert heads(room.generator.turns[-1]) == ["Be", "q0", "anew"]

    run(scenario)


def test_a_chat_that_is_deleted_takes_its_summary_along(run: Callable[[Scenario], None]) -> None:
    async def scenario(room: Room) -> None:
        room.generator.hold = asyncio.Event()
        chat = await room.chat(3)
        await room.until(lambda: room.generator.asides)
        await room.service.delete(chat)
        assert room.generator.running == 0
        assert not room.service._summarising._running
        assert room.generator.forgotten == [chat]

    run(scenario)


def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"

    async def first() -> int:
        room = Room(await open_store(path))
        chat = await room.chat(3)
        await room.settled()
        await room.service.close()
        await room.store.close()
        return chat

    async def second(chat: int) -> None:
        room = Room(await open_store(path))
        assert room.store.problems == ()
        answer = await room.ask(chat, "q3")
        sent = room.generator.turns[-1]
        assert heads(sent) == ["Be", "[The", "q1", "a1", "q2", "a2", "q3"]
        assert SUMMARY in sent[1]
        past = await room.service.past_turn(chat, answer.id)
        assert [line.content for line in past.request.messages] == list(sent)
        stored = await room.store.messages(chat)
        early = await room.service.past_turn(chat, stored[3].id)
        assert heads(tuple(line.content for line in early.request.messages)) == [
            "Be",
            "q0",
            "a0",
            "q1",
        ]
        assert early.request.messages[0].role is Role.SYSTEM
        await room.service.close()
        await room.store.close()

    asyncio.run(second(asyncio.run(first())))
