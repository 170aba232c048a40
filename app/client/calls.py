"""The calls of one answer as the domain hears of them, each under an id of its own.  Pure."""

import uuid
from collections.abc import Iterable, Iterator

from app.chat.ports import CallArguments, CallBegun, CallBroken, CallEvent
from app.dialogue import ToolCall
from app.text.calls import reading
from app.text.calls.split import CallSplit
from app.text.thoughts import Part


class Calls:
    """Numbers what a `CallSplit` tells; `made` are the calls that are whole."""

    def __init__(self, split: CallSplit) -> None:
        self.made: list[ToolCall] = []
        self.broken = False
        self._split = split
        self._count = 0
        self._begun = CallBegun(0, "", "")
        self._arguments: list[str] = []

    @property
    def full(self) -> bool:
        """No more is wanted."""
        return self._split.full

    def feed(self, text: str) -> Iterator[Part | CallEvent]:
        """What is certain now."""
        return self._numbered(self._split.feed(text))

    def flush(self, *, cut: bool) -> Iterator[Part | CallEvent]:
        """The rest; `cut`: it was not the model that ended the answer."""
        return self._numbered(self._split.flush(cut=cut), cut=cut)

    def _numbered(
        self, told: Iterable[reading.Told], *, cut: bool = False
    ) -> Iterator[Part | CallEvent]:
        for one in told:
            match one:
                case Part():
                    yield one
                case reading.CallBegun():
                    self._begun = CallBegun(self._count, f"call_{uuid.uuid4().hex[:24]}", one.name)
                    self._count += 1
                    self._arguments.clear()
                    yield self._begun
                case reading.CallMore():
                    self._arguments.append(one.text)
                    yield CallArguments(self._begun.index, one.text, 0)
                case reading.CallBroken():
                    self.broken = True
                    yield CallBroken(self._begun.index, one.text, 0, cut)
                case reading.CallDone():
                    begun, arguments = self._begun, "".join(self._arguments)
                    self.made.append(ToolCall(begun.id, begun.name, arguments))
