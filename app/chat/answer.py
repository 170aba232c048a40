"""One answer while it is written: events in, text and a state for the tab out.  Pure; the caller gives the time."""

from collections import deque
from dataclasses import replace

from app.chat.context import is_blank
from app.chat.events import TurnState
from app.chat.models import FinishReason, Status, TabState, Usage, clean
from app.chat.ports import Counting, Ended, Reading, Text, Thought, Waiting
from app.chat.repetition import Repetition

EMPTY_ANSWER = "The answer was empty."
ONLY_THOUGHT = "The model thought, but gave no answer."
NO_END = "The answer ended for an unknown reason. Try again."
RATE_SECONDS = 2.0
"""Over how long tokens per second are measured."""


class TokenRate:
    """Tokens per second over the last `RATE_SECONDS`."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, tokens: int, now: float) -> None:
        self._samples.append((now, tokens))
        while self._samples[0][0] < now - RATE_SECONDS:
            self._samples.popleft()

    @property
    def value(self) -> float:
        """0 until there are two moments to measure between."""
        if not self._samples:
            return 0.0
        span = self._samples[-1][0] - self._samples[0][0]
        start = self._samples[0][0]
        tokens = sum(count for when, count in self._samples if when > start)
        return tokens / span if span > 0 else 0.0


class Answer:
    """What a turn has brought so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._thoughts: list[str] = []
        self._rate = TokenRate()
        self._repetition = Repetition()
        self._may_repeat = False
        self._prompt = self._cached = 0
        self._first = self._last = self._thought = 0.0
        self.written = 0
        self._state = TurnState(TabState.WAITING)

    @property
    def state(self) -> TurnState:
        repeating = self._repetition.found and not self._may_repeat
        return replace(self._state, repeating=True) if repeating else self._state

    @property
    def text(self) -> str:
        return _whole(self._pieces)

    @property
    def reasoning(self) -> str:
        """What the model thought before it answered."""
        return _whole(self._thoughts)

    @property
    def thought_seconds(self) -> float:
        """How long it thought: until the answer began, or so far."""
        return self._thought - self._first if self._thoughts else 0.0

    @property
    def usage(self) -> Usage:
        """What is known of the counts while no `Ended` has told them."""
        return Usage(self._prompt, self.written, self._cached)

    @property
    def seconds(self) -> float:
        """From the first piece to the last."""
        return self._last - self._first

    def let_repeat(self) -> None:
        """From now on it may repeat itself as it likes: nothing is said of it."""
        self._may_repeat = True

    def feed(self, event: Waiting | Counting | Reading | Thought | Text, now: float) -> str:
        """Take the event in; returns the text that it added, to the answer or to the thoughts, clean."""
        if isinstance(event, Text | Thought):
            return self._write(event, now)
        if isinstance(event, Reading):
            if not self.written:  # later it is the prompt and the text so far, read again
                self._prompt, self._cached = event.total, event.cached
            self._state = TurnState(
                TabState.READING, done=event.done, total=event.total, cached=event.cached
            )
        elif isinstance(event, Counting):
            self._state = TurnState(TabState.WAITING, counting=True, written=self.written)
        else:
            waiting = TurnState(TabState.WAITING, place=event.place, why=event.why)
            self._state = replace(waiting, written=self.written)
        return ""

    def _write(self, event: Thought | Text, now: float) -> str:
        if self._state.state is not TabState.WRITING:
            self._rate = TokenRate()  # the pause before is no time of writing
        if not self.written and not self._pieces and not self._thoughts:
            self._first = now
        self._last = now
        if not self._pieces:
            self._thought = now
        self.written += event.tokens
        self._rate.add(event.tokens, now)
        text = clean(event.text)
        if text:
            self._add(text, self._thoughts if isinstance(event, Thought) else self._pieces)
        self._state = TurnState(
            TabState.WRITING,
            written=self.written,
            tokens_per_second=self._rate.value,
            thinking=isinstance(event, Thought),
        )
        return text

    def _add(self, text: str, pieces: list[str]) -> None:
        if not pieces:
            # The thoughts begin, or the answer after them: each by itself goes in circles or not.
            self._repetition = Repetition()
        pieces.append(text)
        self._repetition.feed(text)


def _whole(pieces: list[str]) -> str:
    """All pieces in one; the list then holds only that."""
    if len(pieces) > 1:
        pieces[:] = ["".join(pieces)]
    return pieces[0] if pieces else ""


def verdict(ended: Ended, text: str, reasoning: str = "") -> tuple[Status, str]:
    """How an answer that ended like this is stored, and what the user is told of it."""
    if ended.reason is FinishReason.CANCELLED:
        return Status.STOPPED, ""
    if ended.reason in (FinishReason.ERROR, FinishReason.ENGINE_DIED):
        return Status.FAILED, clean(ended.error) or NO_END
    if is_blank(text):
        return Status.FAILED, EMPTY_ANSWER if is_blank(reasoning) else ONLY_THOUGHT
    return Status.DONE, clean(ended.error)
