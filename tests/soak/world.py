"""The app without its window, for a soak: real store, chats and client over real child processes on tiny models."""

import asyncio
import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from app.chat.model_state import ModelPhase
from app.chat.turns import ChatService
from app.client.child import Limits
from app.client.local import LocalModel
from app.client.means import Means
from app.client.memories import Memories
from app.settings import Settings
from app.store.conversations import SqliteStore, open_store
from app.wire import LoadParams
from tests.processes import children
from tests.soak.house import House
from tests.soak.ledger import Ledger
from tests.soak.trace import Trace

PATIENCE = 900.0
"""A watchdog: a soak runs at the lowest priority, on a machine that may be busy."""


@dataclass(frozen=True)
class Health:
    """What an app that has nothing open takes: nothing of it may grow.  Sizes in bytes."""

    memory: int
    objects: int
    files: int
    threads: int
    tasks: int
    children: int
    on_disk: int


class World:
    """All parts; `params` say how the next load is to be done."""

    def __init__(self, store: SqliteStore, folder: Path, trace: Trace, limits: Limits) -> None:
        self.store = store
        # Other tests' helpers, a screen for one.
        self._before = {child.pid for child in children()}
        self.folder = folder
        self.states = folder / "states"
        self.trace = trace
        self.house = House(trace, limits)
        self.ledger = Ledger(trace)
        self.params = LoadParams("")
        means = Means(self.house.make_engine, self.house.make_text, delays=(0.05, 0.2))
        self.model = LocalModel(
            lambda path: replace(self.params, path=path),
            memories=Memories(str(self.states)),
            means=means,
        )
        self.chat = ChatService(store, self.model, Settings)
        self.chat.subscribe(self.ledger.hear)
        self.house.on_submit = self.ledger.submitted

    @classmethod
    async def open(cls, folder: Path, trace: Trace, limits: Limits) -> "World":
        return cls(await open_store(folder / "chats.db"), folder, trace, limits)

    async def close(self) -> None:
        await self.chat.close()
        await self.model.close()
        await self.store.close()

    # --- waiting ---------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the loop turn until `condition()` is true."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():  # noqa: ASYNC110  any condition, of anything
                    await asyncio.sleep(0.004)
        except TimeoutError:
            raise AssertionError(f"waited in vain for: {what}") from None

    async def breathe(self, steps: int) -> None:
        """Let the engine do so many steps; less where nothing is asked of it."""
        goal = self.house.steps + steps
        for _ in range(200):
            if self.house.steps >= goal or not self.busy:
                return
            await asyncio.sleep(0.002)

    @property
    def faults(self) -> list[str]:
        """What should not have happened, so far."""
        return [*self.house.faults, *self.ledger.faults]

    @property
    def busy(self) -> bool:
        return bool(self.chat._turns)

    @property
    def calm(self) -> bool:
        """Whether a death now can be put down to no request: an engine serves, and none has died on any of them."""
        pair, engine = self.model._pair, self.house.engine
        if pair is None or engine is None or not pair.engine.serving or engine.doom:
            return False
        untouched = all(stream.deaths == 0 for stream in pair.engine._streams.values())
        return untouched and (engine.wrote or self.house.vain == 0)

    async def settle(self) -> None:
        """Wait until every answer is over, and look at what is left of them."""
        await self.until(lambda: not self.busy, "the end of all turns")
        await self.until(lambda: self.model.state.phase is not ModelPhase.LOADING, "the engine")
        pair = self.model._pair
        if pair is not None:
            streams = pair.engine._streams
            await self.until(lambda: not streams, "the end of all requests")
            await self.until(lambda: self._idle, "an idle engine")
            counters = self.model.counters
            assert counters.cells_used == counters.cells_kept, counters
            assert counters.ids_used <= counters.ids_total, counters
        assert self.ledger.open == 0
        assert not self.chat._turns
        assert not self.chat._running

    @property
    def _idle(self) -> bool:
        """As the engine's last step told; a new life, which has told of none, is idle too."""
        counters = self.model.counters
        return not (counters.running or counters.reading or counters.waiting)

    # --- at the end of a round --------------------------------------------------------------------------------

    async def empty(self) -> Health:
        """Delete every chat, unload the model, and say what is left."""
        for conversation in await self.chat.conversations():
            await self.chat.delete(conversation.id)
        await self.model.unload()
        assert not await self.chat.conversations()
        for kept in (
            self.chat._locks,
            self.chat._stops,
            self.chat._states,
            self.ledger.chats,
            self.ledger.prompts,
        ):
            assert not kept, kept
        assert self.ledger.open == 0
        await self.until(lambda: len(asyncio.all_tasks()) == 1, "the end of all tasks")
        gc.collect()
        left = [path for path in self.states.rglob("*") if path.is_file()]
        if left:
            self.trace("left on disk:", *left)
        me = psutil.Process()
        return Health(
            memory=me.memory_info().rss,
            objects=len(gc.get_objects()),
            files=me.num_fds(),
            # The loop makes those that it lends out one by one, up to a bound.
            threads=sum("asyncio" not in thread.name for thread in threading.enumerate()),
            tasks=len(asyncio.all_tasks()),
            children=sum(child.pid not in self._before for child in children()),
            on_disk=len(left),
        )
