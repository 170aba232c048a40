"""One answer: from what the engine tells of a request to what the domain hears.  Pure: no loop, no process.

All tokens of one wake-up become one `Thought` or one `Text`, or one of each, and what there is of calls; text that was
held back (half a character, half a stop string, half a tag) comes out before `Ended`, in every way to end.
"""

from collections.abc import Iterable
from dataclasses import replace

from app.chat.ports import CallArguments, CallEvent, Ended, Event, Reading, Text, Thought, Waiting
from app.client.calls import Calls
from app.client.likelihoods import Likelihoods
from app.client.stream import Interrupted, StreamEvent
from app.client.voice import Voice
from app.client.written import with_calls
from app.dialogue import ThoughtTags
from app.text.calls.split import CallSplit
from app.text.stream import TextStream
from app.text.thoughts import Part, ThoughtSplit
from app.wire import Finished, FinishReason, ReadingNow, TokenOut, WaitingNow

STARTING_AGAIN = "the engine is starting again"


class Answer:
    """The text of one request in a chat of at most `context` tokens.  The engine does not tell of the token that ended it.

    `opened` are the tags of reasoning that the prompt ends with, if it does; `calls` reads calls out of the text; with
    `likely` the text, of an answer without calls, comes with the likelihoods of its tokens.
    """

    def __init__(
        self,
        voice: Voice,
        stop: tuple[str, ...],
        context: int,
        opened: ThoughtTags | None = None,
        calls: CallSplit | None = None,
        *,
        likely: bool = False,
    ) -> None:
        self._voice = voice
        self._stream = TextStream(voice.vocabulary, stop, voice.symbols)
        self._split = ThoughtSplit(voice.tags, voice.told(opened), voice.interrupts(calls))
        self._calls = Calls(calls) if calls is not None else None
        self._likelihoods = Likelihoods(voice) if likely and calls is None else None
        self._context = context
        self._ids: list[int] = []
        self._answered_from: int | None = None
        self._fresh: list[Part | CallEvent] = []
        self._thoughts: list[str] = []
        self._text: list[str] = []
        self._uncounted = 0
        self._written = 0
        self.ended = False

    @property
    def stopped(self) -> bool:
        """A stop string was met, or all calls are there: the engine need not go on."""
        return self._stream.stopped or (self._calls is not None and self._calls.full)

    def feed(self, events: Iterable[StreamEvent]) -> list[Event]:
        """What to tell of these; `Ended` last, once the engine has finished."""
        told: list[Event] = []
        for event in events:
            match event:
                case TokenOut():
                    self._write(event)
                case WaitingNow():
                    told += [*self._take(), Waiting(event.place)]
                case ReadingNow():
                    told += [*self._take(), Reading(event.done, event.total, event.cached)]
                case Interrupted() if not self.stopped:
                    told += [*self._take(), Waiting(0, STARTING_AGAIN)]
                case Finished():
                    self._flush(cut=event.reason is not FinishReason.STOP or self.stopped)
                    told += [*self._take(), self._end(event)]
        return told + self._take()

    def rest(self) -> list[Event]:
        """What was held back of an answer that its reader ends here; nothing is fed any more.

        Without half a character: it was the reader who cut it, not the model.
        """
        self._flush(cut=True, ragged=False)
        return self._take()

    def remembered(self) -> list[tuple[str, tuple[int, ...]]]:
        """The answer and its reasoning as they were told, each with the ids that were fed for exactly this text; an answer
        with its calls as a whole.

        A text whose borders lie inside a token has none.
        """
        texts = ("".join(self._thoughts), "".join(self._text))
        thought = self._voice.within(self._ids, texts[0])
        answer = self._voice.within(self._ids, texts[1], last=True)
        found = [*zip(texts, (thought, answer), strict=True)]
        if self._calls is not None and self._calls.made and not self._calls.broken:
            called = with_calls(texts[1], self._calls.made)
            found.append((called, tuple(self._ids[self._answered_from or 0 :])))
        return [(text, ids) for text, ids in found if text and ids]

    def _write(self, event: TokenOut) -> None:
        if self.stopped:
            return
        self._written += 1
        self._uncounted += 1
        self._ids.append(event.token)
        parts = self._split.feed(self._stream.feed(event.token))
        if self._answered_from is None and self._split.answering:
            # Without reasoning before it, it began with the first token, whenever that was decided.
            self._answered_from = len(self._ids) - 1 if self._split.reasoned else 0
        self._grow(parts)
        if self._likelihoods is not None:
            self._likelihoods.feed(event)
            self._likelihoods.come_out(
                _answer(parts),
                held=self._stream.held,
                answering=self._split.answering,
                over=self.stopped,
            )

    def _flush(self, *, cut: bool, ragged: bool = True) -> None:
        """What was held back; `cut`: it was not the model that ended the answer."""
        parts = self._split.feed(self._stream.flush(ragged=ragged)) + self._split.flush()
        self._grow(parts)
        if self._calls is not None:
            self._hear(self._calls.flush(cut=cut))
        if self._likelihoods is not None:
            self._likelihoods.come_out(
                _answer(parts),
                held=self._stream.held,
                answering=self._split.answering is not False,
                over=True,
            )

    def _grow(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if part.thought or self._calls is None:
                self._hear([part])
            else:
                self._hear(self._calls.feed(part.text))

    def _hear(self, told: Iterable[Part | CallEvent]) -> None:
        for one in told:
            if isinstance(one, Part):
                (self._thoughts if one.thought else self._text).append(one.text)
            self._fresh.append(one)

    def _take(self) -> list[Event]:
        """What came since the last time; tokens that brought nothing yet count with the next that does."""
        if not self._fresh:
            return []
        told: list[Thought | Text | CallEvent] = []
        for one in self._fresh:
            _join(told, _event(one) if isinstance(one, Part) else one)
        self._fresh.clear()
        tokens, self._uncounted = self._uncounted, 0
        told[-1] = last = replace(told[-1], tokens=tokens)
        if self._likelihoods is not None and isinstance(last, Text):
            told[-1] = replace(last, likelihoods=self._likelihoods.take())
        return [*told]

    def _full(self, finished: Finished) -> str:
        """What is to be said where it is the context that ended the answer."""
        total = finished.usage.prompt_tokens + finished.usage.completion_tokens
        if finished.reason is not FinishReason.LENGTH or total < self._context:
            return ""
        return (
            f"Context full: this chat has used all of its {self._context:,} tokens. Go on in a new chat, or load the "
            "model with a larger pool."
        )

    def _end(self, finished: Finished) -> Ended:
        self.ended = True
        if not self.stopped:
            return Ended(finished.reason, finished.usage, finished.error or self._full(finished))
        # The engine wrote on until the abort reached it; that is no part of the answer.
        return Ended(FinishReason.STOP, replace(finished.usage, completion_tokens=self._written))


def _event(part: Part) -> Thought | Text:
    return Thought(part.text, 0) if part.thought else Text(part.text, 0)


def _join(told: list[Thought | Text | CallEvent], one: Thought | Text | CallEvent) -> None:
    """Append it, or join it to the last where that is of the same kind; another call begins with an event of its own."""
    last = told[-1] if told else None
    joining = Thought | Text | CallArguments
    if isinstance(one, joining) and isinstance(last, joining) and type(one) is type(last):
        told[-1] = replace(last, text=last.text + one.text)
    else:
        told.append(one)


def _answer(parts: Iterable[Part]) -> str:
    """The text of the answer in these."""
    return "".join(part.text for part in parts if not part.thought)
