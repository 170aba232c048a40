"""A grammar tried out before the engine follows it: texts of it are written at random, and the work is counted."""

from itertools import compress
from random import Random

from app.errors import FormError
from app.grammar.matcher import DEAD, Matcher
from app.grammar.model import Grammar

MOST_WAYS = 256
"""Ways to go on that a good grammar may have at a time."""

_TEXTS = 6
_SYMBOLS = 100
_LOOKED_AT = 4
_MOST_EFFORT = 200_000
"""Stacks to work on for all of it: a fifth of a second."""


def try_out(grammar: Grammar) -> None:
    """Raises FormError where following the grammar would cost too much."""
    matcher = Matcher(grammar)
    for seed in range(_TEXTS):
        random = Random(seed)
        state = matcher.start
        for _ in range(_SYMBOLS):
            if state == DEAD or matcher.stacks(state) > MOST_WAYS or matcher.effort > _MOST_EFFORT:
                raise FormError(
                    "It is too ambiguous: the same text can go on in too many ways at once. Have alternatives begin "
                    "differently, and do not put repetitions directly into repetitions."
                )
            possible = matcher.following(state)
            choices = list(compress(range(len(possible)), possible))
            if not choices:
                break
            state = _next(matcher, state, choices, random, greedy=seed % 2 == 0)


def _next(matcher: Matcher, state: int, choices: list[int], random: Random, *, greedy: bool) -> int:
    """The state after a random symbol, or after the one of several that leaves most ways to go on."""
    picked = [random.choice(choices) for _ in range(_LOOKED_AT if greedy else 1)]
    reached = [matcher.advance(state, [symbol]) for symbol in picked]
    # A symbol that leads nowhere, although it is one that follows, leads to too many ways.
    return DEAD if DEAD in reached else max(reached, key=matcher.stacks)
