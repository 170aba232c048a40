"""A warm-up over the real text worker and the real engine: Send reads what is new, and no more."""

from pathlib import Path

import pytest

from app.chat.models import ChatMessage, Role, Sampling
from app.chat.ports import Ended, Request
from app.client.local import LocalModel
from app.wire import LoadParams
from tests.scripted_children import run

pytestmark = [pytest.mark.model, pytest.mark.slow]

SYSTEM = ChatMessage(Role.SYSTEM, "You answer in one short sentence and you never use a list.")
HISTORY = (
    SYSTEM,
    ChatMessage(Role.USER, "Which river runs through Vienna?"),
    ChatMessage(Role.ASSISTANT, "The Danube runs through Vienna."),
)
AROUND = 5
"""Tokens that this model's template writes after a message before the answer begins."""


@pytest.mark.parametrize("messages", [(SYSTEM,), HISTORY], ids=["new chat", "history"])
def test_send_reads_no_more_than_the_new_message(
    starter: Path, messages: tuple[ChatMessage, ...]
) -> None:
    async def scenario() -> None:
        model = LocalModel(lambda path: LoadParams(path, pool_tokens=1024, sequences=2, batch=256))
        await model.load(str(starter))
        await model.warm(Request(messages))
        warmed = model.counters
        assert warmed.read > 15
        await model.warm(Request(messages))
        assert model.counters == warmed
        for new in ("And through Paris?", "\n\nAnd through Paris?", "x"):
            before = model.counters.read
            request = Request(
                (*messages, ChatMessage(Role.USER, new)), Sampling(temperature=0), max_tokens=1
            )
            (end,) = [event async for event in model.generate(request) if isinstance(event, Ended)]
            most = await model.count_tokens(new) + AROUND + 1
            assert model.counters.read - before <= most
            assert end.usage.prompt_tokens - end.usage.cached_tokens <= most
        await model.close()

    run(scenario())
