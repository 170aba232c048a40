"""The ways by which something hostile comes into the app, each to a chat of its own: the window, the API, the editor of
templates, a model's file.  Whatever comes, it ends there: in an answer, or in words."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from app.chat.events import ChatEvent, MessageFinished
from app.chat.models import (
    ChatMessage,
    ConversationSettings,
    Message,
    Role,
    Sampling,
    Status,
    clean,
)
from app.chat.ports import Ended, Request, Text
from app.chat.turns import ChatService
from app.client.child import Limits
from app.client.local import LocalModel
from app.client.means import Means
from app.errors import AppError
from app.hub.library import Library
from app.hub.places import Layout, Place
from app.settings import Settings
from app.sizing.planner import Planner
from app.sizing.profiles import Plan
from app.store.conversations import SqliteStore
from app.wire import FinishReason, LoadParams
from tests.api.harness import Api
from tests.soak.hostile_content import Posted, Typed
from tests.soak.hostile_grammars import Form
from tests.soak.hostile_metadata import ModelFile
from tests.soak.hostile_templates import TRIGGER, Template
from tests.soak.hostile_text import nasty
from tests.soak.house import House
from tests.soak.trace import Trace

LIMITS = Limits(load=120.0)
SMALL = LoadParams("", pool_tokens=4096, sequences=4, batch=256, threads=1, spill_bytes=1 << 20)
_MOST_WORDS = 1_200
_LEAKS = (
    "Traceback",
    "object at 0x",
    "<class",
    "<built-in",
    "NoneType",
    "Error(",
    "/site-packages/",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How something ended: in `words` of an error, or ("") with an answer."""

    words: str = ""
    fault: str = ""

    @property
    def problem(self) -> str:
        """What is wrong with such an end; "" for a good one."""
        return self.fault or (unclear(self.words) if self.words else "")


def unclear(words: str) -> str:
    """Why these words cannot be shown to anybody; "" where they can."""
    if clean(words) != words:
        return "the words hold what no text may hold"
    if len(words) > _MOST_WORDS:
        return f"the words are {len(words):,} characters long"
    if words.count(" ") < 2:
        return "the words are no sentence"
    return next((f"the words hold “{leak}”" for leak in _LEAKS if leak in words), "")


def ended(end: Ended | None) -> Outcome:
    if end is None:
        return Outcome(fault="it never ended")
    if end.reason in (FinishReason.STOP, FinishReason.LENGTH):
        return Outcome()
    return Outcome(end.error, "" if end.error else f"it ended with {end.reason} and no word")


class ApiDoor:
    """A client of the API."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def bring(self, thing: Posted | Form, _dice: Random) -> Outcome:
        reply = await self._api.post(thing.body)
        if reply.headers.get("content-type", "").startswith("text/event-stream"):
            events = [
                line[6:] for line in reply.body.decode().split("\n\n") if line.startswith("data: ")
            ]
            last = json.loads(events[-1]) if events and events[-1] != "[DONE]" else {}
            return Outcome(last["error"]["message"]) if "error" in last else Outcome()
        told = reply.json
        if reply.status == 200:
            return Outcome(fault="" if told["choices"][0]["finish_reason"] else "no reason")
        error = told["error"]
        unexpected = reply.status == 500 and error["code"] == "internal_error"
        return Outcome(error["message"], "the server failed" if unexpected else "")


class Window:
    """A user at the window; every chat is deleted in the end."""

    def __init__(self, store: SqliteStore, model: LocalModel) -> None:
        self.service = ChatService(store, model, Settings)
        self.service.subscribe(self._heard)
        self._waiting: dict[int, asyncio.Future[Message]] = {}

    async def bring(self, thing: Typed, dice: Random) -> Outcome:
        chat = (await self.service.create()).id
        system = dice.choice((None, "", nasty(dice)))
        await self.service.set_settings(
            chat, ConversationSettings(system_prompt=system, max_answer_tokens=3)
        )
        outcome = Outcome()
        for text in thing.texts:
            outcome = await self._send(chat, text)
            if outcome.problem:
                break
        await self.service.delete(chat)
        return outcome

    async def _send(self, chat: int, text: str) -> Outcome:
        end = self._waiting[chat] = asyncio.get_running_loop().create_future()
        if not await self.service.send(chat, text):
            return Outcome()  # nothing to send: the button says so
        try:
            answer = await end
        finally:
            # Who has lost patience is told nothing any more.
            self._waiting.pop(chat, None)
        if answer.status is Status.DONE:
            return Outcome()
        return Outcome(
            answer.error, "" if answer.error else f"it is {answer.status}, without a word"
        )

    def _heard(self, event: ChatEvent) -> None:
        if isinstance(event, MessageFinished) and event.message.role is Role.ASSISTANT:
            end = self._waiting.pop(event.message.conversation_id, None)
            if end is not None:
                end.set_result(event.message)


class Editor:
    """Somebody who gives the model in `model` another template, and then writes to it."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model

    async def bring(self, thing: Template, dice: Random) -> Outcome:
        try:
            await self._model.prompt_format.use_template(thing.source)
        except AppError as error:
            return Outcome(str(error))
        return await ask(self._model, talk(dice))


