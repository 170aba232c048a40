"""Two models of which one fits at a time: requests for either are answered by it, and no answer is cut for the other.

Issue line: a chat remembers its model, and switching keeps the chat.
"""

import asyncio
from pathlib import Path

import pytest

from tests import tiny_models
from tests.cases.whole import RealModel, user
from tests.scripted_children import run

pytestmark = pytest.mark.slow

ONE, TWO = "abcdefghijklm", "nopqrstuvwxyz"
"""What each of them writes."""


def test_each_request_is_answered_by_the_model_that_it_names(tmp_path: Path) -> None:
    one, two = (
        tiny_models.talker(tmp_path / f"{letters}.gguf", letters=letters, context=512)
        for letters in (ONE, TWO)
    )

    async def scenario() -> None:
        model = RealModel(one, pool_tokens=1024, sequences=4, batch=64)
        try:
            async with asyncio.timeout(60):
                answers = await asyncio.gather(
                    model.ask(user("hi"), tokens=40, model=str(one)),
                    model.ask(user("hi"), tokens=6, model=str(two)),
                    model.ask(user("hi"), tokens=4),
                )
            texts = [answer.text for answer in answers]
            assert [len(text) for text in texts] == [40, 6, 4], "none was cut for the other"
            assert [set(text) <= set(ONE) for text in texts] == [True, False, False]
            assert [set(text) <= set(TWO) for text in texts] == [False, True, True]
            assert all(not answer.end.error for answer in answers)
            assert model.state.path == str(two)
        finally:
            await model.close()

    run(scenario())
