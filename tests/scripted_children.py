"""Children that follow a script: real processes that speak the wire, and a link without any process.

The scripted model has a vocabulary of 257 tokens: token i is the byte i, token 256 is the end and has no text.  So the
ids of a prompt are the UTF-8 bytes of its contents (or a line's own ids), and any answer can be written by hand.  A
script may add tokens of more bytes (`pieces`), to be cut anywhere.
"""

import asyncio
import functools
import os
import queue
import signal
import threading
import time
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from itertools import accumulate
from multiprocessing.connection import Connection
from typing import Any

from app.client.child import Child, Limits, Link, OnProgress, Spawn
from app.client.clock import Clock
from app.client.death import Death
from app.client.means import Means
from app.client.process import PATIENCE, OnDeath, OnMessage, Patience
from app.counters import Counters
from app.dialogue import ChatLine
from app.errors import EngineDied
from app.grammar.model import Constrain, Constrained, FormRefused, Grammar
from app.pump import Pump
from app.wire import (
    PROTOCOL,
    Abort,
    Finished,
    FinishReason,
    Heartbeat,
    LastWords,
    Load,
    Loaded,
    LoadFailed,
    LoadParams,
    Message,
    Progress,
    ReadingNow,
    Ready,
    Render,
    Rendered,
    Shutdown,
    Step,
    Submit,
    TextFailed,
    Tokenize,
    Tokenized,
    TokenOut,
    Usage,
    VocabularyLoaded,
    WaitingNow,
)

END = 256
PIECES = bytes(range(256))
ENDS = array("I", [*range(1, 257), 256]).tobytes()
LIMITS = Limits()
ANYTHING = Grammar(rules=(((~0, 0), ()),), classes=(((0, 255),),))
PARAMS = LoadParams("/models/scripted.gguf")
LOADED = Loaded("Scripted", "CPU", 2048, 1024, 8, 257, "attention", "f00d", ("a note",))
VOCABULARY = VocabularyLoaded(PIECES, ENDS, (END,), "scripted", LOADED.fingerprint)


@dataclass(frozen=True)
class Script:
    """How a scripted child behaves.

    `answer` is written token by token, again and again where `endless`; where there are `pieces` these are written
    instead, one token each; with `echo` the prompt itself is.  Where it `follows`, an answer begins after the place in
    it where the prompt ends, so that a prompt that holds half of an answer is followed by the other half.
    `fault` is what goes wrong: "hang at start", "abort at start" (as a driver does that a backend wakes), "refuse", "hang in load", "die in load", "hang", "deaf", "stubborn",
    "protocol", "last words"; "stall" hangs in the first request.  An engine dies of a prompt that holds KILL.
    """

    answer: bytes = b"Hello."
    endless: bool = False
    follows: bool = False
    fault: str = ""
    pieces: tuple[bytes, ...] = ()
    echo: bool = False

    def tokens(self, prompt: tuple[int, ...]) -> tuple[int, ...]:
        """What is written for this prompt."""
        if self.echo:
            return prompt
        return tuple(range(END + 1, END + 1 + len(self.pieces))) or tuple(self.answer)

    @property
    def vocabulary(self) -> VocabularyLoaded:
        ends = array("I", accumulate(map(len, self.pieces), initial=len(PIECES)))
        more = ends.tobytes()[ends.itemsize :]
        return replace(VOCABULARY, pieces=PIECES + b"".join(self.pieces), ends=ENDS + more)

    def begins(self, prompt: bytes) -> int:
        """The place in `answer` at which what follows `prompt` begins."""
        written = len(self.answer) if self.follows else 0
        while not prompt.endswith(self.answer[:written]):
            written -= 1
        return written


def engine(connection: "Connection[Message, Message]", name: str, *, script: Script) -> None:
    """An engine that writes the script's answer for every request."""
    _Engine(connection, script).run()


