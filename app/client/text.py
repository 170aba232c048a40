"""What is asked of the text workers of one model: prompts, counts, grammars, questions about the format."""

import asyncio
import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TypeVar

from app.client.child import OnProgress, Spawn
from app.client.clock import Clock
from app.client.same_file import SameFile
from app.client.text_job import Asked, Deadline, Job
from app.client.texts import Texts
from app.dialogue import ChatLine, ThoughtTags, Tool, Wishes
from app.errors import FormError, TextError, TextRefused
from app.grammar.model import CallForm, Constrain, Constrained, Form, FormRefused, Grammar
from app.prompting import Adopted, Finding, Question, TryTemplate, UseTemplate
from app.wire import (
    Inspect,
    Inspected,
    LoadParams,
    Render,
    Rendered,
    TextFailed,
    TextReply,
    Tokenize,
    Tokenized,
    VocabularyLoaded,
)

_STRETCH = 8_192
"""Characters of a text that are counted at once."""

_COUNTED = 256
"""Stretches whose counts are remembered: a long draft is counted again at every pause in the typing, and most of it is
what it was."""

_DEADLINE = Deadline()

_Reply = TypeVar("_Reply")
FoundT = TypeVar("FoundT", bound=Finding)


class TextClient:
    """Renders and counts.  All calls are on the event loop; none blocks it."""

    def __init__(
        self,
        spawn: Spawn,
        params: LoadParams,
        *,
        clock: Clock,
        deadline: Deadline = _DEADLINE,
        same: SameFile | None = None,
    ) -> None:
        """`same` is shared with the model's engine."""
        self._clock = clock
        self._deadline = deadline
        self._ids = itertools.count(1)
        self._counted: OrderedDict[bytes, int] = OrderedDict()
        self._texts = Texts(spawn, params, clock=clock, same=same or SameFile())

    async def load(self, on_progress: OnProgress) -> VocabularyLoaded:
        """Start a worker; raises AppError with the reason where it cannot be used."""
        return await self._texts.load(on_progress)

    async def render(
        self, lines: Sequence[ChatLine], wishes: Wishes = Wishes(), tools: Sequence[Tool] = ()
    ) -> Rendered:
        """The ids of this conversation with an answer opened; raises TextError, TextRefused where it is at fault."""
        message = Render(next(self._ids), tuple(lines), wishes, tuple(tools))
        reply = await self._ask(message, size_of(lines, tools))
        return _expect(reply, Rendered)

    async def count(self, text: str) -> int:
        """About the number of tokens of `text` as content; raises TextError.

        A long one is counted in stretches, between which others come in: exactly where the vocabulary begins a token at
        each word, as nearly all do.  Cancelling leaves out those that were not begun.  What was counted of late is not
        counted again.
        """
        count = 0
        for part in _stretches(text):
            key = hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if key not in self._counted:
                reply = await self._ask(Tokenize(next(self._ids), part), len(part))
                self._counted[key] = _expect(reply, Tokenized).count
            self._counted.move_to_end(key)
            count += self._counted[key]
            while len(self._counted) > _COUNTED:
                self._counted.popitem(last=False)
        return count

    async def constrain(
        self, form: Form | CallForm, opened: ThoughtTags | None = None, thinking: bool | None = None
    ) -> Grammar:
        """The grammar of an answer in this form; raises FormError where it cannot be had, and TextError."""
        message = Constrain(next(self._ids), form, opened, thinking)
        reply = await self._ask(message, form.size)
        if isinstance(reply, FormRefused):
            raise FormError(reply.reason, form.field)
        return _expect(reply, Constrained).grammar

    async def inspect(self, question: Question, kind: type[FoundT]) -> FoundT:
        """The answer, of this kind, to a question about the prompt format; raises TextError."""
        size = len(question.text) if isinstance(question, TryTemplate | UseTemplate) else 0
        reply = await self._ask(Inspect(next(self._ids), question), size)
        return _expect(_expect(reply, Inspected).finding, kind)

    async def use(self, template: str) -> Adopted:
        """Render with this template ("": the model's own) from now on; raises TextError, and then nothing has changed."""
        found = await self.inspect(UseTemplate(template), Adopted)
        self._texts.adopt(template)
        return found

    def end(self, why: str) -> None:
        """Answer all that is asked, and will be, with a TextError in these words."""
        self._texts.end(why)

    async def stop(self) -> None:
        """End the workers; returns when they are gone."""
        await self._texts.stop()

    async def _ask(self, message: Asked, size: int) -> TextReply:
        seconds = self._deadline.of(size)
        due = round(self._clock.now() + seconds, 1)
        waiting = asyncio.get_running_loop().create_future()
        self._texts.put(Job(due, message.request_id, message, size, seconds, waiting))
        reply: TextReply = await waiting
        if isinstance(reply, TextFailed):
            raise TextRefused(reply.reason)
        return reply


def size_of(lines: Sequence[ChatLine], tools: Sequence[Tool]) -> int:
    """How long a conversation takes, in characters."""
    size = sum(map(_size, lines))
    return size + sum(len(tool.description) + len(tool.parameters) for tool in tools)


def _stretches(text: str) -> Iterator[str]:
    """The text in parts of at most `_STRETCH` characters, where it can be before a word."""
    start = 0
    while len(text) - start > _STRETCH:
        limit = start + _STRETCH
        blank = text.rfind(" ", start + 1, limit)
        # Of several blanks the last one belongs to the word.
        cut = blank if blank > 0 and not text[blank + 1].isspace() else limit
        yield text[start:cut]
        start = cut
    yield text[start:]


def _size(line: ChatLine) -> int:
    """How long a line takes, in characters."""
    ids = len(line.ids) + len(line.reasoning_ids) + len(line.call_ids)
    calls = sum(len(call.arguments) for call in line.calls)
    return len(line.content) + len(line.reasoning) + ids + calls


def _expect(reply: object, kind: type[_Reply]) -> _Reply:
    """The reply, which must be of this kind; raises TextError."""
    if not isinstance(reply, kind):
        raise TextError("The text worker gave another answer than asked for.")
    return reply
