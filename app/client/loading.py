"""The way of a model's file into two running processes: checked, planned, started, and a second time with more memory."""

import asyncio
from collections.abc import Awaitable, Callable

from app.client.child import OnProgress
from app.client.load_failure import Failure
from app.client.means import Means
from app.client.own_template import OwnTemplate, own_template
from app.client.pair import Pair
from app.client.trust import Trust
from app.client.written import Written
from app.errors import AppError
from app.overrides import Overrides
from app.wire import LoadParams, Progress

STARTING = "starting the engine"

LoadParamsOf = Callable[[str], LoadParams]
"""How a file is to be loaded; called on a thread, for it may read the file."""

MakeRoom = Callable[[], Awaitable[bool]]
"""Called where there was too little memory; whether there is more now."""


class Loader:
    """Loads one after another; `coming` is what loads now.  `retire` ends a pair, and gives the task that does it."""

    def __init__(
        self,
        load_params: LoadParamsOf,
        means: Means,
        written: Written,
        *,
        overrides: Overrides | None,
        trust: Trust | None,
        make_room: MakeRoom | None,
        on_change: Callable[[Pair], None],
        retire: Callable[[Pair], "asyncio.Task[None]"],
    ) -> None:
        self._load_params = load_params
        self._means = means
        self._written = written
        self._overrides = overrides
        self._trust = trust
        self._make_room = make_room
        self._on_change = on_change
        self._retire = retire
        self._leaving: asyncio.Task[None] | None = None
        self.coming: Pair | None = None

    async def load(self, path: str, progress: OnProgress) -> Pair:
        """Raises AppError with the reason where it cannot be; nothing of it is left behind then, or when cancelled."""
        if self._trust is not None:
            await self._trust.check(path, progress)
            progress(Progress(0.0, STARTING))
        try:
            return await self._start(path, progress)
        except AppError as failure:
            starved = Failure.of(path, failure).short_of is not None
            if not starved or self._make_room is None or not await self._make_room():
                raise
        if self._leaving is not None:
            await asyncio.wait([self._leaving])
        return await self._start(path, progress)

    async def _start(self, path: str, progress: OnProgress) -> Pair:
        params, own = await asyncio.to_thread(self._prepared, path)
        pair = self.coming = Pair(params, self._means, self._written, self._on_change, own)
        loaded = False
        try:
            await pair.load(progress)
            loaded = True
        finally:
            self.coming = None
            if not loaded:
                self._leaving = self._retire(pair)
        return pair

    def _prepared(self, path: str) -> tuple[LoadParams, OwnTemplate]:
        """What a load needs of the disk."""
        return self._load_params(path), own_template(self._overrides, path)
