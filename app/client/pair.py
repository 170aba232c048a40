"""One loaded model: an engine and a text worker side by side, and what the engine wrote so far.

Either is replaced when it dies, and the other stays.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.chat.models import ChatMessage, Role
from app.chat.ports import Ended, Measured, Request
from app.client import fitting
from app.client.answer import Answer
from app.client.breakers import Breakers, long_breakers
from app.client.child import OnProgress
from app.client.engine import EngineClient
from app.client.means import Means
from app.client.own_template import NO_TEMPLATE, OwnTemplate
from app.client.recovery import Recovery
from app.client.same_file import SameFile
from app.client.stream import EngineStream
from app.client.text import TextClient
from app.client.voice import Voice
from app.client.warmth import Warmth
from app.client.written import Written, with_calls
from app.dialogue import ChatLine, Thinking, Toolbox, Wishes
from app.errors import (
    AppError,
    ContextFull,
    FormError,
    ModelError,
    SamplingError,
    TextError,
    TextRefused,
)
from app.grammar.model import CallForm
from app.sampling import Sampling, Values, foreign_bias, taking
from app.text.stream import Vocabulary
from app.wire import (
    Finished,
    FinishReason,
    Forget,
    Loaded,
    LoadParams,
    Priority,
    Rendered,
    Submit,
    Usage,
    VocabularyLoaded,
)

_CODES = {
    ContextFull: ("context_length_exceeded", "messages"),
    FormError: ("invalid_value", ""),
    SamplingError: ("invalid_value", "logit_bias"),
    TextRefused: ("invalid_value", "messages"),
}
"""What programs are told of a request that cannot be: a code, and the field that is at fault."""

_NEXT = ChatLine(Role.USER.value, "x")
"""Stands for the message that the user is still typing."""


class Pair:
    """Load it once, stop it once.  `on_change` tells of the engine: `engine.serving` and `engine.over` say what."""

    def __init__(
        self,
        params: LoadParams,
        means: Means,
        written: Written,
        on_change: Callable[["Pair"], None],
        own: OwnTemplate = NO_TEMPLATE,
    ) -> None:
        self._params = params
        self._use = means.uses.use(params.path) if means.uses is not None else None
        self._on_change = on_change
        self._written = written
        self._notes: dict[str, None] = dict.fromkeys(own.notes)
        self._format_notes: tuple[str, ...] = ()
        self.template = own.text
        self._vocabulary: tuple[VocabularyLoaded, Voice, Breakers] | None = None
        self._warmth = Warmth()
        self._forgotten: list[int] = []
        same = SameFile()
        self.engine = EngineClient(
            means.engine,
            clock=means.clock,
            on_change=self._engine_changed,
            recovery=Recovery(means.delays),
            same=same,
        )
        # The engine holds no text: only the other one hears of the template.
        texts = replace(params, template=own.text)
        self.text = TextClient(
            means.text, texts, clock=means.clock, deadline=means.deadline, same=same
        )

    @property
    def loaded(self) -> Loaded:
        """What the engine said of the model."""
        return self.engine.loaded

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be done otherwise than asked, or than the model wants, so far; and how the last engine died."""
        death = self.engine.death
        again = (f"{death} It was started again.",) if death is not None else ()
        return (*self._notes, *self._format_notes, *again)

    @property
    def format_name(self) -> str:
        """Of the prompt format in use."""
        return self._facts[0].format_name

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each token."""
        return self._facts[1].vocabulary

    @property
    def thinking(self) -> Thinking:
        """How the model reasons."""
        return self._facts[0].thinking

    @property
    def recommended(self) -> Values:
        """The values of sampling that the model's file advises."""
        return self._facts[0].recommended

    async def load(self, on_progress: OnProgress) -> None:
        """Raises AppError with the reason where one of the two fails; `stop` is to be called then too."""
        if self._use is not None:
            await asyncio.to_thread(self._use.begin)
        loaded, greeting = await asyncio.gather(
            self.engine.load(self._params, on_progress), self.text.load(_ignore)
        )
        self._notes.update(dict.fromkeys(loaded.notes))
        self._format_notes = greeting.notes
        vocabulary = Vocabulary(greeting.pieces, greeting.ends)
        voice = Voice(vocabulary, greeting.thinking, greeting.calling)
        self._vocabulary = (greeting, voice, Breakers(vocabulary))

    async def use_template(self, text: str) -> None:
        """Render with this template ("": the model's own) from now on; raises TextError, and then nothing has changed."""
        found = await self.text.use(text)
        greeting, voice, breakers = self._facts
        greeting = replace(
            greeting,
            end_tokens=found.end_tokens,
            format_name=found.format_name,
            notes=found.notes,
            stop=found.stop,
            thinking=found.thinking,
            calling=found.calling,
        )
        voice = Voice(voice.vocabulary, found.thinking, found.calling)
        self._vocabulary = (greeting, voice, breakers)
        self._format_notes = found.notes
        self.template = text
        self._warmth.clear()

    async def prompt(self, request: Request) -> tuple[int, ...]:
        """The tokens that this request would begin with; raises AppError."""
        _, rendered = await self._fitted(request)
        return rendered.tokens

    async def begin(self, request: Request) -> tuple[EngineStream, Answer, int]:
        """Render and submit; the stream, its answer, and how many messages were left out.

        Raises AppError, before the engine has heard of it, where that cannot be.
        """
        greeting, voice, breakers = self._facts
        sampling = taking(request.sampling, greeting.recommended, request.sampling_open)
        foreign = foreign_bias(sampling, len(voice.vocabulary))
        if foreign:
            raise SamplingError(foreign)
        messages, rendered = await self._fitted(request)
        # Again: the template may have changed while this one waited for its turn.
        greeting, voice, _ = self._facts
        self._notes.update(dict.fromkeys(rendered.notes))
        flags = await breakers.of(sampling)
        grammar = None
        form = request.form or _call_form(request.toolbox, folded=rendered.folded)
        if form is not None:
            grammar = await self.text.constrain(form, rendered.opened, request.thinking)
        # The format's own stop strings are what an end token is elsewhere.
        stop = request.stop if request.ignore_eos else request.stop + greeting.stop
        calls = voice.calls(request.toolbox, folded=rendered.folded)
        likely = request.top_logprobs is not None
        most = self.loaded.context_tokens
        answer = Answer(voice, stop, most, rendered.opened, calls, likely=likely)
        # Nothing may fail from here on: nobody would listen to what the engine writes.
        stream = self.engine.submit(
            Submit(
                0,
                rendered.tokens,
                replace(sampling, dry_sequence_breakers=()),  # the engine knows no text
                max_tokens=request.max_tokens,
                ignore_eos=request.ignore_eos,
                end_tokens=greeting.end_tokens,
                priority=request.urgency.priority,
                marks=_marks(messages, rendered.spans),
                owner=request.owner,
                breakers=flags,
                breaker_texts=long_breakers(sampling),
                top_logprobs=request.top_logprobs,
                grammar=grammar,
            )
        )
        return stream, answer, _talk(request.messages) - _talk(messages)

    async def _fitted(self, request: Request) -> tuple[tuple[ChatMessage, ...], Rendered]:
        """The messages that are sent, and their prompt; raises ContextFull where it does not fit."""
        messages, rendered = await self._shortened(request)
        if len(rendered.tokens) >= self.loaded.context_tokens:
            raise ContextFull(len(rendered.tokens), self.loaded.context_tokens)
        return messages, rendered

    async def _shortened(self, request: Request) -> tuple[tuple[ChatMessage, ...], Rendered]:
        """With as many messages left out as may be and have to be; raises ContextFull where that is no use."""
        messages = request.messages
        rendered = await self._render(request, messages)
        if not request.may_leave_out:
            return messages, rendered
        least = fitting.least(messages, rendered.spans)
        if least >= self.loaded.context_tokens:  # nothing that could be left out would help
            raise ContextFull(least, self.loaded.context_tokens)
        most = fitting.room(self.loaded.context_tokens, request.max_tokens)
        while len(rendered.tokens) > most:
            roles = [Role.SYSTEM if message.stays else message.role for message in messages]
            found = fitting.exchanges(roles, rendered.spans, len(rendered.tokens))
            target = int(most * fitting.KEPT_SHARE)
            gone = found[: fitting.leave_out(found, len(rendered.tokens), target)]
            left = tuple(messages[index] for index in fitting.without(roles, gone))
            if left == messages:  # then also what stands for messages that went before
                left = tuple(message for message in messages if not message.stays)
            if left == messages:
                break
            messages = left
            rendered = await self._render(request, messages)
        return messages, rendered

    async def _render(self, request: Request, messages: Sequence[ChatMessage]) -> Rendered:
        lines = [self._line(one) for one in messages]
        return await self.text.render(lines, _wishes(request), request.toolbox.tools)

    async def measure(self, request: Request) -> Measured | None:
        """How long the prompt of all its messages would be; None where they cannot be read."""
        try:
            rendered = await self._render(request, request.messages)
        except AppError:
            return None  # a message will be told why
        return Measured(len(rendered.tokens), tuple(start for start, _ in rendered.spans))

    async def warm(self, request: Request) -> None:
        """Have the beginning read that all requests have which go on from this one; see `Generator.warm`."""
        messages = request.messages
        if not self.engine.serving or not self._warmth.wanted(messages):
            return
        try:
            # Templates write a message by what stands around it: it takes a next one to see where that begins.
            lines = [*map(self._line, messages), _NEXT]
            rendered = await self.text.render(lines, _wishes(request), request.toolbox.tools)
        except TextError:
            return  # the message itself will be told why
        start = rendered.spans[-1][0] if rendered.spans else 0
        if 0 < start < self.loaded.context_tokens:
            await self._read(request, rendered, start)

    async def _read(self, request: Request, rendered: Rendered, length: int) -> None:
        """Have the first `length` tokens read, and remember what came of it."""
        stream = self.engine.submit(
            Submit(
                0,
                rendered.tokens[: length + 1],  # the last one is not read
                Sampling(temperature=0),
                max_tokens=0,
                priority=Priority.BACKGROUND,
                marks=_marks(request.messages, rendered.spans),
                owner=request.owner,
            )
        )
        try:
            while True:
                for event in await stream.events():
                    if isinstance(event, Finished):
                        if event.reason is FinishReason.LENGTH:
                            self._warmth.remember(request.messages)
                        elif stream.deaths:
                            self._warmth.died(request.messages)
                        return
        finally:
            stream.close()

    def forget(self, owner: int) -> None:
        """Drop what the engine keeps of this chat; where there is none, as soon as there is one."""
        self._forgotten.append(owner)
        self._tell_forgotten()

    def refusal(self, error: AppError) -> Ended:
        """The end of a request that `begin` refused with `error`."""
        if self.engine.over is not None:
            reason, words = self.engine.over
            return Ended(reason, Usage(), words)
        found = (said for kind, said in _CODES.items() if isinstance(error, kind))
        code, field = next(found, ("", ""))
        if isinstance(error, FormError):
            field = error.field
        return Ended(FinishReason.ERROR, Usage(), str(error), code, field)

    def keep(self, answer: Answer, owner: int) -> None:
        """Remember the ids of what was written, for the turn that goes on from it."""
        for text, ids in answer.remembered():
            self._written.remember(text, ids, owner)

    def end(self, reason: FinishReason, why: str) -> None:
        """End all requests, and all that still come, with these words."""
        self.engine.end(reason, why)
        self.text.end(why)

    async def stop(self) -> None:
        """End both processes; returns when they are gone."""
        self.end(FinishReason.ERROR, "The model was unloaded.")
        await asyncio.gather(self.engine.stop(), self.text.stop())
        if self._use is not None:
            await asyncio.to_thread(self._use.end)

    @property
    def _facts(self) -> tuple[VocabularyLoaded, Voice, Breakers]:
        if self._vocabulary is None:
            raise ModelError("The model is not loaded.")
        return self._vocabulary

    def _line(self, message: ChatMessage) -> ChatLine:
        if message.role is not Role.ASSISTANT:
            role, content = message.role.value, message.content
            return ChatLine(role, content, call_id=message.call_id, name=message.name)
        called = with_calls(message.content, message.calls) if message.calls else ""
        return ChatLine(
            message.role.value,
            message.content,
            message.ids or self._written.ids(message.content),
            message.reasoning,
            message.reasoning_ids or self._written.ids(message.reasoning),
            message.calls,
            self._written.ids(called),
        )

    def _engine_changed(self) -> None:
        if not self.engine.serving:
            self._warmth.clear()
        self._tell_forgotten()
        self._on_change(self)

    def _tell_forgotten(self) -> None:
        while self._forgotten and self.engine.serving:
            self.engine.send(Forget(self._forgotten.pop()))


def _call_form(toolbox: Toolbox, *, folded: bool) -> CallForm | None:
    """What binds the calls of an answer; None where it writes as it likes."""
    if not toolbox.bound:
        return None
    return CallForm(
        toolbox.callable, free=not toolbox.demanded, single=toolbox.single, folded=folded
    )


def _wishes(request: Request) -> Wishes:
    return Wishes(request.thinking, request.effort, request.since)


def _talk(messages: Sequence[ChatMessage]) -> int:
    """How many of these are messages of the chat."""
    return sum(not message.stays for message in messages)


def _ignore(_progress: object) -> None:
    """A vocabulary is there long before the weights."""


def _marks(messages: Sequence[ChatMessage], spans: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Where another request may fork off: each user message, which may be edited or asked again (the first is the end of
    what other chats of the same system prompt begin with), and each result of a tool."""
    return tuple(
        start
        for message, (start, _) in zip(messages, spans, strict=False)
        if message.role in (Role.USER, Role.TOOL)
    )
