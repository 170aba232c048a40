"""The hub for the window: each question on a thread of its own pool, with a line that is cut when nobody waits any more."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from app.hub.access import Access
from app.hub.catalog import Catalog
from app.hub.downloads import Downloads
from app.hub.fit import fit
from app.hub.head import remote_footprint
from app.hub.line import Cut
from app.hub.listing import Page, Query, Repository
from app.hub.remote import RemoteModel
from app.sizing.machine import measure

_T = TypeVar("_T")
_THREADS = 6


class HubService:
    """Satisfies `port.Hub`; made and used on the loop's thread."""

    def __init__(self, access: Access, folder: Path) -> None:
        self._access = access
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="hub")
        self.downloads = Downloads(folder, access)

    @property
    def host(self) -> str:
        return self._access.host

    @property
    def endpoint(self) -> str:
        return self._access.endpoint

    async def search(self, query: Query, page: str = "") -> Page:
        return await self._ask(lambda catalog: catalog.search(query, page))

    async def repository(self, repo: str, revision: str = "") -> Repository:
        return await self._ask(lambda catalog: catalog.repository(repo, revision))

    async def card(self, repo: str, commit: str) -> str:
        return await self._ask(lambda catalog: catalog.card(repo, commit))

    async def fit(self, model: RemoteModel) -> str:
        """Reads the head of the file on the hub: some hundred kilobytes."""

        def ask(_: Catalog) -> str:
            found = remote_footprint(model, self._access)
            return str(fit(found, measure().free)) if found is not None and found.layers else ""

        return await self._ask(ask)

    async def close(self) -> None:
        """End all of it; downloads go on at the next start."""
        await asyncio.to_thread(self.downloads.close)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, work: Callable[[Catalog], _T]) -> _T:
        question = _Question()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, question.run, self._access, work)
        except asyncio.CancelledError:
            question.cancel()
            raise


class _Question:
    """One catalog on a thread, that the loop's thread may cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._cancelled = False

    def run(self, access: Access, work: Callable[[Catalog], _T]) -> _T:
        catalog = Catalog(access)
        try:
            with self._lock:
                self._catalog = catalog
                if self._cancelled:
                    raise Cut
            return work(catalog)
        finally:
            catalog.close()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            catalog = self._catalog
        if catalog is not None:
            catalog.cut()
