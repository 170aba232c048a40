"""A child process of the engine's, the text worker's or the check's kind: greeted, loaded, watched, stopped.

This module is the only door into the three child programs, and imports them inside the child alone.  One `Child` is one
life of one process; whoever needs another makes another `Child`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from app import priority
from app.client.clock import Clock, LoopClock, Timer
from app.client.death import Death
from app.client.process import PATIENCE, ChildProcess, Entry, OnDeath, OnMessage, Patience
from app.device import Device
from app.errors import EngineDied, ModelError, OutOfMemory
from app.wire import (
    PROTOCOL,
    Examined,
    Heartbeat,
    Load,
    Loaded,
    LoadFailed,
    LoadParams,
    Message,
    Progress,
    Ready,
    VocabularyLoaded,
)

Greeting = Loaded | VocabularyLoaded | Examined
OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: until Ready, for a load (None: no limit), and without any message once loaded (a heartbeat comes each
    second).  `grace` is given once more after silence: a machine that was asleep comes back with old clocks."""

    ready: float = 60.0
    load: float | None = None
    silence: float = 60.0
    grace: float = 2.0


class Link(Protocol):
    """What the clients need of a child."""

    async def load(self, params: LoadParams, on_progress: OnProgress) -> Greeting: ...

    def send(self, message: Message) -> None: ...

    def kill(self, why: str) -> None: ...

    async def stop(self) -> None: ...


Spawn = Callable[[OnMessage, OnDeath], Link]
"""Makes a child that is not started yet."""


class Child:
    """One process.  `on_message` gets what comes after the load, but for heartbeats; `on_death` comes last, once,
    for every end (`Death.asked` tells an ordered one).  All calls and callbacks are on the event loop."""

    def __init__(
        self,
        entry: Entry,
        name: str,
        *,
        on_message: OnMessage,
        on_death: OnDeath,
        yields: int = 0,
        limits: Limits = Limits(),
        patience: Patience = PATIENCE,
        clock: Clock | None = None,
    ) -> None:
        """`yields`: how far it gives way to this process (`app.priority`)."""
        self._entry = entry
        self._name = name
        self._on_message = on_message
        self._on_death = on_death
        self._yields = yields
        self._limits = limits
        self._patience = patience
        self._clock: Clock = clock or LoopClock()
        self._process: ChildProcess | None = None
        self._params: LoadParams | None = None
        self._on_progress: OnProgress | None = None
        self._greeting: asyncio.Future[Greeting] | None = None
        self._timer: Timer | None = None
        self._heard_at = 0.0
        self._suspect = False
        self.ready: Ready | None = None
        self.death: Death | None = None

    @property
    def pid(self) -> int | None:
        """The process's id while it runs."""
        return self._process.pid if self._process is not None else None

    async def load(self, params: LoadParams, on_progress: OnProgress) -> Greeting:
        """Start the process and have it load; to be called once.

        Raises ModelError (OutOfMemory) with the child's reason where it refuses, EngineDied where it ends instead.
        Afterwards, and after a cancellation, the process is still to be stopped.
        """
        self._params, self._on_progress = params, on_progress
        self._greeting = asyncio.get_running_loop().create_future()
        self._process = ChildProcess(
            self._entry,
            self._name,
            on_message=self._deliver,
            on_death=self._died,
            clock=self._clock,
            patience=self._patience,
            yields=self._yields,
        )
        self._within(self._limits.ready, "did not start")
        return await self._greeting

    def send(self, message: Message) -> None:
        """Send it, never blocking; lost where the child is gone."""
        if self._process is not None:
            self._process.send(message)

    def kill(self, why: str) -> None:
        """End it at once; `why` completes "it was ended because it ..."."""
        if self._process is not None:
            self._process.kill(why)

    async def stop(self) -> None:
        """End it in order, or by force where it does not; returns when it is gone.  Twice is fine."""
        self._disarm()
        if self._process is not None and self.death is None:
            await self._process.stop()

    def _deliver(self, message: Message) -> None:
        self._heard_at = self._clock.now()
        self._suspect = False
        match message:
            case Heartbeat():
                pass
            case Ready():
                self._greet(message)
            case Progress():
                if self._on_progress is not None:
                    self._on_progress(message)
            case LoadFailed():
                self._settle(_refusal(message))
            case Loaded() | VocabularyLoaded():
                self._settle(message)
                self._arm(self._limits.silence, self._look)
            case Examined():
                self._settle(message)
            case _:
                self._on_message(message)

    def _greet(self, ready: Ready) -> None:
        self.ready = ready
        self._disarm()
        if ready.protocol != PROTOCOL:
            self.kill(f"speaks protocol {ready.protocol} instead of {PROTOCOL}")
        elif self._params is not None:
            self.send(Load(self._params))
            if self._limits.load is not None:
                self._within(self._limits.load, "did not load")

    def _settle(self, outcome: Greeting | ModelError | EngineDied) -> None:
        self._disarm()
        if self._greeting is None or self._greeting.done():
            return
        if isinstance(outcome, ModelError | EngineDied):
            self._greeting.set_exception(outcome)
        else:
            self._greeting.set_result(outcome)

    def _died(self, death: Death) -> None:
        self.death = death
        early = death.started and self.ready is None
        self._settle(EngineDied(str(death), starved=death.starved, early=early))
        self._on_death(death)

    def _look(self) -> None:
        silent = self._clock.now() - self._heard_at
        if silent < self._limits.silence:
            self._arm(self._limits.silence - silent, self._look)
        elif not self._suspect:
            self._suspect = True
            self._arm(self._limits.grace, self._look)
        else:
            self.kill(f"did not answer for {silent:.0f} s")

    def _within(self, seconds: float, failing: str) -> None:
        def late() -> None:
            self.kill(f"{failing} within {seconds:g} s")

        self._arm(seconds, late)

    def _arm(self, seconds: float, callback: Callable[[], None]) -> None:
        self._disarm()
        self._timer = self._clock.call_later(seconds, callback)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _refusal(message: LoadFailed) -> ModelError:
    if message.short_of is not None:
        return OutOfMemory(message.reason, part=message.short_of)
    return ModelError(message.reason)


