"""What a seed makes users do: a fixed row of actions, whatever the machine makes of the times between them."""

import asyncio
import random
import signal
import string
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from app.chat.answer import verdict
from app.chat.models import ChatMessage, ConversationSettings, Message, Role, Sampling
from app.chat.ports import Ended, Request, Text
from app.chat.urgency import Urgency
from app.wire import Priority
from tests.scripted_children import begin
from tests.soak.house import POISON
from tests.soak.ledger import Chat
from tests.soak.world import World
from tests.tiny_models import Speech

SYSTEM = (
    "",
    "You are brief.",
    "Answer as a sailor would, with the names of ropes and knots, and never use the word ship. "
    * 2,
    "You translate everything into the language of flowers. Roses are for love. " * 3,
)
MOST_CHATS = 24
_FIRST_OWNER = 1_000_000
"""Requests that are no chat's have owners from here on."""

_SILENT = tuple((token, -100.0) for token, told in enumerate(Speech().written) if not told)
"""What DRY and mirostat could else drive a talker to: words and halves of characters, of which the text is not as long as
the answer has tokens."""


@dataclass(frozen=True)
class Mix:
    """How often each thing is done."""

    new: int = 6
    send: int = 30
    burst: int = 3
    regenerate: int = 6
    stop: int = 8
    front: int = 6
    warm: int = 8
    leave: int = 4
    delete: int = 3
    branch: int = 8
    abandon: int = 4
    count: int = 4
    kill: int = 3
    hang: int = 0
    poison: int = 1
    worker: int = 1
    unload: int = 2


