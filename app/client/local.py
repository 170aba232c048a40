"""The local model: the domain's `Generator` and `ModelHost` over the two child processes.

One model at a time (`app.client.ensemble` has several of these); requests that want different ones take turns by the
model (`app.client.rotation`).  The state changes on the event loop and at once; processes end behind it, and a new pair is
started only when the old one is gone.  A request that comes while there is no pair starts a load, or waits for the one
that runs.  A death of the engine is the pair's own affair: it is shown as a load, and requests wait for its end.  Cleaning
up after a request needs no await, so that an iterator that is dropped instead of closed still stops its request.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path, PurePath

from app import modelfile
from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.chat.ports import Counting, Ended, Event, LeftOut, Measured, Request, Waiting
from app.client.answer import STARTING_AGAIN
from app.client.fitting import takes_long
from app.client.idle import IdleWatch
from app.client.listening import listening, next_events
from app.client.load_failure import FAILED, Failure
from app.client.loading import Loader, LoadParamsOf, MakeRoom
from app.client.means import MEANS, Means
from app.client.memories import Memories
from app.client.pair import Pair
from app.client.prompt_format import LocalPromptFormat
from app.client.rotation import Place, Rotation
from app.client.status import engine_status, loading, ready, unloaded
from app.client.told import Listener, ToldState
from app.client.trust import Trust
from app.counters import Counters
from app.errors import AppError, ModelError
from app.overrides import Overrides
from app.prompting import FedPrompt
from app.tasks import Tasks
from app.wire import FinishReason, Loaded, Progress, Usage

LOADING = "the model is loading"
TAKEN = "another model is answering"
TAKEN_AWAY = "Another model was loaded; send the message again."


class LocalModel:
    """Loads, generates, unloads.  Everything is called on the event loop, from anywhere in it.

    `load_params` says how a file is to be loaded; it may read the file, for it is called on a thread.  With `path` the
    first request loads that file.  `overrides` are the templates that the user wrote, `title` tells what the model in a
    file is called, `trust` what a file must pass before it is loaded (None: it is loaded as it is).  `make_room` is asked
    for more memory where there was too little; whether there is more now.
    """

    def __init__(
        self,
        load_params: LoadParamsOf,
        *,
        path: str = "",
        memories: Memories | None = None,
        overrides: Overrides | None = None,
        title: Callable[[str], str] = modelfile.title,
        trust: Trust | None = None,
        means: Means = MEANS,
        make_room: MakeRoom | None = None,
    ) -> None:
        self._memories = memories or Memories()
        self._title = title
        self._trust = trust
        self._loader = Loader(
            load_params,
            means,
            self._memories.written,
            overrides=overrides,
            trust=trust,
            make_room=make_room,
            on_change=self._engine_changed,
            retire=self._retire,
        )
        phase = ModelPhase.UNLOADED if path else ModelPhase.NONE
        self._told = ToldState(ModelState(phase, path=path, name=self._title(path)))
        self._pair: Pair | None = None
        self.prompt_format = LocalPromptFormat(lambda: self._pair, overrides, self._engine_changed)
        self._loading: asyncio.Task[None] | None = None
        self._loads = Tasks()
        self._stops = Tasks()
        self._idle = IdleWatch(means.clock, self._unload_idle)
        self._rotation = Rotation(lambda: self._told.now.path)
        self._closed = False

    # --- ModelHost -------------------------------------------------------------------------------------------

    @property
    def state(self) -> ModelState:
        """Where the model is in its life."""
        return self._told.now

    @property
    def loaded(self) -> Loaded | None:
        """What the engine said of the model that is ready."""
        return self._pair.loaded if self._pair is not None else None

    @property
    def counters(self) -> Counters:
        """The engine's counters after its last step; zeros where no model is ready."""
        return self._pair.engine.counters if self._pair is not None else Counters()

    @property
    def status(self) -> EngineStatus:
        """What the engine does now."""
        return EngineStatus() if self._pair is None else engine_status(self._pair.engine)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` soon after every change, in order; the returned function ends it."""
        return self._told.subscribe(listener)

    async def check(self, path: str) -> None:
        """Look whether this can be a model; raises ModelError with the reason."""
        await asyncio.to_thread(modelfile.check, Path(path))

    async def examine(self, path: str, tell: Callable[[float], None]) -> None:
        """Open this file in a throw-away process, where that was not done yet; see `ModelHost.examine`."""
        await self.check(path)
        if self._trust is not None:
            await self._trust.check(path, lambda step: tell(step.fraction))

    async def accept(self, path: str) -> None:
        """The user wants this file although its check did not come to an end; raises ModelError."""
        if self._trust is not None:
            await self._trust.accept(path)

    async def load(self, path: str) -> None:
        """Load this file in place of the present one; returns when it is ready, failed or cancelled."""
        if self._closed:
            return
        self._end_pair(FinishReason.ERROR, TAKEN_AWAY)
        await asyncio.wait([self._begin_load(path)])

    def retitle(self) -> None:
        """The model may be called otherwise now."""
        self._told.show(replace(self._told.now, name=self._title(self._told.now.path)))

    async def spares(self, _path: str) -> bool:
        """Never: there is one model at a time."""
        return False

    def show(self, path: str) -> None:
        """There is one model at a time, and it is always the present one."""

    async def unload(self, _path: str = "") -> None:
        """Free the memory, or cancel a load; the next request loads the model again."""
        self._cancel_load()
        self._end_pair(FinishReason.ERROR, "The model was unloaded; send the message again.")
        if self._told.now.path:
            self._unloaded()
        await self._loads.finish()
        await self._stops.finish()

    async def close(self) -> None:
        """End all child processes; nothing can be loaded any more."""
        self._closed = True
        self._idle.close()
        await self.unload()

    def set_idle_unload(self, minutes: float) -> None:
        """Unload once no request has run for so long; 0: never."""
        self._idle.set_minutes(minutes)

    # --- Generator -------------------------------------------------------------------------------------------

    async def generate(self, request: Request) -> AsyncGenerator[Event, None]:
        """Yield events, `Ended` last and exactly once; never raises an AppError."""
        chat = 0 if request.aside else request.owner  # whose turn this is
        self._memories.fed.forget(chat)
        with self._idle.busy(), self._rotation.join(request.model) as place:
            if not place.in_turn:
                yield Waiting(0, TAKEN)
            refusal = await self._enter(request, place)
            if not refusal and self._wants_load(request):
                yield Waiting(0, LOADING)
            pair = None if refusal else await self._ready()
            if pair is None or not self._has(request.model):
                yield Ended(FinishReason.ERROR, Usage(), refusal or self._why_not(request))
                return
            if takes_long(request.messages):
                yield Counting()
            try:
                stream, answer, left_out = await pair.begin(request)
            except AppError as error:
                yield pair.refusal(error)
                return
            self._memories.fed.remember(chat, FedPrompt(pair.loaded.fingerprint, stream.prompt))
            self._show_notes(pair)
            with listening(pair, stream, answer, request) as untold:
                if left_out:
                    yield LeftOut(left_out)
                while not answer.ended:
                    untold.extend(await next_events(pair, stream, answer, request))
                    while untold:
                        yield untold.popleft()

    def _show_notes(self, pair: Pair) -> None:
        if pair is self._pair:
            self._told.show(replace(self._told.now, notes=pair.notes))

    async def warm(self, request: Request) -> None:
        """Have read what goes before the next message of this conversation, where a model is ready."""
        ready = self._pair is not None and self._told.now.phase is ModelPhase.READY
        if self._pair is not None and ready and self._has(request.model):
            with self._idle.busy():
                await self._pair.warm(request)

    @property
    def model(self) -> str:
        """The file that answers who wants no other; "" where there is none, or it could not be loaded."""
        return "" if self._told.now.phase is ModelPhase.FAILED else self._told.now.path

    def context_of(self, model: str) -> int:
        """The most tokens of one chat with this model; 0 where it is not ready."""
        pair = self._pair if self._has(model) else None
        return 0 if pair is None else pair.loaded.context_tokens

    async def measure(self, request: Request) -> Measured | None:
        """How long its prompt would be; None where no model is ready or it cannot be read."""
        if self._pair is None or not self._has(request.model):
            return None
        return await self._pair.measure(request)

    async def forget(self, owner: int) -> None:
        """Drop what was kept of this chat; the files too, whether or not its model is loaded."""
        for pair in (self._pair, self._loader.coming):
            if pair is not None:
                pair.forget(owner)
        await self._memories.forget(owner)

    def fed(self, text: str) -> tuple[int, ...]:
        """The tokens that were written for exactly this text; () where that is not known."""
        return self._memories.written.ids(text)

    def fed_prompt(self, owner: int) -> FedPrompt | None:
        """The prompt of this chat's last request; None where that is not known."""
        return self._memories.fed.get(owner)

    async def count_tokens(self, text: str) -> int:
        """The number of tokens of `text`; raises ModelError where no model is ready, and TextError."""
        if self._pair is None:
            raise ModelError("No model is loaded.")
        return await self._pair.text.count(text)

    @property
    def busy(self) -> bool:
        """Whether a request runs or waits, or a model is on its way."""
        return bool(self._rotation.models) or self._loading is not None

    @property
    def holds_memory(self) -> bool:
        """Whether there is a model, or soon will be."""
        return self._pair is not None or self.busy

    @property
    def idle_since(self) -> float:
        """When it was needed last, by the clock; infinity while it is."""
        return math.inf if self.busy else self._idle.since

    def wants(self, path: str) -> bool:
        """Whether this is its model, or will be once a request that waits here has its turn."""
        return path == self._told.now.path or path in self._rotation.models

    def _has(self, model: str) -> bool:
        """Whether this is the model that is, or is to be, loaded."""
        return model in ("", self._told.now.path)

    async def _enter(self, request: Request, place: Place) -> str:
        """Wait until it may run, and begin to load its model where another is; in words why that cannot be."""
        if not request.aside or self._has(request.model):
            await place.come()
        if request.aside and not self._has(request.model):
            return TAKEN_AWAY
        if not self._has(request.model):
            await self._ready()  # nobody's load is given up for this one
            try:
                await self._check_beside(request.model)
            except ModelError as error:
                return str(error)
        if not self._has(request.model) and not self._closed:
            self._end_pair(FinishReason.ERROR, TAKEN_AWAY)
            self._begin_load(request.model)
        return ""

    async def _check_beside(self, path: str) -> None:
        """Nothing that serves ends for a file that cannot be loaded; where nothing does, the load checks, and shows it."""
        if self._pair is None:
            await self.check(path)
        else:
            await self.examine(path, lambda _: None)

    def _wants_load(self, request: Request) -> bool:
        """Whether a request has to wait for a load, which is begun where none runs."""
        phase = self._told.now.phase
        # There may be more memory now, or another file: whoever asks for a model that failed is not told old news.
        again = phase is ModelPhase.FAILED and bool(request.model) and not request.aside
        if self._loading is None and (phase is ModelPhase.UNLOADED or again) and not self._closed:
            self._begin_load(self._told.now.path)
        return self._loading is not None

    async def _ready(self) -> Pair | None:
        while self._loading is not None:
            await asyncio.wait([self._loading])
        return self._pair

    def _why_not(self, request: Request) -> str:
        if not self._has(request.model):
            return TAKEN_AWAY
        if self._told.now.error:
            return self._told.now.error
        if self._told.now.phase is ModelPhase.NONE:
            return "No model is chosen yet. Open one, then send again."
        return "The model was unloaded before the answer began. Send again to load it."

    # --- life ------------------------------------------------------------------------------------------------

    def _begin_load(self, path: str) -> "asyncio.Task[None]":
        self._cancel_load()
        self._rotation.is_now(path)
        self._told.show(loading(path, self._title(path)))
        self._loading = self._loads.spawn(self._load(path), name=f"load {PurePath(path).name}")
        return self._loading

    async def _load(self, path: str) -> None:
        me = asyncio.current_task()

        def progress(step: Progress) -> None:
            if self._loading is me:
                self._told.show(replace(self._told.now, fraction=step.fraction, doing=step.doing))

        why: Failure | None = FAILED
        pair: Pair | None = None
        try:
            await self._loads.finish(but=me)
            await self._stops.finish()
            # Only now: what the model before this one held is free again.
            pair = await self._loader.load(path, progress)
            why = None
        except AppError as failure:
            why = Failure.of(path, failure)
        finally:
            if self._loading is me:
                self._loading = None
                self._loaded(pair, why)
            if pair is not None and pair is not self._pair:
                self._retire(pair)

    def _loaded(self, pair: Pair | None, why: Failure | None) -> None:
        if pair is None or why is not None:
            self._told.show((why or FAILED).shown(self._told.now))
            return
        self._pair = pair
        self._engine_changed(pair)
        self._idle.touch()

    def _engine_changed(self, pair: Pair) -> None:
        """Show what the pair's engine does, and let go of a pair whose engine was given up."""
        if pair is not self._pair:
            return
        over = pair.engine.over
        if over is not None:
            self._told.show(Failure(over[1]).shown(self._told.now))
            self._end_pair(*over)
        elif pair.engine.serving:
            self._told.show(ready(self._told.now, pair))
        else:
            again = replace(self._told.now, phase=ModelPhase.LOADING, doing=STARTING_AGAIN)
            self._told.show(replace(again, fraction=pair.engine.fraction))

    def _unload_idle(self) -> None:
        if self._pair is None:
            return
        self._end_pair(FinishReason.ERROR, "The model was unloaded; send the message again.")
        self._unloaded()

    def _unloaded(self) -> None:
        self._told.show(unloaded(self._told.now, self._title(self._told.now.path)))

    def _cancel_load(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None

    def _end_pair(self, reason: FinishReason, why: str) -> None:
        pair, self._pair = self._pair, None
        if pair is not None:
            pair.end(reason, why)
            self._retire(pair)

    def _retire(self, pair: Pair) -> "asyncio.Task[None]":
        return self._stops.spawn(self._memories.kept.outlive(pair.stop()), name="stop a model")