async def engine_devices() -> tuple[Device, ...]:
    """What an engine here could compute on; it is started, asked and ended.  Raises EngineDied."""
    greeting: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()

    def heard(message: Message) -> None:
        if isinstance(message, Ready) and not greeting.done():
            greeting.set_result(message)

    def died(death: Death) -> None:
        if not greeting.done():
            greeting.set_exception(EngineDied(str(death)))

    process = ChildProcess(
        _engine_entry,
        "engine",
        on_message=heard,
        on_death=died,
        clock=LoopClock(),
        patience=PATIENCE,
        yields=priority.ENGINE,
    )
    try:
        async with asyncio.timeout(Limits().ready):
            return (await greeting).devices
    except TimeoutError as error:
        raise EngineDied("The engine did not start.") from error
    finally:
        await process.stop()


def engine_child(on_message: OnMessage, on_death: OnDeath) -> Child:
    """An engine, not started yet."""
    return Child(
        _engine_entry,
        "engine",
        on_message=on_message,
        on_death=on_death,
        yields=priority.ENGINE,
    )


def text_child(on_message: OnMessage, on_death: OnDeath) -> Child:
    """A text worker, not started yet; its load reads a vocabulary only and is given two minutes."""
    return Child(
        _text_entry,
        "text-worker",
        on_message=on_message,
        on_death=on_death,
        yields=priority.TEXT_WORKER,
        limits=Limits(load=120.0),
    )


def trial_child(on_message: OnMessage, on_death: OnDeath) -> Child:
    """The check of a file, not started yet; its load ends with `Examined`, and is not limited here."""
    return Child(
        _trial_entry,
        "check",
        on_message=on_message,
        on_death=on_death,
        yields=priority.CHECK,
    )


def _engine_entry(connection: "Connection[Message, Message]", process_name: str) -> None:
    from app.engine import process

    process.main(connection, process_name)


def _text_entry(connection: "Connection[Message, Message]", process_name: str) -> None:
    from app.text import worker

    worker.main(connection, process_name)


def _trial_entry(connection: "Connection[Message, Message]", process_name: str) -> None:
    from app.trial import process

    process.main(connection, process_name)
