"""A generator and a model host that follow a script; they stand in for the engine wherever text is enough."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace

from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.chat.models import FinishReason, Usage
from app.chat.ports import (
    Ended,
    Event,
    Measured,
    Request,
    Text,
    Thought,
)
from app.dialogue import ChatLine
from app.errors import ModelError, TextError
from app.prompting import (
    EDITED,
    OWN,
    FedPrompt,
    PromptSpan,
    PromptText,
    Rehearsal,
    TemplateSet,
)

Script = Sequence[Event]


@dataclass
class FakeGenerator:
    """Plays one script for each request, in order (the last one again and again).

    A script that does not end is ended with STOP.  `gate`, where set, is awaited before every event, so that a
    test decides when things happen: `generator.gate = asyncio.Semaphore(0)`, then `gate.release()`.  `warm_gate`,
    where set, holds every warm-up.
    """

    scripts: list[Script] = field(default_factory=lambda: [(Text("Hello."),)])
    requests: list[Request] = field(default_factory=list)
    gate: asyncio.Semaphore | None = None
    running: int = 0
    forgotten: list[int] = field(default_factory=list)
    closed_early: int = 0
    warmed: list[Request] = field(default_factory=list)
    warm_gate: asyncio.Event | None = None
    warming: int = 0
    written: dict[str, tuple[int, ...]] = field(default_factory=dict)
    prompts: dict[int, FedPrompt] = field(default_factory=dict)
    """What was fed for each chat."""
    model: str = ""
    """The file that answers who wants no other."""
    context_tokens: int = 0
    """0 is a model that is not ready, and then nothing can be measured."""
    held_back: Script = ()
    """What is written and not told, all the time that an answer runs."""
    measured: int = 0
    """How often that was asked."""

    async def measure(self, request: Request) -> Measured | None:
        """A token for each word, and three around each message."""
        await asyncio.sleep(0)
        self.measured += 1
        return _measured(request) if self.context_tokens else None

    def context_of(self, model: str) -> int:
        return self.context_tokens

    def fed_prompt(self, owner: int) -> FedPrompt | None:
        return self.prompts.get(owner)

    def fed(self, text: str) -> tuple[int, ...]:
        return self.written.get(text, ())

    async def generate(self, request: Request) -> AsyncIterator[Event]:
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        self.running += 1
        ended = False
        withdraw = request.withheld.offer(lambda: self.held_back)
        try:
            for event in script:
                await self._turn()
                ended = isinstance(event, Ended)
                yield event
            if not ended:
                await self._turn()
                ended = True
                written = sum(event.tokens for event in script if isinstance(event, Text | Thought))
                read = _measured(request).tokens if self.context_tokens else 10
                yield Ended(FinishReason.STOP, Usage(read, written, 0))
        finally:
            withdraw()
            self.running -= 1
            self.closed_early += not ended

    async def forget(self, owner: int) -> None:
        self.forgotten.append(owner)

    async def warm(self, request: Request) -> None:
        self.warmed.append(request)
        self.warming += 1
        try:
            if self.warm_gate is not None:
                await self.warm_gate.wait()
        finally:
            self.warming -= 1

    async def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def _turn(self) -> None:
        if self.gate is None:
            await asyncio.sleep(0)
        else:
            await self.gate.acquire()


def _measured(request: Request) -> Measured:
    starts, tokens = [], 0
    for line in request.messages:
        starts.append(tokens + 2)
        tokens += len(line.content.split()) + 3
    return Measured(tokens, tuple(starts))


@dataclass
class FakePromptFormat:
    """A model of two templates whose tokens are the code points of its texts; 0 is the control token <|turn|>.

    A template that holds BAD is refused on line 3, one that holds SLOW was given up.  `gate`, where set, holds every
    trial, `use_gate` every change, and `list_gate` every look at what there is.  A `fault` is raised by all but that.
    """

    own: dict[str, str] = field(
        default_factory=lambda: {"": "{{ main }}", "tool_use": "{{ tools }}"}
    )
    present: str = ""
    tried: list[str] = field(default_factory=list)
    withdrawn: int = 0
    gate: asyncio.Event | None = None
    use_gate: asyncio.Event | None = None
    list_gate: asyncio.Event | None = None
    listed: int = 0
    fault: Exception | None = None
    refusal: str = ""
    """Why nothing can be used, where nothing can."""
    model: str = "fake"

    async def templates(self) -> TemplateSet:
        self.listed += 1
        await (self.list_gate.wait() if self.list_gate is not None else asyncio.sleep(0))
        usual = (OWN, self.own[""])
        present = (EDITED, self.present) if self.present else usual
        return TemplateSet(tuple(self.own.items()), usual, present)

    async def try_template(self, text: str, lines: Sequence[ChatLine]) -> Rehearsal:
        self.tried.append(text)
        try:
            await (self.gate.wait() if self.gate is not None else asyncio.sleep(0))
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        self._fail()
        if "SLOW" in text:
            raise TextError("It took longer than 2.0 s and was given up.")
        if "BAD" in text:
            return Rehearsal(problem="It says: 'BAD' is undefined", line=3)
        spans = [
            span
            for line in lines
            for span in (PromptSpan("<|turn|>", control=True), PromptSpan(f"{line.content}\n"))
        ]
        return Rehearsal(PromptText((PromptSpan(text), *spans)))

    async def use_template(self, text: str) -> None:
        await (self.use_gate.wait() if self.use_gate is not None else asyncio.sleep(0))
        self._fail()
        if self.refusal or "BAD" in text:
            raise TextError(self.refusal or "Line 3: It says: 'BAD' is undefined")
        self.present = text

    async def render(self, request: Request) -> FedPrompt:
        await asyncio.sleep(0)
        self._fail()
        texts = "".join(f"\0{line.content}" for line in request.messages)
        return FedPrompt(self.model, tuple(map(ord, texts)))

    async def spell(self, prompt: FedPrompt) -> PromptText:
        await asyncio.sleep(0)
        if prompt.model != self.model:
            raise ModelError("These are the tokens of another model than the one that is loaded.")
        texts = tuple("<|turn|>" if token == 0 else chr(token) for token in prompt.tokens)
        spans: list[PromptSpan] = []
        for text, token in zip(texts, prompt.tokens, strict=True):
            if token and spans and not spans[-1].control:
                spans[-1] = PromptSpan(spans[-1].text + text)
            else:
                spans.append(PromptSpan(text, control=token == 0))
        return PromptText(tuple(spans), prompt.tokens, texts, frozenset({0}))

    def _fail(self) -> None:
        if self.fault is not None:
            raise self.fault


class FakeModelHost:
    """A model that loads when told: `host.move(phase=ModelPhase.READY)`."""

    def __init__(self) -> None:
        self.prompt_format = FakePromptFormat()
        self.state = ModelState(
            ModelPhase.READY, path="/models/fake.gguf", name="Fake 1B", device="CPU"
        )
        self.status = EngineStatus()
        self.refusals: dict[str, str] = {}
        """Paths that are no models, and why."""
        self.bad: dict[str, ModelError] = {}
        """Paths of files that do not pass their check, and why."""
        self.examined: list[str] = []
        self.accepted: list[str] = []
        self.examine_gate: asyncio.Event | None = None
        """Where set, every check has to be done, and waits for it."""
        self.loads: list[str] = []
        self.unloads = 0
        self.shown: list[str] = []
        """Files of models that were to be the present one."""
        self.ejected: list[str] = []
        """Files of models that were unloaded by name."""
        self.roomy = False
        """Whether a model that is loaded ends no answer."""
        self.retitled = 0
        self.closed = False
        self._listeners: list[Callable[[ModelState], None]] = []

    def subscribe(self, listener: Callable[[ModelState], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def move(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        for listener in tuple(self._listeners):
            listener(self.state)

    async def check(self, path: str) -> None:
        await asyncio.sleep(0)
        if path in self.refusals:
            raise ModelError(self.refusals[path])

    async def examine(self, path: str, tell: Callable[[float], None]) -> None:
        self.examined.append(path)
        if self.examine_gate is not None:
            tell(0.0)
            await self.examine_gate.wait()
        if path in self.bad:
            raise self.bad[path]

    async def accept(self, path: str) -> None:
        self.accepted.append(path)
        self.bad.pop(path, None)

    async def load(self, path: str) -> None:
        self.loads.append(path)
        self.move(phase=ModelPhase.LOADING, path=path, fraction=0.0, error="", short_of=None)

    def retitle(self) -> None:
        self.retitled += 1

    async def unload(self, path: str = "") -> None:
        if path in ("", self.state.path):
            self.unloads += 1
            self.move(phase=ModelPhase.UNLOADED)
            return
        self.ejected.append(path)
        self.move(others=tuple(one for one in self.state.others if one.path != path))

    async def spares(self, path: str) -> bool:
        await asyncio.sleep(0)
        return self.roomy

    def show(self, path: str) -> None:
        """Another that is loaded comes forward."""
        self.shown.append(path)
        found = [one for one in self.state.others if one.path == path]
        if found:
            present = replace(self.state, others=())
            rest = tuple(one for one in self.state.others if one.path != path)
            self.state = replace(found[0], others=(present, *rest))
            self.move()

    async def close(self) -> None:
        self.closed = True
