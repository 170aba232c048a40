"""What the readers of calls share: the text that has come, and small steps through it.

A reader is a generator: it yields what it can tell, and None where it needs more text.  So that any cut of the text gives
the same, a step looks at no more than it must and waits where the next characters could change what it does.  Pure.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.text.calls.json_scan import JsonScan
from app.text.calls.kinds import Kinds
from app.text.thoughts import Part, begun

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A call of the tool `name` begins."""

    name: str


@dataclass(frozen=True, slots=True)
class CallMore:
    """More of the arguments of the call that began last; all of them joined are the JSON of an object."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDone:
    """The call that began last is whole."""


@dataclass(frozen=True, slots=True)
class CallBroken:
    """The call that began last never becomes whole: it is no call, and `text` is what was written instead."""

    text: str


Told = Part | CallBegun | CallMore | CallDone | CallBroken
Reading = Generator[Told | None, None, T]


class NoCall(Exception):
    """What was read since the mark is no call."""


class Input:
    """The text that has come and is not read yet.  `ended`: no more will come; `cut`: because the answer was cut off.

    `opening` is what a call began with ("": the answer itself), `tools` are those that there are.
    """

    def __init__(self, tools: Kinds) -> None:
        self.tools = tools
        self.opening = ""
        self.held = ""
        self.ended = False
        self.cut = False
        self._taken: list[str] = []

    def take(self, count: int) -> str:
        """Read so many characters."""
        taken, self.held = self.held[:count], self.held[count:]
        self._taken.append(taken)
        return taken

    def mark(self) -> None:
        """From here on what is read may turn out to be no call."""
        self._taken.clear()

    @property
    def taken(self) -> str:
        """What was read since the mark."""
        return "".join(self._taken)


def space(source: Input) -> Reading[None]:
    """Read white space, up to something else or the end."""
    while True:
        source.take(len(source.held) - len(source.held.lstrip()))
        if source.held or source.ended:
            return
        yield None


def ahead(source: Input, texts: Sequence[str]) -> Reading[str]:
    """Which of these comes next, unread; "" for none.  Where one begins another, the longer one stands first."""
    while True:
        for text in texts:
            if source.held.startswith(text):
                return text
            if not source.ended and text.startswith(source.held):
                break
        else:
            return ""
        yield None


def accept(source: Input, texts: Sequence[str]) -> Reading[str]:
    """Read white space and, if it comes next, one of these; "" for none."""
    yield from space(source)
    found = yield from ahead(source, texts)
    source.take(len(found))
    return found


def until(source: Input, ends: Sequence[str], most: int) -> Reading[tuple[str, str]]:
    """Read up to the first of `ends`, which stays unread; raises NoCall where none comes within `most` characters."""
    while True:
        places = [(source.held.find(end), end) for end in ends]
        found = min(((at, end) for at, end in places if at >= 0), default=None)
        longest = max(begun(source.held, end) for end in ends)
        sure = len(source.held) if source.ended else len(source.held) - longest
        # An end that has only begun may stand before the one that is complete.
        if found is not None and found[0] <= min(sure, most):
            return source.take(found[0]), found[1]
        if source.ended or sure > most:
            raise NoCall
        yield None


def value(source: Input, *, tell: bool = False) -> Reading[str]:
    """Read one JSON value; told as more of the arguments while it comes, where `tell`."""
    scan = JsonScan()
    parts: list[str] = []
    while True:
        text, used = scan.feed(source.held)
        source.take(used)
        if scan.broken:
            raise NoCall
        if source.ended and not scan.done:
            scan.finish()
        if text:
            parts.append(text)
            if tell:
                yield CallMore(text)
        if scan.done:
            return "".join(parts)
        if source.ended:
            raise NoCall
        yield None
