"""The hub as the window asks it: off the loop's thread, and cut when nobody waits any more."""

import asyncio
import contextlib
import threading
from pathlib import Path

import pytest

from app.errors import HubError, HubProblem
from app.hub.access import Access
from app.hub.listing import Query
from app.hub.offers import choose
from app.hub.service import HubService
from app.hub.standing import State
from tests.fake_hub import MIB, Content, Does, FakeHub
from tests.hub.conftest import until

pytestmark = pytest.mark.slow


def test_from_search_to_a_file(hub: FakeHub, models: Path, starter: Path) -> None:
    hub.add("o/r", m_Q4_1__gguf=Content(data=starter.read_bytes()), README__md=Content(data=b"# R"))

    async def scenario() -> Path:
        service = HubService(Access(hub.endpoint), models)
        (found,) = (await service.search(Query("r"))).found
        repository = await service.repository(found.repo)
        assert await service.card(found.repo, repository.commit) == "# R"
        model = choose(repository.offers)
        assert "chats of" in await service.fit(model)
        service.downloads.add(model)
        await asyncio.to_thread(until, lambda: service.downloads.rows()[0].state is State.DONE)
        await service.close()
        return service.downloads.rows()[0].path

    assert asyncio.run(scenario()).stat().st_size == starter.stat().st_size


def test_a_question_that_is_cancelled_ends_on_the_network(hub: FakeHub, models: Path) -> None:
    """Far sooner than the longest wait of the line, so that its thread is free for the next one."""
    hub.silent = True

    async def scenario() -> None:
        service = HubService(Access(hub.endpoint), models)
        for count in range(1, 20):
            asking = asyncio.ensure_future(service.search(Query("x")))  # noqa: TID251  ended below
            await asyncio.to_thread(until, lambda count=count: len(hub.log) == count)
            asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asking
        await service.close()

    asyncio.run(scenario())
    until(lambda: not [one for one in threading.enumerate() if one.name.startswith("hub_")])


def test_a_failure_is_the_hubs_words(models: Path) -> None:
    async def scenario() -> None:
        service = HubService(Access("http://127.0.0.1:1"), models)
        with pytest.raises(HubError) as caught:
            await service.search(Query("x"))
        assert caught.value.problem is HubProblem.OFFLINE
        assert (service.host, service.endpoint) == ("127.0.0.1:1", "http://127.0.0.1:1")
        await service.close()

    asyncio.run(scenario())


def test_downloads_end_with_the_service_and_leave_what_came(hub: FakeHub, models: Path) -> None:
    hub.add("o/r", m_Q4_1__gguf=Content(2 * MIB))
    hub.always = Does(stall_after=MIB + 5)

    async def scenario() -> None:
        service = HubService(Access(hub.endpoint), models)
        service.downloads.add(choose((await service.repository("o/r")).offers))
        await asyncio.to_thread(until, lambda: service.downloads.rows()[0].standing.done > MIB)
        await service.close()

    asyncio.run(scenario())
    assert [path.suffix for path in sorted((models / "o" / "r").iterdir())] == [".part", ".journal"]
    assert (models / "downloads.json").exists()
