"""The supervisor of an engine: one process after the other, until it is stopped or given up.

A process that dies, hangs or finds no memory is followed by another after a pause (`app.client.recovery`); one that
refuses the model's file is the last.
A new one is started only when the old one is gone, for two would not fit in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from app.client.child import Link, OnProgress, Spawn
from app.client.clock import Clock, Timer
from app.client.death import Death
from app.client.recovery import VAIN_DEATHS, Recovery
from app.client.same_file import SameFile
from app.errors import AppError, EngineDied, EngineError, ModelError, OutOfMemory
from app.tasks import Tasks
from app.wire import Loaded, LoadParams, Message, Progress, Step

RESTART_SECONDS = 60.0
RESTART_FACTOR = 10.0
"""A load that is a restart may take this many times as long as the first one, and `RESTART_SECONDS` in any case."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """What the owner wants to hear, on the event loop.

    `message`: something from the living engine.  `interrupted`: it died and will be followed by another, or
    `given_up`, which comes right after with the words; returns whether it is explained by one request, or by the search
    for it.  `serving`: there is an engine.  `changed`: how far the next one is loaded has changed.
    """

    message: Callable[[Message], None]
    interrupted: Callable[[Death], bool]
    given_up: Callable[[str], None]
    serving: Callable[[], None]
    changed: Callable[[], None]


class EngineLives:
    """All processes of one engine.  `load` once, `end` and `stop` once; all on the event loop."""

    def __init__(
        self,
        spawn: Spawn,
        listeners: Listeners,
        *,
        clock: Clock,
        recovery: Recovery,
        same: SameFile,
    ) -> None:
        """`same` is shared by all processes of one model."""
        self._same = same
        self._spawn = spawn
        self._tell = listeners
        self._clock = clock
        self._recovery = recovery
        self._tasks = Tasks()
        self._link: Link | None = None
        self._life = 0
        self._ended: Death | None = None
        self._loaded: Loaded | None = None
        self._load_seconds = 0.0
        self._ready_at = 0.0
        self._wrote = False
        self.has_written = False
        """Whether any engine of these has."""
        self._timer: Timer | None = None
        self._over = False
        self.serving = False
        """Whether there is an engine at this moment."""
        self.fraction = 0.0
        """How far the load is that is to bring the next one."""
        self.death: Death | None = None
        """The last that ended a serving engine."""

    @property
    def loaded(self) -> Loaded:
        """What the engine said of the model, the last time that it was loaded."""
        if self._loaded is None:
            raise ModelError("The model is not loaded.")
        return self._loaded

    async def load(self, params: LoadParams, on_progress: OnProgress) -> Loaded:
        """The first start; raises AppError with the reason where it fails, and then tries no other."""
        began = self._clock.now()
        loaded = await self._start(params, on_progress)
        self._load_seconds = self._clock.now() - began
        self._serve(loaded)
        return loaded

    def send(self, message: Message) -> None:
        """Send it to the engine that there is; lost where there is none."""
        if self._link is not None:
            self._link.send(message)

    def end(self) -> None:
        """Start no other engine any more."""
        self._over = True
        self.serving = False
        if self._timer is not None:
            self._timer.cancel()

    async def stop(self) -> None:
        """End the process; returns when it is gone."""
        self.end()
        await self._drop()
        await self._tasks.finish()

    # --- one life --------------------------------------------------------------------------------------------

    async def _start(self, params: LoadParams, on_progress: OnProgress) -> Loaded:
        self._life += 1
        self._ended = None
        life = self._life
        self._link = self._spawn(partial(self._heard, life), partial(self._died, params, life))
        loaded = await self._link.load(params, on_progress)
        if self._ended is not None:
            raise EngineDied(str(self._ended))
        if not isinstance(loaded, Loaded):
            raise EngineError("The engine did not load a model.")
        self._same.check(loaded)
        return loaded

    def _serve(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._ready_at = self._clock.now()
        self._wrote = False
        self.serving = True
        self._tell.serving()

    def _heard(self, life: int, message: Message) -> None:
        if life == self._life:
            self._wrote = self._wrote or (isinstance(message, Step) and bool(message.tokens))
            self.has_written = self.has_written or self._wrote
            self._tell.message(message)

    def _died(self, params: LoadParams, life: int, death: Death) -> None:
        if life != self._life:
            return
        self._ended = death
        # One that dies while it loads is told by its load.
        if self.serving:
            self.serving = False
            self.death = death
            lived = self._clock.now() - self._ready_at
            explained = self._tell.interrupted(death)
            # An engine that has worked, and died of one request, is none that cannot work.
            progress = self._wrote or (explained and self.has_written)
            delay = self._recovery.died(lived, progress=progress, explained=explained)
            self._go_on(params, delay, str(death))

    # --- from one to the next --------------------------------------------------------------------------------

    def _go_on(self, params: LoadParams, delay: float | None, words: str) -> None:
        self.fraction = 0.0
        if delay is None:
            self._give_up(
                f"{words} That was {VAIN_DEATHS} times in a row soon after loading, so this model is given up. "
                "Load it with a smaller pool, or choose another."
            )
        else:
            self._timer = self._clock.call_later(delay, partial(self._again, params))
            self._tell.changed()

    def _give_up(self, words: str) -> None:
        if not self._over:
            self.end()
            self._tell.given_up(words)

    def _again(self, params: LoadParams) -> None:
        self._timer = None
        self._tasks.spawn(self._restart(params), name="start the engine again")

    async def _restart(self, params: LoadParams) -> None:
        if self._over:
            return
        try:
            loaded = await self._start_in_time(params)
        except AppError as error:
            await self._drop()
            words = f"The engine could not be started again: {error}"
            if _is_final(error):
                self._give_up(words)
            elif not self._over:
                self._go_on(params, self._recovery.died(0.0), words)
            return
        if not self._over:
            self._serve(loaded)

    async def _start_in_time(self, params: LoadParams) -> Loaded:
        limit = max(RESTART_SECONDS, RESTART_FACTOR * self._load_seconds)
        why = f"did not load within {limit:.0f} s"
        late = self._clock.call_later(limit, partial(self._kill, why))
        try:
            return await self._start(params, self._load_goes_on)
        finally:
            late.cancel()

    def _load_goes_on(self, progress: Progress) -> None:
        self.fraction = progress.fraction
        self._tell.changed()

    def _kill(self, why: str) -> None:
        if self._link is not None:
            self._link.kill(why)

    async def _drop(self) -> None:
        if self._link is not None:
            await self._link.stop()


def _is_final(error: AppError) -> bool:
    """Whether the next engine would say the same: a file that is gone, or is refused, stays so; memory comes and goes."""
    return isinstance(error, ModelError) and not isinstance(error, OutOfMemory)