def text_worker(connection: "Connection[Message, Message]", name: str, *, script: Script) -> None:
    """A text worker; a text that holds LOOP is never done, DIE ends the process, BAD is refused."""
    _TextWorker(connection, script).run()


class _Scripted(ABC):
    def __init__(self, connection: "Connection[Message, Message]", script: Script) -> None:
        self.script = script
        self.inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.pump = Pump(connection, self.inbox.put, lambda: self.inbox.put(None), name="in")

    def run(self) -> None:
        fault = self.script.fault
        self.start(fault)
        self.pump.send(Ready(PROTOCOL + (fault == "protocol"), os.getpid(), "0", ("CPU",)))
        self.until(Load)
        self.pump.send(Progress(0.5, "half way"))
        if fault == "refuse":
            self.pump.send(LoadFailed("This is no model."))
            return
        if fault == "hang in load":
            self.until(Shutdown)
            return
        if fault == "die in load":
            os._exit(7)
        if fault == "last words":
            self.pump.send(LastWords("KeyError: 'x'", "Traceback: none"))
            os._exit(1)
        self.pump.send(self.greeting())
        if fault in ("deaf", "stubborn"):
            while True:
                self.pump.send(Heartbeat())
                time.sleep(0.02)
        if fault == "hang":
            _hang()
        self.serve()

    def start(self, fault: str) -> None:
        """Up to where it is ready to be told of a model."""
        if fault == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.pump.start()
        if fault == "hang at start":
            _hang()
        if fault == "abort at start":
            os.abort()

    def until(self, kind: type[Message]) -> None:
        """Wait for a message of this kind; the end of the pipe ends the process."""
        while not isinstance(message := self.inbox.get(), kind):
            if message is None or isinstance(message, Shutdown):
                os._exit(0)

    def next(self, timeout: float) -> Message | None:
        try:
            message = self.inbox.get(timeout=timeout)
        except queue.Empty:
            return None
        if message is None or isinstance(message, Shutdown):
            raise SystemExit(0)
        return message

    @abstractmethod
    def greeting(self) -> Message:
        """What it says when it has loaded."""

    @abstractmethod
    def serve(self) -> None:
        """What it does from then on."""


@dataclass
class _Writing:
    """A request of the scripted engine: where in the answer it is, and how much of it was written."""

    submit: Submit
    answer: tuple[int, ...]
    place: int
    written: int = 0

    def end(self, script: Script) -> FinishReason | None:
        if self.written == self.submit.max_tokens:
            return FinishReason.LENGTH
        done = self.place == len(self.answer) and not script.endless
        return FinishReason.STOP if done else None


class _Engine(_Scripted):
    def greeting(self) -> Message:
        return LOADED

    def begin(self, submit: Submit) -> _Writing:
        prompt = bytes(token for token in submit.tokens if token < 256)
        if self.script.fault == "stall":
            reading = ReadingNow(submit.request_id, 1, len(prompt), 0)
            self.pump.send(Step(Counters(), reading=(reading,)))
            _hang()
        if b"KILL" in prompt:
            os._exit(6)
        return _Writing(submit, self.script.tokens(submit.tokens), self.script.begins(prompt))

    def serve(self) -> None:
        running: dict[int, _Writing] = {}
        counters = Counters()
        while True:
            message = self.next(0.002 if running else 1.0)
            if isinstance(message, Submit):
                running[message.request_id] = self.begin(message)
            aborted = message.request_id if isinstance(message, Abort) else None
            finished = []
            tokens = []
            for request_id, writing in tuple(running.items()):
                reason = writing.end(self.script)
                if reason is not None or request_id == aborted:
                    usage = Usage(len(writing.submit.tokens), writing.written, 0)
                    end = Finished(request_id, reason or FinishReason.CANCELLED, usage)
                    finished.append(end)
                    del running[request_id]
                    continue
                token = writing.answer[writing.place % len(writing.answer)]
                writing.place += 1
                writing.written += 1
                tokens.append(TokenOut(request_id, token))
            counters = Counters(
                steps=counters.steps + 1,
                written=counters.written + len(tokens),
                running=len(running),
            )
            self.pump.send(Step(counters, tuple(tokens), finished=tuple(finished)))