class Player:
    """Plays `Mix` on a world; the order of what is done depends on the seed alone."""

    def __init__(self, world: World, seed: int, mix: Mix) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.chats: list[int] = []
        self._mix = mix
        self._owners = iter(range(_FIRST_OWNER, 1 << 31))
        self._branches: set[asyncio.Task[None]] = set()

    async def play(self, actions: int) -> None:
        """Do so many things, one after the other, while what they began goes on."""
        names = list(self._mix.__dataclass_fields__)
        weights = [getattr(self._mix, name) for name in names]
        for number in range(actions):
            name = self.random.choices(names, weights)[0]
            # What each is done with is drawn before it is known whether it can be done.
            dice = random.Random(self.random.random())
            self.world.trace(f"{number}: {name}")
            action: Callable[[random.Random], Awaitable[None]] = getattr(self, f"_{name}")
            await action(dice)
            await self.world.breathe(self.random.choice((0, 0, 1, 2, 4, 8, 16)))
            assert not self.world.faults, self.world.faults

    async def finish(self) -> None:
        """Wait for the requests that are no chat's."""
        while self._branches:
            await asyncio.wait(set(self._branches))
        await self.world.settle()

    def words(self, dice: random.Random) -> str:
        """A message: short, or now and then long."""
        count = dice.choice((1, 3, 8, 8, 20, 60))
        return " ".join(
            "".join(dice.choices(string.ascii_lowercase[:12], k=dice.randrange(1, 7)))
            for _ in range(count)
        )

    def sampling(self, dice: random.Random) -> Sampling:
        if dice.random() < 0.6:
            return Sampling(temperature=0)
        return Sampling(
            temperature=dice.choice((0.3, 1.0, 1.5)),
            top_k=dice.choice((0, 5, 40)),
            repeat_penalty=dice.choice((1.0, 1.3)),
            typical_p=dice.choice((1.0, 0.7)),
            xtc_probability=dice.choice((0.0, 0.5)),
            dry_multiplier=dice.choice((0.0, 0.8)),
            mirostat=dice.choice((0, 0, 0, 1, 2)),
            logit_bias=_SILENT,
            seed=dice.choice((None, 7)),
        )

    # --- chats -----------------------------------------------------------------------------------------------

    async def new(self, dice: random.Random) -> int:
        world = self.world
        sampling, limit = self.sampling(dice), dice.choice((1, 3, 8, 24, 60, 150, 400))
        chat = (await world.chat.create()).id
        system = dice.choice(SYSTEM)
        world.ledger.chats[chat] = Chat(limit, sampling.temperature == 0)
        await world.chat.set_settings(
            chat,
            ConversationSettings(system_prompt=system, sampling=sampling, max_answer_tokens=limit),
        )
        self.chats.append(chat)
        world.trace(f"chat {chat}: {limit} tokens, temperature {sampling.temperature}")
        return chat

    async def _new(self, dice: random.Random) -> None:
        if len(self.chats) < MOST_CHATS:
            await self.new(dice)
        else:
            await self._delete(dice)

    async def _a_chat(self, dice: random.Random) -> int:
        place = dice.random()
        if not self.chats:
            return await self.new(dice)
        return self.chats[int(place * len(self.chats))]

    async def send(self, chat: int, text: str) -> None:
        done = await self.world.chat.send(chat, text)
        self.world.trace(f"chat {chat}: {len(text)} characters", "" if done else "(not sent)")

    async def _send(self, dice: random.Random) -> None:
        await self.send(await self._a_chat(dice), self.words(dice))

    async def _burst(self, dice: random.Random) -> None:
        for _ in range(4):
            await self._new(dice)
        chats = list(self.chats)
        await asyncio.gather(*(self.send(chat, self.words(dice)) for chat in chats))

    async def _regenerate(self, dice: random.Random) -> None:
        chat = await self._a_chat(dice)
        self._stopping(chat)
        self.world.trace(f"chat {chat}", await self.world.chat.regenerate(chat))

    async def _stop(self, dice: random.Random) -> None:
        if dice.random() < 0.1:
            for chat in self.chats:
                self._stopping(chat)
            self.world.chat.stop_all()
            return
        chat = await self._a_chat(dice)
        self._stopping(chat)
        self.world.chat.stop(chat)
        self.world.trace(f"chat {chat}")

    def _stopping(self, chat: int) -> None:
        if self.world.chat.turn(chat).busy:
            self.world.ledger.chats[chat].stopped = True

    async def _front(self, dice: random.Random) -> None:
        chat = await self._a_chat(dice)
        self.world.chat.set_front(None if dice.random() < 0.2 else chat)
        await self.world.chat.mark_read(chat)

    async def _warm(self, dice: random.Random) -> None:
        chat = await self._a_chat(dice)
        await self.world.chat.set_draft(chat, self.words(dice))
        self.world.chat.warm(chat)
        if dice.random() < 0.3:
            await self.world.breathe(1)
            self.world.chat.stop_warming(chat)

    async def _leave(self, dice: random.Random) -> None:
        """Close the tab: what is written there is stopped, nobody types any more; the chat stays in the list."""
        chat = await self._a_chat(dice)
        self.world.chat.set_front(None)
        self.world.chat.stop_warming(chat)
        self._stopping(chat)
        self.world.chat.stop(chat)
        await self.world.store.set_open_tabs([one for one in self.chats if one != chat], 0)

    async def _delete(self, dice: random.Random) -> None:
        chat = await self._a_chat(dice)
        self._stopping(chat)
        self.chats.remove(chat)
        await self.world.chat.delete(chat)
        self.world.trace(f"chat {chat}")

    async def _count(self, dice: random.Random) -> None:
        if self.world.model._pair is not None and self.world.model._pair.engine.serving:
            text = self.words(dice)
            assert await self.world.model.count_tokens(text) > 0

    # --- requests that are no chat's -------------------------------------------------------------------------

    async def _branch(self, dice: random.Random) -> None:
        """Go on from the middle of a chat with another message, or with one that was edited, beside it."""
        chat = await self._a_chat(dice)
        history = [one for one in await self.world.chat.messages(chat) if one.text]
        lines = list(_lines(history[: dice.randrange(len(history) + 1)]))
        if lines and dice.random() < 0.4:
            place = dice.randrange(len(lines))
            lines[place] = ChatMessage(lines[place].role, self.words(dice))
        lines.append(ChatMessage(Role.USER, self.words(dice)))
        self._begin(self._ask(dice, tuple(lines), leave_after=None))

    async def _abandon(self, dice: random.Random) -> None:
        """Ask as an API client does, and go away in the middle."""
        line = ChatMessage(Role.USER, self.words(dice))
        self._begin(self._ask(dice, (line,), leave_after=dice.randrange(12)))

    def _begin(self, asking: Coroutine[Any, Any, None]) -> None:
        task = begin(asking)
        self._branches.add(task)
        task.add_done_callback(self._branches.discard)

    async def _ask(
        self, dice: random.Random, lines: tuple[ChatMessage, ...], leave_after: int | None
    ) -> None:
        world, owner = self.world, next(self._owners)
        sampling = self.sampling(dice)
        chat = world.ledger.chats[owner] = Chat(dice.choice((2, 20, 80)), sampling.temperature == 0)
        request = Request(
            lines,
            sampling,
            chat.limit,
            urgency=Urgency(dice.choice(list(Priority))),
            owner=owner,
        )
        text, ends = "", list[Ended]()
        try:
            async with aclosing(world.model.generate(request)) as events:  # type: ignore[type-var]
                async for event in events:
                    if leave_after is not None and leave_after <= len(text):
                        return
                    if ends:
                        world.ledger.faults.append(f"request of {owner}: {event} after its end")
                    if isinstance(event, Text):
                        text += event.text
                    elif isinstance(event, Ended):
                        ends.append(event)
            if len(ends) != 1:
                world.ledger.faults.append(f"request of {owner} ended {len(ends)} times")
                return
            status, error = verdict(ends[0], text)
            end = ends[0]
            world.ledger.judge(
                f"request of {owner}", chat, text, status, end.reason, end.usage, error
            )
            if chat.greedy and text and not error:
                world.ledger.written.append((world.ledger.prompts[owner], text))
        finally:
            await world.model.forget(owner)
            del world.ledger.chats[owner]
            world.ledger.prompts.pop(owner, None)

    # --- harm ------------------------------------------------------------------------------------------------

    async def _kill(self, dice: random.Random) -> None:
        await self._harm(dice, signal.SIGKILL, "killed")

    async def _hang(self, dice: random.Random) -> None:
        await self._harm(dice, signal.SIGSTOP, "stopped")

    async def _harm(self, dice: random.Random, number: signal.Signals, doom: str) -> None:
        """In the middle of some answers, mostly."""
        for _ in range(dice.randrange(6)):
            await self._send(dice)
        await self.world.breathe(dice.randrange(12))
        engine = self.world.house.engine
        if engine is not None and self.world.calm:
            engine.hurt(number, doom)

    async def _worker(self, dice: random.Random) -> None:
        """One request may meet two deaths, and is then told so: kill none that starts in place of one that was killed."""
        worker = self.world.house.text
        if worker is not None and worker.ready and self.world.model._pair is not None:
            worker.hurt(signal.SIGKILL, "killed")

    async def _poison(self, dice: random.Random) -> None:
        """A message that ends the engine: it is set aside, and all others go on."""
        world = self.world
        if not world.calm or world.house.vain:
            return
        chat = (await world.chat.create()).id
        world.ledger.chats[chat] = Chat(8, greedy=True, poisoned=True)
        await world.chat.set_settings(
            chat,
            ConversationSettings(
                system_prompt="", sampling=Sampling(temperature=0), max_answer_tokens=8
            ),
        )
        before = world.ledger.ends["set aside"]
        await self.send(chat, f"{POISON} {self.words(dice)}")
        await world.until(lambda: not world.chat.turn(chat).busy, "the end of a poisoned request")
        assert world.ledger.ends["set aside"] == before + 1
        await world.chat.delete(chat)

    async def _unload(self, dice: random.Random) -> None:
        world = self.world
        for number, facts in world.ledger.chats.items():
            facts.unloaded = number >= _FIRST_OWNER or world.chat.turn(number).busy
        path = world.model.state.path
        if dice.random() < 0.5:
            await world.model.unload()
        else:
            await world.model.load(path)


def _lines(history: list[Message]) -> list[ChatMessage]:
    return [ChatMessage(one.role, one.text) for one in history]
