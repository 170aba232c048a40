"""States of deleted chats go from the disk, also those that an engine writes while it ends."""

import asyncio
from pathlib import Path

import pytest

from app.client.kept_states import KeptStates
from tests.scripted_children import begin


def test_what_an_ending_engine_still_writes_of_a_deleted_chat_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()

    async def scenario() -> None:
        kept, goes = KeptStates(str(tmp_path)), asyncio.Event()

        async def ending() -> None:
            await goes.wait()
            for name in ("1-a.state", "2-a.state", "12-a.state"):
                (folder / name).touch()

        stopping = begin(kept.outlive(ending()))
        await kept.forget(1)
        goes.set()
        await stopping
        assert {path.name for path in folder.iterdir()} == {"2-a.state", "12-a.state"}
        (folder / "1-b.state").touch()
        await kept.outlive(asyncio.sleep(0))
        assert (folder / "1-b.state").exists(), "what was forgotten once is not forgotten for ever"

    asyncio.run(scenario())


def test_of_two_engines_that_end_the_later_one_is_still_watched(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()

    async def scenario() -> None:
        kept, goes = KeptStates(str(tmp_path)), asyncio.Event()

        async def slow() -> None:
            await goes.wait()
            (folder / "1-a.state").touch()

        first, second = begin(kept.outlive(slow())), begin(kept.outlive(asyncio.sleep(0)))
        await second
        await kept.forget(1)
        goes.set()
        await first
        assert list(folder.iterdir()) == []
        assert kept._late == []

    asyncio.run(scenario())


def test_a_stop_that_fails_is_no_end_of_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        kept = KeptStates(str(tmp_path))

        async def ending() -> None:
            raise OSError("no")

        with pytest.raises(OSError, match="no"):
            await kept.outlive(ending())
        assert kept._late == []
        await KeptStates("").forget(1)

    asyncio.run(scenario())