class _TextWorker(_Scripted):
    def greeting(self) -> Message:
        return self.script.vocabulary

    def serve(self) -> None:
        while True:
            message = self.next(0.5)
            if isinstance(message, Render):
                content = "".join(line.content for line in message.lines)
                self.misbehave(content)
                tokens = prompt_ids(message.lines)
                if "BAD" in content:
                    self.pump.send(TextFailed(message.request_id, "This text is bad."))
                else:
                    self.pump.send(Rendered(message.request_id, tokens, spans(message.lines)))
            elif isinstance(message, Tokenize):
                self.misbehave(message.text)
                self.pump.send(Tokenized(message.request_id, len(message.text.encode())))
            elif isinstance(message, Constrain):
                self.misbehave(message.form.source)
                if "BAD" in message.form.source:
                    self.pump.send(FormRefused(message.request_id, "This form is bad."))
                else:
                    self.pump.send(Constrained(message.request_id, ANYTHING))
            else:
                self.pump.send(Heartbeat())

    @staticmethod
    def misbehave(content: str) -> None:
        if "DIE" in content:
            os._exit(9)
        while "LOOP" in content:
            pass


def prompt_ids(lines: tuple[ChatLine, ...]) -> tuple[int, ...]:
    """The ids that the scripted worker renders."""
    return tuple(token for line in lines for token in (line.ids or tuple(line.content.encode())))


def spans(lines: tuple[ChatLine, ...]) -> tuple[tuple[int, int], ...]:
    """Where each line's content is in them."""
    ends = tuple(accumulate(len(prompt_ids((line,))) for line in lines))
    return tuple(zip((0, *ends), ends, strict=False))


def _hang() -> None:
    """Alive, but it neither reads nor says anything; only a signal ends it."""
    while True:
        time.sleep(60)


# --- spawning them -------------------------------------------------------------------------------------------


class Births:
    """Makes scripted children and keeps all of them: the first of a kind gets the first script, the last one goes on."""

    def __init__(
        self,
        entry: Callable[..., None],
        *scripts: Script,
        limits: Limits = LIMITS,
        patience: Patience = PATIENCE,
        clock: Clock | None = None,
    ) -> None:
        self.entry = entry
        self.scripts = scripts or (Script(),)
        self.limits = limits
        self.patience = patience
        self.clock = clock
        self.children: list[Child] = []
        self.deaths: list[Death] = []

    def __call__(self, on_message: OnMessage, on_death: OnDeath) -> Child:
        script = self.scripts[min(len(self.children), len(self.scripts) - 1)]

        def died(death: Death) -> None:
            self.deaths.append(death)
            on_death(death)

        child = Child(
            functools.partial(self.entry, script=script),
            self.entry.__name__.replace("_", "-"),
            on_message=on_message,
            on_death=died,
            limits=self.limits,
            patience=self.patience,
            clock=self.clock,
        )
        self.children.append(child)
        return child


# --- without a process ---------------------------------------------------------------------------------------


class FakeClock:
    """Time that stands still until `advance`."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._timers: list[_FakeTimer] = []

    def now(self) -> float:
        return self._now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> "_FakeTimer":
        timer = _FakeTimer(self._now + seconds, callback)
        self._timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Let time pass; timers that come due run in order."""
        end = self._now + seconds
        while due := [t for t in self._timers if t.when <= end and not t.cancelled]:
            first = min(due, key=lambda timer: timer.when)
            self._timers.remove(first)
            self._now = max(self._now, first.when)
            first.callback()
        self._now = end


@dataclass(eq=False)
class _FakeTimer:
    when: float
    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass(eq=False)
