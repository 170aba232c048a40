"""The hub for the window: each question on a thread of its own pool, with a line that is cut when nobody waits any more."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from app.hub.access import Access
from app.hub.catalog import Catalog
from app.hub.downloads import Downloads
from app.hub.head import remote_fit
from app.hub.line import Cut
from app.hub.listing import Page, Query, Repository
from app.hub.remote import RemoteModel
from app.hub.trial import Trial
from app.hub.wishes import Verdict
from app.sizing.machine import measure


class _Asker(Protocol):
    """What asks a hub, and can be cut."""

    def cut(self) -> None: ...
    def close(self) -> None: ...


_T = TypeVar("_T")
_A = TypeVar("_A", bound=_Asker)
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

    def use(self, access: Access) -> None:
        """Ask so from now on; what runs goes on as it began."""
        self._access = access
        self.downloads.use(access)

    async def search(self, query: Query, page: str = "") -> Page:
        return await self._ask(lambda catalog: catalog.search(query, page))

    async def repository(self, repo: str, revision: str = "") -> Repository:
        return await self._ask(lambda catalog: catalog.repository(repo, revision))

    async def card(self, repo: str, commit: str) -> str:
        return await self._ask(lambda catalog: catalog.card(repo, commit))

    async def fit(self, model: RemoteModel) -> str:
        """Reads the head of the file on the hub: some hundred kilobytes."""

        access = self._access
        return await self._ask(lambda _: remote_fit(model, access, measure().free))

    async def try_out(self, access: Access) -> Verdict:
        """What this access would be good for; raises HubError for one that cannot be used."""
        return await self._put(_Question(lambda: Trial(access)), Trial.run)

    async def close(self) -> None:
        """End all of it; downloads go on at the next start."""
        await asyncio.to_thread(self.downloads.close)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, work: Callable[[Catalog], _T]) -> _T:
        access = self._access
        return await self._put(_Question(lambda: Catalog(access)), work)

    async def _put(self, question: "_Question[_A]", work: Callable[[_A], _T]) -> _T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, question.run, work)
        except asyncio.CancelledError:
            question.cancel()
            raise


class _Question(Generic[_A]):
    """One asker on a thread, that the loop's thread may cut."""

    def __init__(self, make: Callable[[], _A]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._asker: _A | None = None
        self._cancelled = False

    def run(self, work: Callable[[_A], _T]) -> _T:
        asker = self._make()
        try:
            with self._lock:
                self._asker = asker
                if self._cancelled:
                    raise Cut
            return work(asker)
        finally:
            asker.close()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            asker = self._asker
        if asker is not None:
            asker.cut()
