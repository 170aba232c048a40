"""Case 22: a model whose metadata names a wrong end token, or none, ends its answers all the same."""

import asyncio
from pathlib import Path

import pytest

from app.wire import FinishReason
from tests import tiny_models
from tests.cases.whole import RealModel, user

pytestmark = pytest.mark.slow

WRITTEN = ("A wor", "d, no more.")


@pytest.mark.parametrize("eos", [3, 4_294_967_295, None])
def test_it_ends_at_the_templates_own_mark(tmp_path: Path, eos: int | None) -> None:
    path = tiny_models.talker(tmp_path / "noeos.gguf", recites=WRITTEN, eos=eos)

    async def scenario() -> None:
        async with RealModel(path) as model:
            told = await model.ask(user("hi"), tokens=200)
            assert told.text == "".join(WRITTEN)
            assert told.end.reason is FinishReason.STOP

    asyncio.run(scenario())


def test_a_model_that_never_ends_comes_to_its_limit(tmp_path: Path) -> None:
    """Without a number of its own a request ends where the context does."""
    path = tiny_models.talker(tmp_path / "endless.gguf", eos=3, context=256)

    async def scenario() -> None:
        async with RealModel(path, pool_tokens=256) as model:
            told = await model.ask(user("hi"), tokens=None)  # type: ignore[arg-type]
            assert told.end.reason is FinishReason.LENGTH
            assert "<|im_" not in told.text

    asyncio.run(scenario())
