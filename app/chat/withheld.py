"""What a generator holds back of an answer, for whoever ends it early: an iterator that is closed cannot yield it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.chat.ports import Event

Source = Callable[[], "Sequence[Event]"]


class Withheld:
    """The text of one request that is written and not told yet, for it may still become a stop string or a tag.

    Who serves the request `offer`s it while the answer is written; who asked may `take` it, and then closes the
    iterator without another look at it.  On the event loop.
    """

    def __init__(self) -> None:
        self._source: Source | None = None

    def offer(self, source: Source) -> Callable[[], None]:
        """Have `source` called when it is taken; the returned function ends that."""
        self._source = source

        def leave() -> None:
            if self._source is source:
                self._source = None

        return leave

    def take(self) -> "Sequence[Event]":
        """What would have been told if the answer had ended here, but for its `Ended`; at once, and once only."""
        source, self._source = self._source, None
        return source() if source is not None else ()
