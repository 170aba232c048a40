"""One answer: from what the engine tells of a request to what the domain hears.  Pure: no loop, no process.

All tokens of one wake-up become one `Thought` or one `Text`, or one of each; text that was held back (half a character,
half a stop string, half a tag) comes out before `Ended`, in every way to end.
"""

from collections.abc import Iterable
from dataclasses import replace

from app.chat.ports import Ended, Event, Reading, Text, Thought, Waiting
from app.client.likelihoods import Likelihoods
from app.client.stream import Interrupted, StreamEvent
from app.client.voice import Voice
from app.dialogue import ThoughtTags
from app.text.stream import TextStream
from app.text.thoughts import Part, ThoughtSplit
from app.wire import Finished, FinishReason, ReadingNow, TokenOut, WaitingNow

STARTING_AGAIN = "the engine is starting again"


class Answer:
    """The text of one request in a chat of at most `context` tokens.  The engine does not tell of the token that ended it.

    `opened` are the tags of reasoning that the prompt ends with, if it does; with `likely` the text comes with the
    likelihoods of its tokens.
    """

    def __init__(
        self,
        voice: Voice,
        stop: tuple[str, ...],
        context: int,
        opened: ThoughtTags | None = None,
        *,
        likely: bool = False,
    ) -> None:
        self._voice = voice
        self._stream = TextStream(voice.vocabulary, stop, voice.symbols)
        self._split = ThoughtSplit(voice.tags, voice.told(opened))
        self._likelihoods = Likelihoods(voice) if likely else None
        self._context = context
        self._ids: list[int] = []
        self._fresh: list[Part] = []
        self._thoughts: list[str] = []
        self._text: list[str] = []
        self._uncounted = 0
        self._written = 0
        self.ended = False

    @property
    def stopped(self) -> bool:
        """A stop string was met: the engine need not go on."""
        return self._stream.stopped

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
                    self._flush()
                    told += [*self._take(), self._end(event)]
        return told + self._take()

    def remembered(self) -> list[tuple[str, tuple[int, ...]]]:
        """The answer and its reasoning as they were told, each with the ids that were fed for exactly this text.

        A text whose borders lie inside a token has none.
        """
        texts = ("".join(self._thoughts), "".join(self._text))
        thought = self._voice.within(self._ids, texts[0])
        answer = self._voice.within(self._ids, texts[1], last=True)
        return [
            (text, ids) for text, ids in zip(texts, (thought, answer), strict=True) if text and ids
        ]

    def _write(self, event: TokenOut) -> None:
        if self.stopped:
            return
        self._written += 1
        self._uncounted += 1
        self._ids.append(event.token)
        parts = self._split.feed(self._stream.feed(event.token))
        self._grow(parts)
        if self._likelihoods is not None:
            self._likelihoods.feed(event)
            self._likelihoods.come_out(
                _answer(parts),
                held=self._stream.held,
                answering=self._split.answering,
                over=self.stopped,
            )

    def _flush(self) -> None:
        parts = self._split.feed(self._stream.flush()) + self._split.flush()
        self._grow(parts)
        if self._likelihoods is not None:
            self._likelihoods.come_out(
                _answer(parts),
                held=self._stream.held,
                answering=self._split.answering is not False,
                over=True,
            )

    def _grow(self, parts: Iterable[Part]) -> None:
        for part in parts:
            (self._thoughts if part.thought else self._text).append(part.text)
            self._fresh.append(part)

    def _take(self) -> list[Event]:
        """The text since the last time; tokens that brought none yet count with the next that does."""
        if not self._fresh:
            return []
        thought = "".join(part.text for part in self._fresh if part.thought)
        text = _answer(self._fresh)
        tokens, self._uncounted = self._uncounted, 0
        self._fresh.clear()
        if not text:
            return [Thought(thought, tokens)]
        likelihoods = self._likelihoods.take() if self._likelihoods is not None else ()
        whole = Text(text, tokens, likelihoods)
        return [Thought(thought, 0), whole] if thought else [whole]

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


def _answer(parts: Iterable[Part]) -> str:
    """The text of the answer in these."""
    return "".join(part.text for part in parts if not part.thought)
