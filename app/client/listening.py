"""What goes on beside one answer of a local model while its events are told."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from app.chat.ports import Event, Request
from app.client.answer import Answer
from app.client.pair import Pair
from app.client.stream import EngineStream


@contextmanager
def listening(
    pair: Pair, stream: EngineStream, answer: Answer, request: Request
) -> Iterator[deque[Event]]:
    """The engine hears of every change of urgency; whatever ends it, it is told, and what was written is remembered.

    What it gives is for the events that are on their way: who ends the answer early gets them, and then what was held back.
    """
    untold: deque[Event] = deque()
    leave = request.urgency.watch(stream.set_priority)
    withdraw = request.withheld.offer(lambda: [*untold, *answer.rest()])
    try:
        yield untold
    finally:
        leave()
        withdraw()
        stream.close()
        if not answer.ended:
            pair.keep(answer, request.owner)


async def next_events(
    pair: Pair, stream: EngineStream, answer: Answer, request: Request
) -> list[Event]:
    """What is to be told next; the answer is remembered before its end is told, and the engine hears where it need not go on."""
    told = answer.feed(await stream.events())
    if answer.ended:
        pair.keep(answer, request.owner)
    if answer.stopped:
        stream.abort()
    return told
