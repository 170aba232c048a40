"""A tiny model that chats, the real window over it, and backends to do a decode log again on."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_models
from tests.cases.whole import RealModel
from tests.engine.conftest import api, make_rig, tiny_files
from tests.gui.conftest import drive, with_desk
from tests.gui.desk import Desk

__all__ = ["api", "drive", "make_rig", "tiny_files", "with_desk"]


@pytest.fixture(scope="session")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.talker(tmp_path_factory.mktemp("talker") / "talker.gguf")


@pytest.fixture
def decode_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the engine of this test writes down all its calls."""
    path = tmp_path / "decode.jsonl"
    monkeypatch.setenv("TUTTI_DECODE_LOG", str(path))
    return path


@pytest.fixture
def at_work(with_desk: Callable[..., None]) -> Callable[..., None]:
    """Run `scenario(desk, model)` at the window with `model` loaded and ready behind it."""

    def run(
        scenario: Callable[[Desk, RealModel], Awaitable[None]], model: RealModel, **made_with: Any
    ) -> None:
        async def whole(desk: Desk) -> None:
            await model.open()
            await scenario(desk, model)

        with_desk(whole, generator=model, host=model, **made_with)

    return run
