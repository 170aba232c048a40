"""One answer: from what the engine tells of a request to what the domain hears.  Pure: no loop, no process.

All tokens of one wake-up become one `Text`; text that was held back (half a character, half a stop string) comes out
before `Ended`, in every way to end.
"""

from collections.abc import Iterable
from dataclasses import replace

from app.chat.ports import Ended, Event, Reading, Text, Waiting
from app.client.stream import Interrupted, StreamEvent
from app.text.stream import TextStream, Vocabulary
from app.wire import Finished, FinishReason, ReadingNow, TokenOut, WaitingNow

STARTING_AGAIN = "the engine is starting again"


class Answer:
    """The text of one request in a chat of at most `context` tokens.  The engine does not tell of the token that ended it."""

    def __init__(self, vocabulary: Vocabulary, stop: tuple[str, ...], context: int) -> None:
        self._vocabulary = vocabulary
        self._stream = TextStream(vocabulary, stop)
        self._context = context
        self._ids: list[int] = []
        self._ids_at_growth = 0
        self._text: list[str] = []
        self._fresh: list[str] = []
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
                    self._write(event.token)
                case WaitingNow():
                    told += [*self._take(), Waiting(event.place)]
                case ReadingNow():
                    told += [*self._take(), Reading(event.done, event.total, event.cached)]
                case Interrupted() if not self.stopped:
                    told += [*self._take(), Waiting(0, STARTING_AGAIN)]
                case Finished():
                    self._grow(self._stream.flush())
                    told += [*self._take(), self._end(event)]
        return told + self._take()

    def remembered(self) -> tuple[str, tuple[int, ...]] | None:
        """The text and the ids that were fed for exactly this text; None where a stop string cut it.

        Where the answer was left before its end, text that was still held back does not count, nor do its ids.
        """
        if self.stopped:
            return None
        text = "".join(self._text)
        if self.ended or not self._stream.flush():
            return text, tuple(self._ids)
        ids = tuple(self._ids[: self._ids_at_growth])
        exact = self._vocabulary.join(ids).decode(errors="replace") == text
        return (text, ids) if exact else None

    def _write(self, token: int) -> None:
        if self.stopped:
            return
        self._written += 1
        self._uncounted += 1
        self._ids.append(token)
        self._grow(self._stream.feed(token))

    def _grow(self, text: str) -> None:
        if text:
            self._ids_at_growth = len(self._ids)
            self._text.append(text)
            self._fresh.append(text)

    def _take(self) -> list[Event]:
        """The text since the last time; tokens that brought none yet count with the next that does."""
        if not self._fresh:
            return []
        text = Text("".join(self._fresh), self._uncounted)
        self._fresh.clear()
        self._uncounted = 0
        return [text]

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
