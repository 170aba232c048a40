"""Several local models at once: the domain's `Generator` and `ModelHost` over one `LocalModel` for each.

A request goes to the model that it names.  Where that is not loaded, it is loaded beside the others while `most` and the
estimate of memory allow; else in place of the one that nobody has asked for longest, and where all of them answer, after
the answers of that one.  One is the present model: the one that was loaded, or shown, last; it answers who wants no other,
and the window shows it.  On one device their engines take turns (`app.engine.baton`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import replace

from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.chat.ports import Ended, Event, Measured, Request
from app.client.loading import MakeRoom
from app.client.local import LocalModel
from app.client.memories import Memories
from app.client.prompt_format import LocalPromptFormat
from app.client.told import Listener, ToldState
from app.errors import ModelError
from app.prompting import FedPrompt
from app.tasks import Tasks
from app.wire import FinishReason, Usage

MOST = 4
"""Models that are loaded at once, however much room there is: each has two processes."""

_THERE = (ModelPhase.LOADING, ModelPhase.READY)

Make = Callable[[str, Memories, MakeRoom], LocalModel]
"""A model that is not loaded yet: its file, or ""; what is remembered beyond its life; whom it may ask for memory."""

Fits = Callable[[str, Sequence[str]], bool]
"""Whether the model in this file fits beside those in these; called on a thread, for it may read the file."""


class Ensemble:
    """All models that are loaded.  Everything is called on the event loop.

    With `path` the first request loads that file.  `states_folder` is where the states of chats may lie ("": nowhere).  The
    models in the files of `kept` stay among those that there are once they were loaded, whatever becomes of them: who
    asks for one that was given up is to hear why.
    """

    def __init__(
        self,
        make: Make,
        fits: Fits,
        *,
        path: str = "",
        states_folder: str = "",
        most: int = 0,
        kept: Collection[str] = (),
    ) -> None:
        self._make = make
        self._fits = fits
        self._kept = frozenset(kept)
        self._most = most or MOST
        self._minutes = 0.0
        self._memories = Memories(states_folder)
        self._placing = asyncio.Lock()
        self._tasks = Tasks()
        self._leave: dict[LocalModel, Callable[[], None]] = {}
        self._present = self._new(path)
        self._told = ToldState(self._present.state)
        self._closed = False

    # --- ModelHost -------------------------------------------------------------------------------------------

    @property
    def state(self) -> ModelState:
        """Of the present model, with the others in it."""
        others = (
            model.state
            for model in self._models
            if model is not self._present and self._stays(model)
        )
        by_path = sorted(others, key=lambda state: state.path)
        return replace(self._present.state, others=tuple(by_path))

    @property
    def status(self) -> EngineStatus:
        """What the present model's engine does now."""
        return self._present.status

    @property
    def prompt_format(self) -> LocalPromptFormat:
        """Of the present model."""
        return self._present.prompt_format

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` soon after every change of any model; the returned function ends it."""
        return self._told.subscribe(listener)

    async def check(self, path: str) -> None:
        """Look whether this can be a model; raises ModelError with the reason."""
        await self._present.check(path)

    async def examine(self, path: str, tell: Callable[[float], None]) -> None:
        """Open this file in a throw-away process, where that was not done yet."""
        await self._present.examine(path, tell)

    async def accept(self, path: str) -> None:
        """The user wants this file although its check did not come to an end; raises ModelError."""
        await self._present.accept(path)

    async def load(self, path: str) -> None:
        """Load this file, or where it is loaded and not the present one, make it that."""
        there = self._there(path)
        if there is not None and there is not self._present:
            self._show(there)
            return
        async with self._placing:
            found = self._with(path)
            model = found if found and found.holds_memory else await self._place(path)
        if not self._closed:
            self._show(model)
            await model.load(path)

    async def spares(self, path: str) -> bool:
        """Whether this file, not loaded yet, can be loaded without the end of any answer."""
        if self._serves(path):
            return self._there(path) not in (None, self._present)
        target = await self._target(path)
        return target is None or not target.busy

    def show(self, path: str) -> None:
        """Make the model in this file the present one, where it is loaded."""
        model = self._with(path)
        if model is not None and model.state.path == path and self._stays(model):
            self._show(model)

    def retitle(self) -> None:
        """The models may be called otherwise now."""
        for model in self._models:
            model.retitle()
        self._tell()

    async def unload(self, path: str = "") -> None:
        """Free the memory of this model, or cancel its load; the next request for it loads it again."""
        model = self._with(path) if path else self._present
        if model is not None:
            await model.unload()
            self._tidy()

    async def close(self) -> None:
        """End all child processes; nothing can be loaded any more."""
        self._closed = True
        await asyncio.gather(*(model.close() for model in self._models))
        await self._tasks.finish()

    def set_idle_unload(self, minutes: float) -> None:
        """Unload each model once no request has run on it for so long; 0: never."""
        self._minutes = minutes
        for model in self._models:
            model.set_idle_unload(minutes)

    def set_most(self, most: int) -> None:
        """Load no more than so many at once from now on; 0: as many as fit."""
        self._most = most or MOST

    def beside(self, path: str) -> tuple[str, ...]:
        """The files of the other models that hold memory, for whoever plans the load of this one."""
        return tuple(
            model.state.path
            for model in self._models
            if model.holds_memory and model.state.path != path
        )

    # --- Generator -------------------------------------------------------------------------------------------

    async def generate(self, request: Request) -> AsyncIterator[Event]:
        """Yield events, `Ended` last and exactly once; never raises an AppError."""
        model, path = self._for(request.model), request.model
        if not path and model.state.phase is ModelPhase.UNLOADED:
            path = model.state.path
        if path and not request.aside and not self._closed and not self._serves(path):
            try:
                model = await self._placed(path)
            except ModelError as error:
                yield Ended(FinishReason.ERROR, Usage(), str(error))
                return
            request = replace(request, model=path)
        async with aclosing(model.generate(request)) as events:
            async for event in events:
                yield event

    async def warm(self, request: Request) -> None:
        """Have read what goes before the next message of this conversation, where its model is ready."""
        await self._for(request.model).warm(request)

    @property
    def model(self) -> str:
        """The file that answers who wants no other; "" where there is none, or it could not be loaded."""
        return self._present.model

    def context_of(self, model: str) -> int:
        """The most tokens of one chat with this model; 0 where it is not ready."""
        return self._for(model).context_of(model)

    async def measure(self, request: Request) -> Measured | None:
        """How long its prompt would be; None where its model is not ready or it cannot be read."""
        return await self._for(request.model).measure(request)

    async def forget(self, owner: int) -> None:
        """Drop what was kept of this chat; the files too, whether or not its model is loaded."""
        await asyncio.gather(*(model.forget(owner) for model in self._models))

    def fed(self, text: str) -> tuple[int, ...]:
        """The tokens that were written for exactly this text; () where that is not known."""
        return self._present.fed(text)

    def fed_prompt(self, owner: int) -> FedPrompt | None:
        """The prompt of this chat's last request; None where that is not known."""
        return self._present.fed_prompt(owner)

    async def count_tokens(self, text: str) -> int:
        """The number of tokens of `text` for the present model; raises ModelError and TextError."""
        return await self._present.count_tokens(text)

    # --- which models there are ------------------------------------------------------------------------------

    @property
    def _models(self) -> tuple[LocalModel, ...]:
        return tuple(self._leave)

    def _with(self, path: str) -> LocalModel | None:
        """The one that has this file, or will have it once a request that waits there has its turn."""
        return next((model for model in self._models if model.wants(path)), None)

    def _there(self, path: str) -> LocalModel | None:
        """The one that has this file loaded, or is loading it."""
        there = (model for model in self._models if model.state.phase in _THERE)
        return next((model for model in there if model.state.path == path), None)

    def _stays(self, model: LocalModel) -> bool:
        """Whether it is one of those that there are, though it may not serve."""
        return model.state.phase in _THERE or model.state.path in self._kept

    def _for(self, path: str) -> LocalModel:
        """The one to ask about this file; the present one where there is none, or "" is wanted."""
        return (self._with(path) if path else None) or self._present

    def _new(self, path: str) -> LocalModel:
        async def make_room() -> bool:
            return await self._free_others(model)

        model = self._make(path, self._memories, make_room)
        model.set_idle_unload(self._minutes)
        self._leave[model] = model.subscribe(lambda _: self._tidy())
        return model

    def _serves(self, path: str) -> bool:
        """Whether there is one that has this file in memory, or will have it."""
        model = self._with(path)
        return model is not None and model.holds_memory

    async def _placed(self, path: str) -> LocalModel:
        """Make way for this file, which is not loaded yet; raises ModelError where it cannot be a model."""
        async with self._placing:
            if not self._serves(path):  # or it was placed while this one waited
                if self._holding():
                    await self.check(path)  # where nothing serves, its load does that, and shows it
                self._show(await self._place(path))
            return self._for(path) if self._serves(path) else self._present

    async def _place(self, path: str) -> LocalModel:
        """Where this file is to be loaded: one that holds nothing, or one whose model it takes the place of."""
        while (target := await self._target(path)) is not None:
            rest = [model for model in self._holding() if model is not target]
            if target.busy or not rest or await self._has_room(path, rest):
                return target
            await target.unload()
            self._tidy()
        found = self._with(path) or self._present
        taken = found.holds_memory or (found.state.path != path and self._stays(found))
        return self._new("") if taken else found

    async def _target(self, path: str) -> LocalModel | None:
        """The model in whose place this file would be loaded; None where it has room beside all."""
        holding = self._holding()
        if not holding or await self._has_room(path, holding):
            return None
        return min(holding, key=lambda model: (model.idle_since, model is self._present))

    async def _has_room(self, path: str, holding: Sequence[LocalModel]) -> bool:
        if len(holding) >= self._most:
            return False
        others = [model.state.path for model in holding]
        return not others or await asyncio.to_thread(self._fits, path, others)

    def _holding(self) -> list[LocalModel]:
        return [model for model in self._models if model.holds_memory]

    async def _free_others(self, starved: LocalModel) -> bool:
        """Unload what is idle, for this one found too little memory; whether there was anything."""
        others = [one for one in self._holding() if one is not starved and not one.busy]
        for model in others:
            await model.unload()
        self._tidy()
        return bool(others)

    # --- what is told ----------------------------------------------------------------------------------------

    def _show(self, model: LocalModel) -> None:
        self._present = model
        self._tidy()

    def _tidy(self) -> None:
        """Let go of models that hold nothing, and tell of those that are left."""
        for model in self._models:
            free = not model.holds_memory and model.state.path not in self._kept
            if free and model is not self._present and not self._closed:
                self._leave.pop(model)()
                self._tasks.spawn(model.close(), name="close a model")
        self._tell()

    def _tell(self) -> None:
        self._told.show(self.state)
