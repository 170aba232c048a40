"""The other chat: it answers all the time, and whatever is done beside it, it writes what it would write alone.

Of each of its steps it is kept how long the engine took for it (`steps`; those in which it did nothing else are its `own`
besides), and how long after the one before it was heard (`gaps`), in seconds.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.chat.models import ChatMessage, FinishReason, Role, Sampling
from app.chat.ports import Ended, Request, Text
from app.client.local import LocalModel
from app.wire import Step, Submit
from tests.scripted_children import begin
from tests.soak.house import House

_OWNER = 999_999
_QUESTION = "Tell me of the sea, and of the ships on it, until I say stop."
ANSWER_TOKENS = 250


@dataclass
class Times:
    """Of the steps of one stretch of time."""

    steps: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)


class Witness:
    """A chat on `model`, whose engine lives in `house`; `letters`: each of its tokens is one character."""

    def __init__(self, model: LocalModel, house: House, *, letters: bool = True) -> None:
        self._letters = letters
        self._model = model
        self.times = Times()
        self.answers: list[tuple[Submit, str]] = []
        self.faults: list[str] = []
        self._submit: Submit | None = None
        self._heard_at: float | None = None
        house.on_submit = self._submitted
        house.on_step = self._stepped

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """One answer after the other, while the block runs."""
        task = begin(self._always())
        try:
            yield
        finally:
            task.cancel()

    def take_times(self) -> Times:
        """Those since the last call."""
        times, self.times = self.times, Times()
        return times

    async def answer(self) -> None:
        """One answer, to its end."""
        self._heard_at = None
        text, ended = "", None
        request = Request(
            (ChatMessage(Role.USER, _QUESTION),),
            sampling=Sampling(temperature=0),
            max_tokens=ANSWER_TOKENS,
            owner=_OWNER,
        )
        async for event in self._model.generate(request):
            if isinstance(event, Text):
                text += event.text
            elif isinstance(event, Ended):
                ended = event
        whole = len(text) == ANSWER_TOKENS or not self._letters
        if ended is None or ended.reason is not FinishReason.LENGTH or not whole:
            self.faults.append(f"the other chat was disturbed: {ended}, {len(text)} characters")
        elif self._submit is not None:
            self.answers.append((self._submit, text))

    async def _always(self) -> None:
        while True:
            await self.answer()

    def _submitted(self, submit: Submit) -> None:
        # What goes on after a death has something written already.
        if submit.owner == _OWNER and not submit.written:
            self._submit = submit

    def _stepped(self, step: Step) -> None:
        if self._submit is None:
            return
        if not any(token.request_id == self._submit.request_id for token in step.tokens):
            return
        now = asyncio.get_running_loop().time()
        counters = step.counters
        self.times.steps.append(counters.step_ms / 1e3)
        if counters.rows == 1 and not counters.chunk:
            self.times.own.append(counters.step_ms / 1e3)
        if self._heard_at is not None:
            self.times.gaps.append(now - self._heard_at)
        self._heard_at = now
