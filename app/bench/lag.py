"""How long after the step that made it a token reaches its client."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence


def lags(streams: Sequence[Sequence[float]], outputs: Mapping[int, Sequence[float]]) -> list[float]:
    """Seconds between the decode call that gave a token and the text that brought it, for every token.

    `streams` are when the texts of each answer came, `outputs` when each sequence got its tokens.  The log knows
    sequence ids and the clients do not, so both are put in the order of their first token; streams that began in the
    same step went on together, so that it does not matter which is which.  Empty where the two do not match.
    """
    made = sorted(outputs.values(), key=lambda times: times[0])
    heard = sorted(streams, key=lambda times: times[0])
    if len(made) != len(heard):
        return []
    return [
        lag for texts, tokens in zip(heard, made, strict=True) for lag in stream_lags(texts, tokens)
    ]


def stream_lags(texts: Sequence[float], tokens: Sequence[float]) -> list[float]:
    """The same for one stream.

    A text brings at least one token, and more where a character takes several or where it was fetched late.  Which
    ones is not told: each is taken to bring all that were made by then, as far as one is left for every later text.
    Empty where that cannot be.
    """
    last = len(tokens)
    ends: list[int] = []
    for came in reversed(texts):
        last = min(bisect_right(tokens, came), last) if ends else last
        ends.append(last)
        last -= 1
    ends.reverse()
    if not ends or ends[0] < 1 or tokens[-1] > texts[-1]:
        return []
    starts = [0, *ends[:-1]]
    return [
        came - made
        for came, start, end in zip(texts, starts, ends, strict=True)
        for made in tokens[start:end]
    ]
