"""What a step tells the app, and the totals behind the counters."""

from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import Any

from app.counters import Counters
from app.engine.choice import Choice
from app.engine.sequence import Sequence
from app.wire import (
    Finished,
    FinishReason,
    ReadingNow,
    Step,
    TokenOut,
    Usage,
    WaitingNow,
)


@dataclass(slots=True)
class Totals:
    """Counts since the engine's start; the names are those of `counters.Counters`."""

    steps: int = 0
    written: int = 0
    read: int = 0
    reused: int = 0
    prompt: int = 0
    parked: int = 0
    interrupted: int = 0
    queue_wait_ms: float = 0.0

    @property
    def by_name(self) -> dict[str, Any]:
        """Built for every step, hence without the depth of `dataclasses.asdict`."""
        return {name: getattr(self, name) for name in self.__slots__}


class Outbox:
    """Collects the events of one step; `collect` hands them over and begins the next."""

    def __init__(self) -> None:
        self._tokens: list[TokenOut] = []
        self._reading: list[ReadingNow] = []
        self._waiting: list[WaitingNow] = []
        self._begun: list[int] = []
        self._finished: list[Finished] = []
        self.totals = Totals()

    @property
    def has_news(self) -> bool:
        return bool(self._finished)

    def token(self, choice: Choice) -> None:
        self._tokens.append(TokenOut(choice.sequence.id, choice.token, choice.logprobs))
        self.totals.written += 1

    def counts(self, sequence: Sequence, hits: int, waited: float) -> None:
        """A request begins with `hits` tokens from the cache, after `waited` seconds; a warm-up does not count."""
        self.totals.prompt += sequence.prompt_length
        self.totals.reused += hits
        self.totals.queue_wait_ms += waited * 1000

    def reading(self, sequence: Sequence) -> None:
        total = len(sequence.tokens)
        self._reading.append(ReadingNow(sequence.id, sequence.evaluated, total, sequence.cached))

    def begins(self, sequence: Sequence) -> None:
        """A request has its slot, whether it waited for that or not."""
        if sequence.place:
            self._begun.append(sequence.id)
            sequence.place = 0

    def take_begun(self) -> tuple[int, ...]:
        """Those that were told to wait and have begun since the last call."""
        begun, self._begun = tuple(self._begun), []
        return begun

    def tell_waiting(self, waiting: Seq[Sequence]) -> None:
        """Tell each waiting request its place, where that changed."""
        for place, sequence in enumerate(waiting, start=1):
            if sequence.place != place:
                sequence.place = place
                self._waiting.append(WaitingNow(sequence.id, place))

    def finish(self, sequence: Sequence, reason: FinishReason, error: str) -> None:
        self._finished.append(Finished(sequence.id, reason, sequence.usage, error))

    def refuse(self, request_id: int, error: str) -> None:
        self._finished.append(Finished(request_id, FinishReason.ERROR, Usage(), error))

    def collect(self, counters: Counters) -> Step:
        step = Step(
            counters,
            tuple(self._tokens),
            tuple(self._reading),
            tuple(self._waiting),
            tuple(self._finished),
        )
        self._tokens, self._reading, self._waiting, self._finished = [], [], [], []
        return step