class FakeLink:
    """A child played by the test: `say` what it says, `die`, look at what was `sent`."""

    on_message: OnMessage
    on_death: OnDeath
    greeting: Any
    name: str = "engine"
    sent: list[Message] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)
    death: Death | None = None
    stops: int = 0
    params: LoadParams | None = None
    gate: Any = None
    stop_gate: Any = None
    dead: asyncio.Event = field(default_factory=asyncio.Event)

    async def load(self, params: LoadParams, on_progress: OnProgress) -> Any:
        self.params = params
        on_progress(Progress(0.5, "half way"))
        if self.gate is not None:
            await self._allowed()
        if self.death is not None:
            raise EngineDied(str(self.death))
        if isinstance(self.greeting, Exception):
            raise self.greeting
        return self.greeting

    def send(self, message: Message) -> None:
        self.sent.append(message)

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.on_message(message)

    def kill(self, why: str) -> None:
        self.killed.append(why)
        self.die(Death(self.name, exitcode=-9, why=why))

    def die(self, death: Death | None = None) -> None:
        if self.death is None:
            self.death = death or Death(self.name, exitcode=-11)
            self.dead.set()
            self.on_death(self.death)

    async def _allowed(self) -> None:
        """Until the test lets the load go on, or ends the child."""
        ways = [begin(self.gate.wait()), begin(self.dead.wait())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()

    async def stop(self) -> None:
        self.stops += 1
        if self.stop_gate is not None:
            await self.stop_gate.wait()
        self.die(Death(self.name, exitcode=0, asked=True))


class FakeLinks:
    """Makes fake children and keeps them.  `replies`: a text worker that answers by itself."""

    def __init__(self, *greetings: Any, name: str = "engine", replies: bool = False) -> None:
        self.greetings = greetings
        self.name = name
        self.replies = replies
        self.gate: Any = None
        self.links: list[FakeLink] = []

    @property
    def last(self) -> FakeLink:
        return self.links[-1]

    def __call__(self, on_message: OnMessage, on_death: OnDeath) -> Link:
        greeting = self.greetings[min(len(self.links), len(self.greetings) - 1)]
        kind = _Replying if self.replies else FakeLink
        link = kind(on_message, on_death, greeting, self.name, gate=self.gate)
        self.links.append(link)
        return link


class _Replying(FakeLink):
    def send(self, message: Message) -> None:
        super().send(message)
        if isinstance(message, Render):
            self.say(Rendered(message.request_id, prompt_ids(message.lines), spans(message.lines)))
        elif isinstance(message, Tokenize):
            self.say(Tokenized(message.request_id, len(message.text.encode())))


def fake_means(engine: Spawn, text: Spawn | None = None, clock: Clock | None = None) -> Means:
    """A model run with these; the text worker answers by itself unless one is given."""
    return Means(
        engine,
        text or FakeLinks(VOCABULARY, name="text-worker", replies=True),
        clock or FakeClock(),
    )


def step(*events: Any, **counters: Any) -> Step:
    """A step with these events sorted into their places."""
    return Step(
        Counters(**counters),
        waiting=tuple(event for event in events if isinstance(event, WaitingNow)),
        tokens=tuple(event for event in events if isinstance(event, TokenOut)),
        reading=tuple(event for event in events if isinstance(event, ReadingNow)),
        finished=tuple(event for event in events if isinstance(event, Finished)),
    )


def run(scenario: Coroutine[Any, Any, Any]) -> Any:
    """Run it on a plain asyncio loop; what hangs fails."""

    async def bounded() -> Any:
        async with asyncio.timeout(100):
            return await scenario

    return asyncio.run(bounded())


def begin(work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
    """Start it beside the test; the caller holds it and awaits it."""
    return asyncio.get_running_loop().create_task(work)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that nothing tells of."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def turns(count: int = 20) -> None:
    """Let the loop do what is ready."""
    for _ in range(count):
        await asyncio.sleep(0)


def threads() -> set[str]:
    """The names of the threads of this package's making that are alive."""
    return {
        thread.name for thread in threading.enumerate() if thread.name.endswith(("-in", "-out"))
    }
