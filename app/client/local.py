"""The local model: the domain's `Generator` and `ModelHost` over the two child processes.

One model at a time.  The state changes on the event loop and at once; processes end behind it, and a new pair is
started only when the old one is gone, for two would not fit in memory.  A request that comes while there is no pair
starts a load, or waits for the one that runs.  A death of the engine is the pair's own affair: it is shown as a load,
and requests wait for its end.  Cleaning up after a request needs no await, so that an iterator that is
dropped instead of closed still stops its request on any event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath

from app import modelfile
from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.chat.ports import Ended, Event, LeftOut, Measured, Request, Waiting
from app.client.advice import advice
from app.client.answer import STARTING_AGAIN
from app.client.fed import FedPrompts
from app.client.idle import IdleWatch
from app.client.kept_states import delete_states
from app.client.listening import listening
from app.client.pair import MEANS, Means, OwnTemplate, Pair
from app.client.prompt_format import LocalPromptFormat
from app.client.trust import Trust
from app.client.written import Written
from app.counters import Counters
from app.errors import AppError, ModelError, StoreError, Unproven
from app.overrides import Overrides
from app.prompting import OWN, FedPrompt
from app.tasks import Tasks
from app.wire import FinishReason, Loaded, LoadParams, Progress, Usage

LOADING = "the model is loading"
STARTING = "starting the engine"

Listener = Callable[[ModelState], None]


class LocalModel:
    """Loads, generates, unloads.  Everything is called on the event loop, from anywhere in it.

    `load_params` says how a file is to be loaded; it may read the file, for it is called on a thread.  With `path` the
    first request loads that file.  `states_folder` is where the states of chats may lie ("": nowhere), `overrides` the
    templates that the user wrote, `trust` what a file must pass before it is loaded (None: it is loaded as it is).
    """

    def __init__(
        self,
        load_params: Callable[[str], LoadParams],
        *,
        path: str = "",
        states_folder: str = "",
        overrides: Overrides | None = None,
        trust: Trust | None = None,
        means: Means = MEANS,
    ) -> None:
        self._load_params = load_params
        self._states_folder = states_folder
        self._overrides = overrides
        self._trust = trust
        self._means = means
        phase = ModelPhase.UNLOADED if path else ModelPhase.NONE
        self._state = ModelState(phase, path=path, name=PurePath(path).stem)
        self._listeners: list[Listener] = []
        self._pair: Pair | None = None
        self._written = Written()
        self._fed = FedPrompts()
        self.prompt_format = LocalPromptFormat(lambda: self._pair, overrides, self._engine_changed)
        self._loading: asyncio.Task[None] | None = None
        self._loads = Tasks()
        self._stops = Tasks()
        self._idle = IdleWatch(means.clock, self._unload_idle)
        self._closed = False

    # --- ModelHost -------------------------------------------------------------------------------------------

    @property
    def state(self) -> ModelState:
        """Where the model is in its life."""
        return self._state

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
        if self._pair is None:
            return EngineStatus()
        engine, counters = self._pair.engine, self._pair.engine.counters
        return EngineStatus(
            running=counters.running,
            reading=counters.reading,
            waiting=counters.waiting,
            tokens_per_second=engine.tokens_per_second,
            cached_share=engine.cached_share,
            cells_used=counters.cells_used,
            cells_total=counters.cells_total,
            advice=advice(counters),
        )

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` soon after every change, in order; the returned function ends it."""
        # Wrapped, so that the same function may listen twice and each leave by itself.
        entry = partial(listener)
        self._listeners.append(entry)

        def leave() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return leave

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
        self._end_pair(FinishReason.ERROR, "Another model was loaded; send the message again.")
        await asyncio.wait([self._begin_load(path)])

    async def unload(self) -> None:
        """Free the memory, or cancel a load; the next request loads the model again."""
        self._cancel_load()
        self._end_pair(FinishReason.ERROR, "The model was unloaded; send the message again.")
        if self._state.path:
            self._unloaded("")
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

    async def generate(self, request: Request) -> AsyncIterator[Event]:
        """Yield events, `Ended` last and exactly once; never raises an AppError."""
        chat = _chat_of(request)
        self._fed.forget(chat)
        with self._idle.busy():
            if self._wants_load():
                yield Waiting(0, LOADING)
            pair = await self._ready()
            if pair is None:
                yield Ended(FinishReason.ERROR, Usage(), self._why_not())
                return
            try:
                stream, answer, left_out = await pair.begin(request)
            except AppError as error:
                yield pair.refusal(error)
                return
            self._fed.remember(chat, FedPrompt(pair.loaded.fingerprint, stream.prompt))
            if pair is self._pair:
                self._show(replace(self._state, notes=pair.notes))
            with listening(pair, stream, answer, request) as untold:
                if left_out:
                    yield LeftOut(left_out)
                while not answer.ended:
                    untold.extend(answer.feed(await stream.events()))
                    while untold:
                        event = untold.popleft()
                        if isinstance(event, Ended):
                            pair.keep(answer, request.owner)
                        yield event
                    if answer.stopped:
                        stream.abort()

    async def warm(self, request: Request) -> None:
        """Have read what goes before the next message of this conversation, where a model is ready."""
        if self._pair is not None and self._state.phase is ModelPhase.READY:
            with self._idle.busy():
                await self._pair.warm(request)

    @property
    def context_tokens(self) -> int:
        """The most tokens of one chat; 0 where no model is ready."""
        return 0 if self._pair is None else self._pair.loaded.context_tokens

    async def measure(self, request: Request) -> Measured | None:
        """How long its prompt would be; None where no model is ready or it cannot be read."""
        return None if self._pair is None else await self._pair.measure(request)

    async def forget(self, owner: int) -> None:
        """Drop what was kept of this chat; the files too, whether or not its model is loaded."""
        self._written.forget(owner)
        self._fed.forget(owner)
        if self._pair is not None:
            self._pair.forget(owner)
        await asyncio.to_thread(delete_states, self._states_folder, owner)

    def fed(self, text: str) -> tuple[int, ...]:
        """The tokens that were written for exactly this text; () where that is not known."""
        return self._written.ids(text)

    def fed_prompt(self, owner: int) -> FedPrompt | None:
        """The prompt of this chat's last request; None where that is not known."""
        return self._fed.get(owner)

    async def count_tokens(self, text: str) -> int:
        """The number of tokens of `text`; raises ModelError where no model is ready, and TextError."""
        if self._pair is None:
            raise ModelError("No model is loaded.")
        return await self._pair.text.count(text)

    def _wants_load(self) -> bool:
        """Whether a request has to wait for a load, which is begun where none runs."""
        if self._loading is None and self._state.phase is ModelPhase.UNLOADED and not self._closed:
            self._begin_load(self._state.path)
        return self._loading is not None

    async def _ready(self) -> Pair | None:
        while self._loading is not None:
            await asyncio.wait([self._loading])
        return self._pair

    def _why_not(self) -> str:
        if self._state.error:
            return self._state.error
        if self._state.phase is ModelPhase.NONE:
            return "No model is chosen yet. Open one, then send again."
        return "The model was unloaded before the answer began. Send again to load it."

    # --- life ------------------------------------------------------------------------------------------------

    def _begin_load(self, path: str) -> "asyncio.Task[None]":
        self._cancel_load()
        self._show(
            ModelState(ModelPhase.LOADING, path=path, name=PurePath(path).stem, doing=STARTING)
        )
        self._loading = self._loads.spawn(self._load(path), name=f"load {PurePath(path).name}")
        return self._loading

    async def _load(self, path: str) -> None:
        me = asyncio.current_task()

        def progress(step: Progress) -> None:
            if self._loading is me:
                self._show(replace(self._state, fraction=step.fraction, doing=step.doing))

        error = "Loading failed; see the log."
        unproven = False
        pair: Pair | None = None
        try:
            await self._loads.finish(but=me)
            await self._stops.finish()
            # Only now: what the model before this one held is free again.
            if self._trust is not None:
                await self._trust.check(path, progress)
                progress(Progress(0.0, STARTING))
            params, own = await asyncio.to_thread(self._prepared, path)
            pair = Pair(params, self._means, self._written, self._engine_changed, own)
            await pair.load(progress)
            error = ""
        except AppError as failure:
            error, unproven = str(failure), isinstance(failure, Unproven)
        finally:
            if self._loading is me:
                self._loading = None
                self._loaded(pair, error, unproven=unproven)
            if pair is not None and pair is not self._pair:
                self._retire(pair)

    def _prepared(self, path: str) -> tuple[LoadParams, OwnTemplate]:
        """What a load needs of the disk."""
        return self._load_params(path), _own_template(self._overrides, path)

    def _loaded(self, pair: Pair | None, error: str, *, unproven: bool) -> None:
        if error or pair is None:
            failed = replace(self._state, phase=ModelPhase.FAILED, doing="", error=error)
            self._show(replace(failed, unproven=unproven))
            return
        self._pair = pair
        self._engine_changed(pair)
        self._idle.touch()

    def _engine_changed(self, pair: Pair) -> None:
        """Show what the pair's engine does, and let go of a pair whose engine was given up."""
        if pair is not self._pair:
            return
        over, loaded = pair.engine.over, pair.loaded
        if over is not None:
            self._show(replace(self._state, phase=ModelPhase.FAILED, doing="", error=over[1]))
            self._end_pair(*over)
        elif pair.engine.serving:
            self._show(
                replace(
                    self._state,
                    phase=ModelPhase.READY,
                    device=loaded.device,
                    fraction=1.0,
                    doing="",
                    context_tokens=loaded.context_tokens,
                    pool_tokens=loaded.pool_tokens,
                    notes=pair.notes,
                    format_name="" if pair.format_name == OWN else pair.format_name,
                    can_switch=pair.thinking.switch,
                    can_effort=pair.thinking.effort,
                    recommended=pair.recommended,
                )
            )
        else:
            loading = replace(self._state, phase=ModelPhase.LOADING, doing=STARTING_AGAIN)
            self._show(replace(loading, fraction=pair.engine.fraction))

    def _unload_idle(self) -> None:
        if self._pair is None:
            return
        self._end_pair(FinishReason.ERROR, "The model was unloaded; send the message again.")
        self._unloaded("")

    def _unloaded(self, error: str) -> None:
        path = self._state.path
        self._show(
            ModelState(
                ModelPhase.UNLOADED,
                path=path,
                name=PurePath(path).stem,
                error=error,
                recommended=self._state.recommended,
            )
        )

    def _cancel_load(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None

    def _end_pair(self, reason: FinishReason, why: str) -> None:
        pair, self._pair = self._pair, None
        if pair is not None:
            pair.end(reason, why)
            self._retire(pair)

    def _retire(self, pair: Pair) -> None:
        self._stops.spawn(pair.stop(), name="stop a model")

    def _show(self, state: ModelState) -> None:
        if state == self._state:
            return
        self._state = state
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            # Not called from here: a listener that fails must not leave a load half done.
            loop.call_soon(self._tell, listener, state)

    def _tell(self, listener: Listener, state: ModelState) -> None:
        if listener in self._listeners:
            listener(state)


def _chat_of(request: Request) -> int:
    """The chat whose turn this is, 0 where it is none."""
    return 0 if request.aside else request.owner


def _own_template(overrides: Overrides | None, path: str) -> OwnTemplate:
    """What the user wrote for the model in this file; a file that cannot be read is the load's to refuse."""
    try:
        # Asked first, for a fingerprint reads megabytes, from a disk that may be slow.
        if overrides is None or not overrides.any():
            return OwnTemplate()
        return OwnTemplate(overrides.load(modelfile.fingerprint(Path(path))))
    except StoreError as error:
        return OwnTemplate(notes=(str(error),))
    except OSError:
        return OwnTemplate()
