"""How long after the step that made it a text reaches its client."""

from collections.abc import Mapping, Sequence


def lags(streams: Sequence[Sequence[float]], outputs: Mapping[int, Sequence[float]]) -> list[float]:
    """Seconds between each text of `streams` and the decode call that gave its token.

    The log knows sequence ids and the clients do not, so both are put in the order of their first token; streams that
    began in the same step went on together, so that it does not matter which is which.  A stream is compared where each
    of its tokens came as a text of its own (a character may take several tokens, and a text that was not fetched in
    time holds two).
    """
    made = sorted(outputs.values(), key=lambda times: times[0])
    heard = sorted(streams, key=lambda times: times[0])
    if len(made) != len(heard):
        return []
    return [
        came - step
        for times, steps in zip(heard, made, strict=True)
        if len(times) == len(steps)
        for came, step in zip(times, steps, strict=True)
    ]
