"""The rows that need no server, end to end on a tiny model with small numbers: steps and tokens are counted."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.bench.engine import running_engine
from app.bench.modes import Mode, spend
from app.bench.prompts import Kind, ids, mixed
from app.bench.rows.bookkeeping import Bookkeeping
from app.bench.rows.cancel import Cancel
from app.bench.rows.crowd import Crowd
from app.bench.rows.fork import Fork
from app.bench.rows.idle import Idle
from app.bench.rows.mode import ModeRow
from app.bench.rows.models import Models
from app.bench.rows.own import Own
from app.bench.rows.pace import PaceRow
from app.bench.rows.raw import Raw
from app.bench.rows.row import Row, Setup
from app.bench.rows.spill import Spill
from app.errors import EngineDied, EngineError, ModelError
from tests import tiny_models

pytestmark = pytest.mark.slow

KINDS = (Kind(0, 8, 12), Kind(0, 60, 4), Kind(30, 5, 6))


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    path = tmp_path_factory.mktemp("bench") / "attention.gguf"
    tiny_models.attention(path)
    return Setup(path)


def run(row: Row, setup: Setup) -> Mapping[str, float]:
    values = asyncio.run(row.ours(setup, 1))
    assert set(values) <= {figure.key for figure in row.figures}
    return values


def test_raw(setup: Setup) -> None:
    got = run(Raw(3, prompt=16, written=12), setup)
    # The first token comes of the prompt; a request that was heard a step later costs one at each end.
    assert 9 <= got["steps"] <= 11
    assert got["speed"] > 0
    assert 0 < got["inside"] < 1


def test_own(setup: Setup) -> None:
    assert set(run(Own(4, prompt=8, written=8), setup)) == {"own", "choice", "outside"}


def test_fork_reads_what_is_new(setup: Setup) -> None:
    assert run(Fork(80, written=6), setup) == {
        "regenerate": 1,
        "edit": 0,
        "fork": 0,
        "back": 1,
        "restart": 1,
    }


def test_a_spilled_chat_comes_back(setup: Setup) -> None:
    got = run(Spill(300), setup)
    assert (got["restored"], got["read"]) == (300, 1)
    assert got["megabytes"] > 0


def test_idle_chats(setup: Setup) -> None:
    row = Idle(3, 100, prompt=16, written=60, looked_at=20)
    got = run(row, setup)
    assert set(got) == {figure.key for figure in row.figures}
    assert got["again"] == 0


def test_models_at_once(setup: Setup) -> None:
    row = Models(2, prompt=8, written=12)
    got = run(row, setup)
    assert set(got) == {figure.key for figure in row.figures}
    assert got["ratio"] == pytest.approx(got["once"] / got["turn"])
    assert 0 < got["least"] <= 1


def test_bookkeeping(setup: Setup) -> None:
    row = Bookkeeping(20, history=100, written=6)
    assert set(run(row, setup)) == {figure.key for figure in row.figures}
    assert {"own:1", "own:2", "own:20"} <= {figure.key for figure in row.figures}


def test_cancel(setup: Setup) -> None:
    got = run(Cancel(3, prompt=8, written=600, long=1800), setup)
    assert got["left"] == 0


def test_crowd(setup: Setup) -> None:
    got = run(Crowd(30, 12, prompt=8, written=4), setup)
    assert (got["whole"], got["cells"], got["requests"]) == (60, 0, 0)


def test_a_long_prompt_at_every_pace(setup: Setup) -> None:
    row = PaceRow(2, 100, prompt=8)
    got = run(row, setup)
    assert set(got) == {figure.key for figure in row.figures}
    assert all(value > 0 for value in got.values())


def test_modes_differ_in_how_many_decode_at_once(setup: Setup) -> None:
    rows = {
        mode: run(ModeRow(mode, requests=9, at_once=3, kinds=KINDS), setup)["rows"] for mode in Mode
    }
    assert rows[Mode.SINGLE] == 1
    assert 1 < rows[Mode.STATIC] <= 3
    assert rows[Mode.STATIC] < rows[Mode.CONTINUOUS] <= 3


def test_the_engines_counters_say_what_the_log_says(setup: Setup) -> None:
    async def main() -> None:
        async with running_engine(setup.engine(chats=3), logged=True) as engine:
            asks = mixed(1, 9, engine.vocabulary, KINDS)
            spent = await spend(engine, Mode.CONTINUOUS, asks, 3)
            found = engine.evaluation()
        assert found.read(ask.written for ask in asks) == spent.read
        assert spent.written == sum(ask.written for ask in asks)
        # Three requests begin with the same 30 tokens, which are read once.
        assert spent.prompt - spent.read >= 2 * 30
        assert found.again == 0

    asyncio.run(main())


def test_ids_are_the_same_for_the_same_seed() -> None:
    assert ids(1, 9, 256) == ids(1, 9, 256) != ids(2, 9, 256)
    assert all(64 <= token < 256 for token in ids(3, 500, 256))
    assert all(0 <= token < 5 for token in ids(3, 50, 5))


def test_a_request_that_is_refused_is_an_error(setup: Setup) -> None:
    async def main() -> None:
        async with running_engine(setup.engine()) as engine:
            with pytest.raises(EngineError, match="did not end whole"):
                await engine.ask((100_000,), 2)

    asyncio.run(main())


def test_an_engine_that_dies_ends_the_wait(setup: Setup) -> None:
    async def main() -> None:
        async with running_engine(setup.engine()) as engine:
            asked = engine.submit(ids(1, 20, engine.vocabulary), 1500)
            await engine.until(lambda counters: counters.running == 1)
            await engine.stop()
            with pytest.raises(EngineDied):
                await engine.whole(asked)
            with pytest.raises(EngineDied):
                await engine.until(lambda counters: counters.steps < 0)

    asyncio.run(main())


def test_a_model_that_cannot_be_loaded_is_an_error(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_engine(Setup(tmp_path / "none.gguf").engine()):
            pytest.fail("it was loaded")

    with pytest.raises(ModelError):
        asyncio.run(main())
