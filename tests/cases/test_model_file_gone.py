"""The file of a loaded model is removed, replaced or cut, and the engine dies while two chats answer."""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from app.chat.model_state import ModelPhase
from app.chat.ports import Ended, Request, Text
from app.client.child import Child, engine_child, text_child
from app.client.means import Means
from app.client.process import OnDeath, OnMessage
from app.wire import FinishReason
from tests import tiny_models
from tests.cases.whole import GREEDY, PATIENT, RealModel, Told, until, user
from tests.scripted_children import begin, run

pytestmark = [pytest.mark.slow, pytest.mark.crash]

HANDS_OFF = (3600.0,)
"""A pause before a second try in vain that no test outlasts: it has to be the first one that ends it."""


def _remove(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    tiny_models.talker(path.with_name("other.gguf"), kind="recurrent").replace(path)


def _cut(path: Path) -> None:
    """The engine has it mapped, and may die of that alone."""
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_remove, "There is no file “talker.gguf” any more. Choose another model."),
        (_replace, "The model's file has changed"),
        (_cut, "“talker.gguf” cannot be loaded"),
    ],
)
def test_both_answers_end_with_the_reason_and_the_model_can_be_opened_again(
    talker: Path, tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "talker.gguf"
    shutil.copyfile(talker, path)
    engines: list[Child] = []

    def engine(on_message: OnMessage, on_death: OnDeath) -> Child:
        engines.append(engine_child(on_message, on_death))
        return engines[-1]

    async def scenario() -> None:
        means = Means(engine, text_child, deadline=PATIENT, delays=(0.0, *HANDS_OFF))
        async with RealModel(path, means=means) as model:
            told = [Told(), Told()]
            turns = [begin(_go_on(model, one)) for one in told]
            await until(lambda: all(one.text for one in told), "the beginning of both answers")
            pid = engines[0].pid
            assert pid is not None
            spoil(path)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            await asyncio.wait_for(asyncio.gather(*turns), 60)
            for one in told:
                assert one.text
                assert one.end.reason is FinishReason.ENGINE_DIED
                assert words in one.end.error
            assert model.state.phase is ModelPhase.FAILED
            assert words in model.state.error
            assert len(engines) == 2

            shutil.copyfile(talker, path)
            await model.open()
            assert (await model.ask(user("hello"))).end.reason is FinishReason.LENGTH

    run(scenario())


async def _go_on(model: RealModel, told: Told) -> None:
    request = Request((user("go on"),), max_tokens=9000, sampling=GREEDY, ignore_eos=True)
    async for event in model.generate(request):
        if isinstance(event, Text):
            told.text += event.text
        elif isinstance(event, Ended):
            told.ends.append(event)
