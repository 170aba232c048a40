"""An ensemble of models whose children the test plays."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.chat.ports import Event
from app.client.ensemble import Ensemble
from app.client.local import LocalModel
from app.wire import Finished, FinishReason, Submit, TokenOut, Usage
from tests.played_model import ask, collect, ends
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
    until,
)


class Played:
    """An ensemble whose children the test plays; `room` says how many fit."""

    def __init__(
        self,
        folder: Path,
        *greetings: Any,
        room: int = 9,
        path: str = "",
        kept: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.engines = FakeLinks(*(greetings or (LOADED,)))
        self.room = room
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.texts = FakeLinks(VOCABULARY, name="text-worker", replies=True)
        means = fake_means(self.engines, self.texts, self.clock)

        def fits(path: str, beside: Sequence[str]) -> bool:
            self.asked.append((path, tuple(beside)))
            return len(beside) < self.room

        def make(path: str, memories: Any, make_room: Any) -> LocalModel:
            return LocalModel(
                lambda file: replace(PARAMS, path=file),
                path=path,
                memories=memories,
                means=means,
                make_room=make_room,
            )

        self.model = Ensemble(
            make,
            fits,
            path=self.file(path) if path else "",
            kept=[self.file(name) for name in kept],
        )

    def file(self, name: str) -> str:
        """A file that could be a model."""
        path = self.folder / f"{name}.gguf"
        if not path.exists():
            path.write_bytes(b"GGUF\x03\0\0\0")
        return str(path)

    @property
    def loaded(self) -> list[str]:
        """The names of those whose engine lives, in the order in which they came."""
        return [name_of(link) for link in self.engines.links if link.death is None]

    def engine(self, name: str) -> FakeLink:
        """The last engine of this model."""
        return next(link for link in reversed(self.engines.links) if name_of(link) == name)

    async def ask(self, name: str, **options: Any) -> "asyncio.Task[list[Event]]":
        """Ask this model ("": any), and wait until its engine knows of it, or the request has ended."""
        before = self.submitted
        model = self.file(name) if name else ""
        task = begin(collect(self.model.generate(ask("hi", model=model, **options))))
        await until(lambda: task.done() or self.submitted > before)
        return task

    @property
    def submitted(self) -> int:
        return sum(isinstance(one, Submit) for link in self.engines.links for one in link.sent)

    def answer(self, name: str) -> None:
        """Let this model answer the last that it was asked."""
        link = self.engine(name)
        number = next(one for one in reversed(link.sent) if isinstance(one, Submit)).request_id
        link.say(step(TokenOut(number, 65), Finished(number, FinishReason.STOP, Usage(2, 1, 0))))

    async def give_up(self, name: str) -> None:
        """Let each engine of this model die soon after it was loaded, until there comes no other."""
        while name in self.loaded:
            self.engine(name).die()
            await turns()
            self.clock.advance(5)
            await turns()

    async def answered(self, name: str) -> None:
        """Ask, and be answered; a second of time goes by."""
        task = await self.ask(name)
        self.answer(name or self.model.state.name)
        assert ends(await done(task)).reason is FinishReason.STOP
        self.clock.advance(1)


def name_of(link: FakeLink) -> str:
    return Path(link.params.path).stem if link.params is not None else ""


async def done(task: "asyncio.Task[list[Event]]") -> "asyncio.Task[list[Event]]":
    await asyncio.wait([task])
    return task
