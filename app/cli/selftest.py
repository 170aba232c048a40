"""`tutti selftest`: does this installation work?  Two chats at once with the starter model, from one batch."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from app import inuse, log, paths
from app.chat.model_port import ModelHost
from app.chat.model_state import ModelPhase
from app.chat.models import ChatMessage, FinishReason, Role, Sampling, Usage
from app.chat.ports import Ended, Generator, Request, Text
from app.cli.say import note, say
from app.counters import Counters
from app.errors import AppError, EngineError, ModelError
from app.wire import LoadParams

SECONDS = 100.0
ENOUGH_TOKENS = 5

_TOKENS = 24
_QUESTIONS = ("Name three colours of the rainbow.", "What is a lighthouse for?")


class CountedModel(Generator, ModelHost, Protocol):
    """A model whose engine tells what its last step carried."""

    @property
    def counters(self) -> Counters: ...


@dataclass
class Outcome:
    """`usages` of the chats, and the numbers of the steps in which both were decoded."""

    usages: list[Usage] = field(default_factory=list)
    shared_steps: set[int] = field(default_factory=set)

    def __str__(self) -> str:
        tokens = " + ".join(str(usage.completion_tokens) for usage in self.usages)
        return f"2 chats wrote {tokens} tokens, {len(self.shared_steps)} steps carried both"


def run() -> int:
    """0 when it works; says one line either way."""
    from app.client.local import LocalModel
    from app.client.means import Means

    log.start("selftest")
    try:
        path = paths.starter_model()
        if path is None:
            raise ModelError("The starter model is not installed.")
        model = LocalModel(_load_params, means=Means(uses=inuse.here("tutti selftest")))
        outcome = asyncio.run(two_chats(model, str(path)))
    except AppError as error:
        note(f"selftest failed: {error}")
        return 1
    say(f"selftest passed: {outcome}")
    return 0


async def two_chats(model: CountedModel, path: str, seconds: float = SECONDS) -> Outcome:
    """Load, ask both at once, close; raises AppError with what does not work."""
    try:
        async with asyncio.timeout(seconds):
            await model.load(path)
            if model.state.phase is not ModelPhase.READY:
                raise ModelError(model.state.error or "The model did not load.")
            outcome = Outcome()
            usages = await asyncio.gather(*(_chat(model, text, outcome) for text in _QUESTIONS))
            outcome.usages = list(usages)
    except TimeoutError as error:
        raise EngineError(f"No result after {seconds:g} s.") from error
    finally:
        await model.close()
    if not outcome.shared_steps:
        raise EngineError("The two chats were never decoded together.")
    return outcome


async def _chat(model: CountedModel, question: str, outcome: Outcome) -> Usage:
    request = Request(
        (ChatMessage(Role.USER, question),),
        Sampling(temperature=0.0),
        max_tokens=_TOKENS,
        ignore_eos=True,
    )
    async for event in model.generate(request):
        if isinstance(event, Text) and model.counters.rows >= len(_QUESTIONS):
            outcome.shared_steps.add(model.counters.steps)
        if isinstance(event, Ended):
            return _checked(event)
    raise EngineError("A chat ended without saying how.")


def _checked(ended: Ended) -> Usage:
    if ended.reason not in (FinishReason.LENGTH, FinishReason.STOP):
        raise EngineError(ended.error or f"A chat ended with “{ended.reason.value}”.")
    if ended.usage.completion_tokens < ENOUGH_TOKENS:
        raise EngineError(f"A chat wrote {ended.usage.completion_tokens} tokens only.")
    return ended.usage


def _load_params(path: str) -> LoadParams:
    return LoadParams(path, pool_tokens=1024, sequences=2, batch=256)
