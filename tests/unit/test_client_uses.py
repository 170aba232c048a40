"""While a model is loaded, or its file is checked, other processes see that it is in use."""

import asyncio
from dataclasses import replace
from pathlib import Path

from app.chat.model_state import ModelPhase
from app.client.local import LocalModel
from app.client.trust import Trust
from app.errors import ModelError
from app.inuse import Uses
from app.verdict import SOUND
from app.verdicts import Verdicts
from app.wire import Examined
from tests.scripted_children import (
    LOADED,
    PARAMS,
    FakeClock,
    FakeLinks,
    begin,
    fake_means,
    run,
    until,
)


class Made:
    """A model whose children the test plays, and what another process sees of it."""

    def __init__(self, folder: Path, *greetings: object) -> None:
        self.path = folder / "m.gguf"
        self.path.write_bytes(b"GGUF\x03\0\0\0" + bytes(100))
        self.uses, self._asks = (Uses(folder / "in-use", name) for name in ("the window", "x"))
        self.engines = FakeLinks(*greetings)
        self.model = LocalModel(
            lambda path: replace(PARAMS, path=path),
            means=replace(fake_means(self.engines), uses=self.uses),
        )

    @property
    def users(self) -> list[str]:
        return [user.program for user in self._asks.others([self.path])]


def test_a_model_is_in_use_from_its_load_until_its_processes_are_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, LOADED)
        assert made.users == []
        await made.model.load(str(made.path))
        assert made.users == ["the window"]
        await made.model.unload()
        assert made.users == []
        await made.model.load(str(made.path))
        await made.model.load(str(made.path))
        assert made.users == ["the window"]
        await made.model.close()
        assert made.users == []

    run(scenario())


def test_a_load_that_fails_or_is_given_up_leaves_no_use(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, ModelError("It is damaged."))
        await made.model.load(str(made.path))
        assert made.model.state.phase is ModelPhase.FAILED
        await made.model.unload()
        assert made.users == []
        made = Made(tmp_path, LOADED)
        made.engines.gate = asyncio.Event()
        load = begin(made.model.load(str(made.path)))
        await until(lambda: bool(made.engines.links))
        assert made.users == ["the window"]
        await made.model.close()
        await load
        assert made.users == []

    run(scenario())


def test_a_file_is_in_use_while_it_is_checked(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, Examined(SOUND))
        made.engines.gate = asyncio.Event()
        verdicts = Verdicts(tmp_path / "checked.json")
        trust = Trust(verdicts, made.engines, clock=FakeClock(), uses=made.uses)
        check = begin(trust.check(str(made.path), lambda _: None))
        await until(lambda: bool(made.engines.links))
        assert made.users == ["the window"]
        made.engines.gate.set()
        await check
        assert made.users == []

    run(scenario())
