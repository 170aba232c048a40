"""Numbers between two limits, as rules over their digits."""

import math
from dataclasses import dataclass

from app.errors import FormError
from app.text.grammar.builder import Row
from app.text.grammar.json_rules import JsonRules

_DIGITS = 15
"""Of a whole number: all of these are exact in every reader."""
_LARGEST = 10**_DIGITS - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit.  With `above` and `below` the limit itself is not within."""

    low: float | None = None
    high: float | None = None
    above: bool = False
    below: bool = False


def integer(rules: JsonRules, limits: Limits) -> int:
    """A whole number within the limits; raises FormError where there is none."""
    low, high = -_LARGEST, _LARGEST
    if limits.low is not None:
        low = max(low, math.floor(limits.low) + 1 if limits.above else math.ceil(limits.low))
    if limits.high is not None:
        high = min(high, math.ceil(limits.high) - 1 if limits.below else math.floor(limits.high))
    rows = _whole(rules, low, high)
    if not rows:
        raise FormError("No whole number of at most 15 digits lies within 'minimum' and 'maximum'.")
    return rules.builder.choice("integer", *rows)


def number(rules: JsonRules, limits: Limits) -> int:
    """A number within the limits: written without exponent, and beginning with a whole number that lies within them."""
    low = -_LARGEST if limits.low is None else limits.low
    high = _LARGEST if limits.high is None else limits.high
    positive = _upwards(rules, low, high, limits.above, limits.below)
    minus = rules.builder.text("-")
    negative = [minus + row for row in _upwards(rules, -high, -low, limits.below, limits.above)]
    if not positive + negative:
        raise FormError(
            "'minimum' and 'maximum' lie too close together; there must be a whole number within."
        )
    return rules.builder.choice("number", *positive, *negative)


def _upwards(rules: JsonRules, low: float, high: float, above: bool, below: bool) -> list[Row]:
    """What is not negative, without a sign: whole numbers with any fraction while the next one is within too."""
    first = max(0, min(math.ceil(low), _LARGEST + 1))
    last = min(math.floor(high), _LARGEST)
    if last < first:
        return []
    open_low = above and first == low
    open_high = below and last == high
    rows: list[Row] = []
    build = rules.builder
    if open_low and first < last:
        rows.append((*build.text(str(first)), _fraction(rules, first, nought=False)))
    begin = first + 1 if open_low else first
    # Right below a limit that must not be reached, a long fraction could be rounded to it.
    free = last - 1 if open_high else last
    rows += [(*row, rules.fraction) for row in between(rules, begin, free - 1)]
    if open_high and begin < last:
        rows.append((*build.text(str(last - 1)), _fraction(rules, last, nought=True)))
    if not open_high and not (open_low and first == last):
        rows.append(build.text(str(last)))
    return rows


def _fraction(rules: JsonRules, whole: int, *, nought: bool) -> int:
    """A fraction with no more figures than readers tell apart beside `whole`; without `nought` it is not 0."""
    build = rules.builder
    figures = max(1, _DIGITS - len(str(whole)))
    point = build.text(".")
    if nought:
        return build.choice(
            "number", (), point + build.repeat((rules.digit,), 1, figures, "number")
        )
    noughts = build.repeat(build.text("0"), 0, figures - 1, "number")
    return build.choice("number", (*point, *noughts, build.characters([(49, 57)])))


def _whole(rules: JsonRules, low: int, high: int) -> list[Row]:
    rows = between(rules, max(low, 0), high)
    minus = rules.builder.text("-")
    return rows + [minus + row for row in between(rules, max(1, -high), -low)]


def between(rules: JsonRules, low: int, high: int) -> list[Row]:
    """The figures of all whole numbers from `low` (0 or more) to `high`."""
    rows: list[Row] = []
    while low <= high:
        top = min(high, 10 ** len(str(low)) - 1)
        rows += _same_length(rules, str(low), str(top))
        low = top + 1
    return rows


def _same_length(rules: JsonRules, low: str, high: str) -> list[Row]:
    build = rules.builder
    if not low:
        return [()]
    rest = len(low) - 1
    if low[1:] == "0" * rest and high[1:] == "9" * rest:
        return [(build.characters([(ord(low[0]), ord(high[0]))]), *(rules.digit,) * rest)]
    if low[0] == high[0]:
        head = build.text(low[0])
        return [head + row for row in _same_length(rules, low[1:], high[1:])]
    rows = [build.text(low[0]) + row for row in _same_length(rules, low[1:], "9" * rest)]
    inner = (ord(low[0]) + 1, ord(high[0]) - 1)
    if inner[0] <= inner[1]:
        rows.append((build.characters([inner]), *(rules.digit,) * rest))
    return rows + [build.text(high[0]) + row for row in _same_length(rules, "0" * rest, high[1:])]
