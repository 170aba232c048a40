"""One loaded model: an engine and a text worker side by side, and what the engine wrote so far."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from app.chat.models import ChatMessage, Role
from app.chat.ports import Ended, Request
from app.client.answer import Answer
from app.client.child import OnProgress, Spawn, engine_child, text_child
from app.client.clock import Clock, LoopClock
from app.client.death import Death
from app.client.engine import EngineClient, EngineStream
from app.client.text import Deadline, TextClient
from app.client.written import Written
from app.errors import AppError, ContextFull, ModelError
from app.text.stream import Vocabulary
from app.wire import ChatLine, FinishReason, Loaded, LoadParams, Submit, Usage, VocabularyLoaded


@dataclass(frozen=True, slots=True)
class Means:
    """What a model is run with: the two kinds of child, the clock, the deadline of the text worker."""

    engine: Spawn = engine_child
    text: Spawn = text_child
    clock: Clock = field(default_factory=LoopClock)
    deadline: Deadline = field(default_factory=Deadline)


MEANS = Means()


class Pair:
    """Load it once, stop it once.  `on_death` tells of the engine; a text worker that dies is replaced."""

    def __init__(
        self, params: LoadParams, means: Means, on_death: Callable[["Pair", Death], None]
    ) -> None:
        self._params = params
        self._on_death = on_death
        self._written = Written()
        self._notes: dict[str, None] = {}
        self._loaded: tuple[Loaded, VocabularyLoaded, Vocabulary] | None = None
        self.engine = EngineClient(means.engine, clock=means.clock, on_death=self._died)
        self.text = TextClient(means.text, params, clock=means.clock, deadline=means.deadline)
        self.death: Death | None = None

    @property
    def loaded(self) -> Loaded:
        """What the engine said of the model."""
        return self._facts[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be done otherwise than asked, or than the model wants, so far."""
        return tuple(self._notes)

    async def load(self, on_progress: OnProgress) -> None:
        """Raises AppError with the reason where one of the two fails; `stop` is to be called then too."""
        loaded, greeting = await asyncio.gather(
            self.engine.load(self._params, on_progress), self.text.load(_ignore)
        )
        self._notes.update(dict.fromkeys(loaded.notes + greeting.notes))
        self._loaded = (loaded, greeting, Vocabulary(greeting.pieces, greeting.ends))

    async def begin(self, request: Request) -> tuple[EngineStream, Answer]:
        """Render and submit; raises AppError, before the engine has heard of it, where that cannot be."""
        loaded, greeting, vocabulary = self._facts
        rendered = await self.text.render([self._line(message) for message in request.messages])
        self._notes.update(dict.fromkeys(rendered.notes))
        if len(rendered.tokens) >= loaded.context_tokens:
            raise ContextFull(len(rendered.tokens), loaded.context_tokens)
        stream = self.engine.submit(
            Submit(
                0,
                rendered.tokens,
                request.sampling,
                max_tokens=request.max_tokens,
                ignore_eos=request.ignore_eos,
                end_tokens=greeting.end_tokens,
                priority=request.priority,
                marks=_marks(request, rendered.spans),
            )
        )
        # The format's own stop strings are what an end token is elsewhere.
        stop = request.stop if request.ignore_eos else request.stop + greeting.stop
        return stream, Answer(vocabulary, stop)

    def refusal(self, error: AppError) -> Ended:
        """The end of a request that `begin` refused with `error`."""
        if self.engine.over is not None:
            reason, words = self.engine.over
            return Ended(reason, Usage(), words)
        code = "context_length_exceeded" if isinstance(error, ContextFull) else ""
        return Ended(FinishReason.ERROR, Usage(), str(error), code)

    def keep(self, answer: Answer) -> None:
        """Remember the ids of what was written, for the turn that goes on from it."""
        remembered = answer.remembered()
        if remembered is not None:
            self._written.remember(*remembered)

    def end(self, reason: FinishReason, why: str) -> None:
        """End all requests, and all that still come, with these words."""
        self.engine.end(reason, why)
        self.text.end(why)

    async def stop(self) -> None:
        """End both processes; returns when they are gone."""
        self.end(FinishReason.ERROR, "The model was unloaded.")
        await asyncio.gather(self.engine.stop(), self.text.stop())

    @property
    def _facts(self) -> tuple[Loaded, VocabularyLoaded, Vocabulary]:
        if self._loaded is None:
            raise ModelError("The model is not loaded.")
        return self._loaded

    def _line(self, message: ChatMessage) -> ChatLine:
        ids = self._written.ids(message.content) if message.role is Role.ASSISTANT else ()
        return ChatLine(message.role.value, message.content, ids)

    def _died(self, death: Death) -> None:
        self.death = death
        self._on_death(self, death)


def _ignore(_progress: object) -> None:
    """A vocabulary is there long before the weights."""


def _marks(request: Request, spans: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Where another request may fork off: the first user message, for a chat of the same system prompt, and the
    last two, which are edited and asked again."""
    starts = [
        start
        for message, (start, _) in zip(request.messages, spans, strict=False)
        if message.role is Role.USER
    ]
    return tuple(sorted({*starts[:1], *starts[-2:]}))
