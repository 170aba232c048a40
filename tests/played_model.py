"""A local model whose children the test plays."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from app.chat.model_state import ModelPhase, ModelState
from app.chat.models import ChatMessage, Role
from app.chat.ports import (
    Ended,
    Event,
    Request,
    Waiting,
)
from app.client.death import Death
from app.client.local import LocalModel
from app.wire import (
    Finished,
    FinishReason,
    Submit,
    TokenOut,
    Usage,
    VocabularyLoaded,
)
from tests.scripted_children import (
    LOADED,
    PARAMS,
    VOCABULARY,
    FakeClock,
    FakeLink,
    FakeLinks,
    begin,
    fake_means,
    step,
    turns,
)

PATH = "/models/scripted.gguf"
LOADS = Waiting(0, "the model is loading")
AGAIN = Waiting(0, "the engine is starting again")


def ask(*contents: str, **options: Any) -> Request:
    """A conversation in which user and assistant take turns."""
    roles = (Role.USER, Role.ASSISTANT)
    lines = tuple(ChatMessage(roles[i % 2], content) for i, content in enumerate(contents))
    return Request(lines, **options)


class Made:
    """A model whose children the test plays."""

    def __init__(
        self,
        *greetings: Any,
        path: str = "",
        answering: bool = True,
        vocabulary: VocabularyLoaded = VOCABULARY,
    ) -> None:
        self.clock = FakeClock()
        self.engines = FakeLinks(*(greetings or (LOADED,)))
        self.texts = FakeLinks(vocabulary, name="text-worker", replies=answering)
        self.model = LocalModel(
            lambda path: replace(PARAMS, path=path),
            path=path,
            means=fake_means(self.engines, self.texts, self.clock),
        )
        self.states: list[ModelState] = []
        self.leave = self.model.subscribe(self.states.append)
        self.requests: list[asyncio.Task[list[Event]]] = []

    @property
    def engine(self) -> FakeLink:
        return self.engines.last

    @property
    def phases(self) -> list[ModelPhase]:
        found: list[ModelPhase] = []
        for state in self.states:
            if found[-1:] != [state.phase]:
                found.append(state.phase)
        return found

    @property
    def submitted(self) -> list[Submit]:
        return [m for m in self.engine.sent if isinstance(m, Submit)]

    async def ask(self, *contents: str, **options: Any) -> "asyncio.Task[list[Event]]":
        """Ask, and let it get as far as it comes."""
        task = begin(collect(self.model.generate(ask(*contents, **options))))
        await turns()
        return task

    async def die(self, death: Death | None = None) -> None:
        """The engine dies, and after the pause there is another."""
        self.engine.die(death)
        await turns()
        self.clock.advance(5)
        await turns()

    def write(self, text: str | bytes, *, end: FinishReason | None = None) -> None:
        """Have the engine write to the request that came last."""
        request_id = self.submitted[-1].request_id
        data = text.encode() if isinstance(text, str) else text
        events: list[Any] = [TokenOut(request_id, byte) for byte in data]
        if end is not None:
            usage = Usage(len(self.submitted[-1].tokens), len(data), 1)
            events.append(Finished(request_id, end, usage))
        self.engine.say(step(*events))


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


async def after(events: AsyncIterator[Event]) -> Event:
    return await anext(events)


def ends(task: "asyncio.Task[list[Event]]") -> Ended:
    """The one terminal event of a request that is over."""
    found = [event for event in task.result() if isinstance(event, Ended)]
    assert len(found) == 1
    assert task.result()[-1] is found[0]
    return found[0]
