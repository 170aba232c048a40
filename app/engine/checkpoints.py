"""Which places of a chat are kept as checkpoints, where a memory can only be entered there; pure."""

from collections.abc import Sequence

MOST = 24
"""Places kept of one chat."""

_FINEST = 0.01
_COARSER = 1.5


def thinned(places: Sequence[int], most: int) -> list[int]:
    """At most `most` (3 or more) of these ascending places: the first, the last, and the farther back the sparser.

    The first is the end of the system prompt, which every other chat may begin with; what is asked again or edited
    is mostly near the end.
    """
    if len(places) <= most:
        return list(places)
    end, ratio = places[-1], _FINEST
    while True:
        kept = [end]
        for place in reversed(places[1:-1]):
            if kept[-1] - place >= ratio * (end - place):
                kept.append(place)
        if len(kept) < most:
            return [places[0], *reversed(kept)]
        ratio *= _COARSER
