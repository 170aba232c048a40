"""Case 71: what a file says of its context decides neither the pool nor what of the memory is taken."""

import asyncio
from pathlib import Path

import pytest

from app.errors import ModelError
from app.settings import Profile
from app.sizing.footprint import Footprint
from app.sizing.machine import Machine
from app.sizing.planner import Planner
from app.sizing.profiles import RESERVE, Own, Plan, shortage
from app.trial.examination import examine
from tests.cases.whole import RealModel, user
from tests.gguf_bytes import Entry, number, parts

pytestmark = pytest.mark.slow

KEY = b"llama.context_length"
GB = 1 << 30
TIGHT = Machine(free=2 * GB, cores=2)


@pytest.fixture
def said(talker: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A good model whose file says this of its context; None: nothing."""
    model, context = parts(talker.read_bytes()), request.param
    if context is None:
        del model.entries[model.index(KEY)]
    else:
        model.put(Entry(KEY, 4, number(4, context)))
    path = tmp_path / "said.gguf"
    path.write_bytes(model.written())
    return path


def taken(model: Footprint, plan: Plan) -> int:
    buffers = model.buffer_bytes(plan.pool_tokens, plan.sequences, plan.batch)
    return RESERVE + model.weights + plan.pool_bytes + buffers + (plan.spill_megabytes << 20)


@pytest.mark.parametrize("said", [2**31 - 1, 1, 0, None], indirect=True)
@pytest.mark.parametrize("profile", ["auto", "development", "production", "edge"])
def test_whatever_it_says_the_plan_fits(said: Path, profile: Profile) -> None:
    planner = Planner(lambda: TIGHT)
    plan, model = planner.load(str(said), profile), planner.outlook(str(said)).model
    assert not plan.missing
    assert taken(model, plan) <= TIGHT.free
    assert plan.pool_tokens >= 1024


def test_a_pool_that_somebody_insists_on_is_said_to_be_too_large(talker: Path) -> None:
    planner = Planner(lambda: TIGHT)
    plan = planner.load(str(talker), "auto", Own(pool_tokens=50_000_000, sequences=16))
    assert plan.pool_tokens == 50_000_000
    assert plan.missing >= taken(planner.outlook(str(talker)).model, plan) - TIGHT.free > 0
    assert "more memory than can be spared" in shortage("talker", plan)


@pytest.mark.parametrize("said", [2**31 - 1], indirect=True)
def test_a_context_without_sense_does_not_keep_it_from_chatting(said: Path) -> None:
    async def scenario() -> None:
        async with RealModel(said, pool_tokens=1024, sequences=2, batch=64) as model:
            assert model.state.context_tokens == 1024
            assert len((await model.ask(user("Hello"))).text) == 8

    asyncio.run(scenario())


@pytest.mark.parametrize("said", [1, None], indirect=True)
def test_a_file_that_cannot_be_used_says_why(said: Path) -> None:
    with pytest.raises(ModelError) as caught:
        examine(said, lambda _: None)
    assert "1 tokens at most" in caught.value.what or "context_length" in caught.value.what
