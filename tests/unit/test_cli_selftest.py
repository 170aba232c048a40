import asyncio
from collections.abc import AsyncIterator

import pytest

from app.chat.model_state import ModelPhase
from app.chat.models import FinishReason, Usage
from app.chat.ports import Ended, Event, Request, Text
from app.cli.selftest import two_chats
from app.counters import Counters
from app.errors import EngineError, ModelError
from tests.fakes import FakeModelHost


class Model(FakeModelHost):
    """Each step gives every running chat one token; the answer is `tokens` long."""

    def __init__(self, tokens: int = 8, *, together: bool = True, loads: bool = True) -> None:
        super().__init__()
        self.counters = Counters()
        self._tokens, self._together, self._loads = tokens, together, loads
        self._turn = asyncio.Lock()
        self.requests: list[Request] = []

    async def load(self, path: str) -> None:
        await super().load(path)
        self.move(
            phase=ModelPhase.READY if self._loads else ModelPhase.FAILED, error="Not a model."
        )

    async def generate(self, request: Request) -> AsyncIterator[Event]:
        self.requests.append(request)
        for _ in range(self._tokens):
            await asyncio.sleep(0)
            rows = 2 if self._together else 1
            self.counters = Counters(steps=self.counters.steps + 1, rows=rows)
            yield Text("x")
        yield Ended(FinishReason.LENGTH, Usage(5, self._tokens))

    async def count_tokens(self, text: str) -> int:
        return 1


def test_two_chats_from_one_batch_pass() -> None:
    model = Model()
    outcome = asyncio.run(two_chats(model, "m.gguf", 30))
    assert [usage.completion_tokens for usage in outcome.usages] == [8, 8]
    assert len(outcome.shared_steps) >= 8
    assert "8 + 8 tokens" in str(outcome)
    assert len({request.messages for request in model.requests}) == 2
    assert model.closed


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: Model(4), "4 tokens only"),
        (lambda: Model(together=False), "never decoded together"),
    ],
)
def test_what_does_not_work_is_said(model: type[Model], words: str) -> None:
    async def run() -> None:
        tested = model()
        with pytest.raises(EngineError, match=words):
            await two_chats(tested, "m.gguf", 30)
        assert tested.closed

    asyncio.run(run())


def test_a_model_that_does_not_load_is_said() -> None:
    async def run() -> None:
        model = Model(loads=False)
        with pytest.raises(ModelError, match="Not a model"):
            await two_chats(model, "m.gguf", 30)
        assert model.closed

    asyncio.run(run())