class ModelFiles:
    """A user who opens a file; numbers of the load come from the file, as in the app."""

    def __init__(self, folder: Path, house: House) -> None:
        self._folder = folder
        self._house = house
        self._count = 0

    async def bring(self, thing: ModelFile, dice: Random) -> Outcome:
        self._count += 1
        path = self._folder / f"model-{self._count}.gguf"
        await asyncio.to_thread(path.write_bytes, thing.data)
        model = LocalModel(planned, path=str(path), means=means(self._house))
        try:
            return await ask(model, talk(dice))
        finally:
            await model.close()
            path.unlink()


class Shelf:
    """The list of the models on this machine, which describes every file that lies there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        self._path = folder / "listed.gguf"
        self._library = Library(folder / "own", [Place("others", folder, Layout.FOLDER)])

    async def bring(self, thing: ModelFile, _dice: Random) -> Outcome:
        return await asyncio.to_thread(self._described, thing.data)

    def _described(self, data: bytes) -> Outcome:
        self._path.write_bytes(data)
        (found,) = self._library.scan()
        self._path.unlink()
        return Outcome(found.problem)


def planned(path: str) -> LoadParams:
    """What the window would load this file with, but for a pool of some size."""
    plan: Plan = Planner().load(path, "auto")
    most = min(plan.pool_tokens, SMALL.pool_tokens)
    return replace(SMALL, path=path, pool_tokens=most, kv_type=plan.kv_type, mmap=plan.mmap)


def means(house: House) -> Means:
    return Means(house.make_engine, house.make_text, delays=(0.05, 0.2))


def talk(dice: Random) -> tuple[ChatMessage, ...]:
    """A conversation of a few turns; the last word may be the one that a template waits for."""
    roles = [Role.SYSTEM] * dice.randrange(2) + [Role.USER, Role.ASSISTANT] * dice.randrange(3)
    lines = [ChatMessage(role, dice.choice(("hello", nasty(dice)))) for role in roles]
    return (*lines, ChatMessage(Role.USER, dice.choice((TRIGGER, "hi", nasty(dice)))))


async def ask(model: LocalModel, messages: tuple[ChatMessage, ...]) -> Outcome:
    """Have them answered in a few tokens."""
    request = Request(
        tuple(replace(one, content=clean(one.content)) for one in messages),
        sampling=Sampling(temperature=1, seed=1),
        max_tokens=3,
    )
    end: Ended | None = None
    text = ""
    async for event in model.generate(request):
        if isinstance(event, Text):
            text += event.text
        elif isinstance(event, Ended):
            end = event
    if clean(text) != text:
        return Outcome(fault=f"the answer holds what no text may hold: {text!r}")
    return ended(end)


@asynccontextmanager
async def opened(
    path: Path, trace: Trace, params: LoadParams
) -> AsyncIterator[tuple[LocalModel, House]]:
    """A model that is ready, and the house of its children."""
    house = House(trace, LIMITS)
    model = LocalModel(lambda file: replace(params, path=file), means=means(house))
    await model.load(str(path))
    assert model.loaded is not None, model.state.error
    try:
        yield model, house
    finally:
        await model.close()
