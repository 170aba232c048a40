"""The child processes of a soak: real ones, watched on their way, and hurt on purpose.

A death that nobody caused is a fault.  Three things are done to an engine: SIGKILL, SIGSTOP (it hangs, and is found to),
and SIGABRT as soon as it gets a prompt with `POISON` in it.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

from app import priority
from app.client import child
from app.client.child import Child, Limits, Link, OnProgress
from app.client.death import Death
from app.client.process import Entry, OnDeath, OnMessage
from app.wire import LoadParams, Message, Step, Submit
from tests.soak.trace import Trace

POISON = "poison"


def letters(tokens: tuple[int, ...]) -> bytes:
    """The text of a prompt of a talker, whose first 256 tokens are the bytes; any other token is a 0."""
    return bytes(token if token < 256 else 0 for token in tokens)


class Watched:
    """One life of one process."""

    def __init__(
        self,
        house: "House",
        entry: Entry,
        name: str,
        on_message: OnMessage,
        on_death: OnDeath,
        limits: Limits,
    ) -> None:
        self._house = house
        self._on_message, self._on_death = on_message, on_death
        self._child = Child(
            entry,
            name,
            on_message=self._heard,
            on_death=self._died,
            yields=priority.TEXT_WORKER if entry is child._text_entry else priority.ENGINE,
            limits=limits,
        )
        self.name = name
        self.doom = ""
        self.ready = self.wrote = False
        self.gone = False

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def load(self, params: LoadParams, on_progress: OnProgress) -> child.Greeting:
        greeting = await self._child.load(params, on_progress)
        self.ready = True
        self._house.trace(self.name, self.pid, "is ready")
        return greeting

    def send(self, message: Message) -> None:
        self._child.send(message)
        if isinstance(message, Submit):
            self._house.submitted(message)
            if POISON.encode() in letters(message.tokens):
                self.hurt(signal.SIGABRT, "poisoned")

    def kill(self, why: str) -> None:
        self._house.trace(self.name, self.pid, "is killed by the app: it", why)
        if not self.doom:
            self.doom = "slow"
            self._house.ends.append(f"The {self.name} was ended because it {why}.")
        self._child.kill(why)

    async def stop(self) -> None:
        await self._child.stop()

    def hurt(self, number: signal.Signals, doom: str) -> None:
        """Send it a signal; its death is no fault then."""
        if self.pid is not None and not self.gone and not self.doom:
            self.doom = doom
            self._house.trace(self.name, self.pid, "is", doom)
            os.kill(self.pid, number)

    def _heard(self, message: Message) -> None:
        if isinstance(message, Step):
            self.wrote = self.wrote or bool(message.tokens)
            self._house.stepped(message)
        self._on_message(message)

    def _died(self, death: Death) -> None:
        self.gone = True
        self._house.died(self, death)
        self._on_death(death)


@dataclass
class House:
    """Makes the children; `faults` are what should not have happened."""

    trace: Trace
    limits: Limits
    faults: list[str] = field(default_factory=list)
    deaths: Counter[str] = field(default_factory=Counter)
    ends: list[str] = field(default_factory=list)
    """In words, every end that was neither ordered nor caused by the soak, from when the app knows of it."""
    steps: int = 0
    written: int = 0
    engine: Watched | None = None
    text: Watched | None = None
    vain: int = 0
    on_submit: Callable[[Submit], None] = lambda _: None
    on_step: Callable[[Step], None] = lambda _: None
    peak: int = 0

    def make_engine(self, on_message: OnMessage, on_death: OnDeath) -> Link:
        self.engine = Watched(
            self, child._engine_entry, "engine", on_message, on_death, self.limits
        )
        return self.engine

    def make_text(self, on_message: OnMessage, on_death: OnDeath) -> Link:
        self.text = Watched(
            self, child._text_entry, "text-worker", on_message, on_death, self.limits
        )
        return self.text

    def submitted(self, submit: Submit) -> None:
        self.on_submit(submit)

    def stepped(self, step: Step) -> None:
        self.steps += 1
        self.written += len(step.tokens)
        self.on_step(step)

    def died(self, one: Watched, death: Death) -> None:
        self.trace(one.name, one.pid, "died:", death)
        if death.asked:
            return
        if not one.doom:
            self.ends.append(str(death))
        # A machine that is busy with other things may keep a child waiting for longer than that.
        starved = not one.doom and death.why.startswith("did not answer")
        self.deaths[one.doom or ("starved" if starved else "of itself")] += 1
        if not one.doom and not starved:
            self.faults.append(f"nobody had done anything to it: {death}")
        if one.name == "engine":
            self.vain = 0 if one.wrote else self.vain + 1

    @property
    def engine_memory(self) -> int:
        """Bytes of the engine's process; 0 where there is none."""
        if self.engine is None or self.engine.pid is None:
            return 0
        try:
            size = int(psutil.Process(self.engine.pid).memory_info().rss)
        except psutil.Error:
            return 0
        self.peak = max(self.peak, size)
        return size
