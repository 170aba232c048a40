"""Prompts as token ids, for rows that need no text: made from a seed, the same each time."""

import random
from dataclasses import dataclass

Ids = tuple[int, ...]

_CONTROL = 64
"""The lowest ids, among which a vocabulary has its control tokens, are left out where it is large enough."""


def ids(seed: int, count: int, vocabulary: int) -> Ids:
    """`count` random tokens of a vocabulary."""
    lowest = _CONTROL if vocabulary > 2 * _CONTROL else 0
    choose = random.Random(seed).randrange
    return tuple(choose(lowest, vocabulary) for _ in range(count))


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt, and how many tokens are wanted."""

    prompt: Ids
    written: int


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request: `common` tokens that all of the kind begin with, `own` ones, `written` ones."""

    common: int
    own: int
    written: int


KINDS = (Kind(0, 24, 96), Kind(0, 400, 24), Kind(0, 40, 192), Kind(200, 20, 48))
"""A question, a document with a short answer, a long tale, a question under long instructions."""


def mixed(
    seed: int, requests: int, vocabulary: int, kinds: tuple[Kind, ...] = KINDS
) -> tuple[Ask, ...]:
    """Requests of different length and kind, in turn."""
    found = []
    for number in range(requests):
        kind = kinds[number % len(kinds)]
        common = ids(seed + number % len(kinds), kind.common, vocabulary)
        own = ids(seed * 31 + 1000 + number, kind.own, vocabulary)
        found.append(Ask(common + own, kind.written))
    return tuple(found)
