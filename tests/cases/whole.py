"""The whole app in a test: the real window, store and client over real child processes on a tiny model that chats.

What goes to the engine is kept (`Prompts`), and with `TUTTI_DECODE_LOG` set the engine keeps every call.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.api.server import address_of, bind, serving
from app.chat.models import ChatMessage, Message, Role
from app.chat.ports import Ended, Request, Text
from app.client.child import Link, OnProgress, Spawn, engine_child, text_child
from app.client.local import LocalModel
from app.client.means import Means
from app.client.process import OnDeath, OnMessage
from app.client.text_job import Deadline
from app.overrides import Overrides
from app.sampling import Sampling
from app.settings import Settings
from app.text.stream import Vocabulary
from app.ui.chat_tab import ChatTab
from app.wire import LoadParams, Rendered, Submit
from app.wire import Message as WireMessage
from tests import scripted_children
from tests.api.harness import Api
from tests.fakes import FakeModelHost
from tests.gui.desk import Desk
from tests.scripted_children import Births, Script

PATIENCE = 60.0
"""A watchdog for what may have to wait for a model to load on a busy machine."""

PATIENT = Deadline(seconds=20.0, per_million=200.0)
"""Ten times the app's own, for a text worker beside which other tests run."""

GREEDY = Sampling(temperature=0)


async def until(condition: Callable[[], object], what: object) -> None:
    """Let the loop turn until `condition()` is true; `what` is shown where it never is."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110  any condition, of anything
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"waited in vain for: {what}") from None


@dataclass
class Prompts:
    """Everything that was submitted to the engine, and what the text worker rendered."""

    submits: list[Submit] = field(default_factory=list)
    rendered: list[Rendered] = field(default_factory=list)
    held: Callable[[Submit], bool] | None = None
    """Which requests are held back on their way to the engine, until `release`."""
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def release(self) -> None:
        """Let the engine have what was held back, in the order in which it came."""
        self.held = None
        for send in self.waiting:
            send()
        self.waiting.clear()

    @property
    def asked(self) -> list[Submit]:
        """Those for which an answer was wanted: not what is read beforehand."""
        return [submit for submit in self.submits if submit.max_tokens != 0]

    def spans(self, submit: Submit) -> tuple[tuple[int, int], ...]:
        """Where the content of each line lies in this prompt."""
        return next(r.spans for r in reversed(self.rendered) if r.tokens == submit.tokens)

    def engine(self, on_message: OnMessage, on_death: OnDeath) -> Link:
        return _Kept(engine_child, on_message, on_death, self)

    def text(self, on_message: OnMessage, on_death: OnDeath) -> Link:
        def heard(message: WireMessage) -> None:
            if isinstance(message, Rendered):
                self.rendered.append(message)
            on_message(message)

        return text_child(heard, on_death)


class _Kept:
    """A child whose requests are kept on their way."""

    def __init__(
        self, spawn: Spawn, on_message: OnMessage, on_death: OnDeath, kept: Prompts
    ) -> None:
        self._child = spawn(on_message, on_death)
        self._kept = kept

    async def load(self, params: LoadParams, on_progress: OnProgress) -> Any:
        return await self._child.load(params, on_progress)

    def send(self, message: WireMessage) -> None:
        if isinstance(message, Submit):
            self._kept.submits.append(message)
            if self._kept.held is not None and self._kept.held(message):
                self._kept.waiting.append(partial(self._child.send, message))
                return
        self._child.send(message)

    def kill(self, why: str) -> None:
        self._child.kill(why)

    async def stop(self) -> None:
        await self._child.stop()


PARAMS = LoadParams("", pool_tokens=16_384, sequences=8, batch=512, threads=1)


class RealModel(LocalModel):
    """A local model on real children; it loads with the first request, or by `load`.  None: nothing chosen yet.

    `async with` opens it, and closes it whatever happens: children that nobody stops keep a test that failed from its end.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        means: Means | None = None,
        overrides: Overrides | None = None,
        **params: Any,
    ) -> None:
        self.prompts = Prompts()
        self.params = replace(PARAMS, path="" if path is None else str(path), **params)
        super().__init__(
            lambda file: replace(self.params, path=file),
            path=self.params.path,
            overrides=overrides,
            means=means or Means(self.prompts.engine, self.prompts.text, deadline=PATIENT),
        )

    async def open(self) -> "RealModel":
        await self.load(self.params.path)
        assert self.loaded is not None, self.state.error
        return self

    async def __aenter__(self) -> "RealModel":
        try:
            return await self.open()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()

    async def ask(self, *messages: ChatMessage, tokens: int = 8, **facts: Any) -> "Told":
        """Have these messages answered; the text and the end."""
        told = Told()
        request = Request(messages, max_tokens=tokens, **{"sampling": GREEDY, **facts})
        async for event in self.generate(request):
            if isinstance(event, Text):
                told.text += event.text
            elif isinstance(event, Ended):
                told.ends.append(event)
        return told


def scripted(script: Script) -> RealModel:
    """A model whose engine writes what the script says, in a process of its own as always."""
    engines = Births(scripted_children.engine, script)
    texts = Births(scripted_children.text_worker, script)
    return RealModel(Path("/models/scripted.gguf"), means=Means(engines, texts, deadline=PATIENT))


@dataclass
class Told:
    """What came of a request."""

    text: str = ""
    ends: list[Ended] = field(default_factory=list)

    @property
    def end(self) -> Ended:
        (end,) = self.ends
        return end


def user(text: str) -> ChatMessage:
    return ChatMessage(Role.USER, text)


def pieces(model: LocalModel) -> Vocabulary:
    """The bytes of each token of the loaded model."""
    assert model._pair is not None
    return model._pair._facts[1].vocabulary


# --- at the window -------------------------------------------------------------------------------------------


def settings(**changes: Any) -> Settings:
    """Greedy, answers of 8 tokens, light."""
    return Settings(**{"sampling": GREEDY, "max_answer_tokens": 8, "theme": "light", **changes})


async def open_tabs(desk: Desk, count: int) -> tuple[ChatTab, ...]:
    """As many tabs as that, opened by keyboard."""
    for number in range(len(desk.tabs) + 1, count + 1):
        desk.control(Qt.Key.Key_T)
        await until(lambda number=number: len(desk.tabs) == number, "a new tab")
    return desk.tabs


def put(page: ChatTab, text: str) -> None:
    """Send a message from this tab, whichever is in front; nothing is awaited."""
    page.composer.set_text(text)
    QTest.keyClick(page.composer.edit, Qt.Key.Key_Return)


async def over(desk: Desk, *pages: ChatTab) -> None:
    """Wait until the turns of these tabs are over."""
    await until(
        lambda: all(page.id in desk.seen and not desk.chat.turn(page.id).busy for page in pages),
        "the end of the turns",
    )


async def answers(desk: Desk, page: ChatTab) -> list[Message]:
    """The stored answers of a chat."""
    messages = await desk.store.messages(page.id)
    return [message for message in messages if message.role is Role.ASSISTANT]


@asynccontextmanager
async def served(model: LocalModel, **options: Any) -> AsyncIterator[Api]:
    """The same model behind the API, on this loop."""
    listener = bind("127.0.0.1", 0)
    async with serving(model, model, listener, **options):
        port = listener.getsockname()[1]
        yield Api(address_of(listener), port, model, FakeModelHost())  # type: ignore[arg-type]
