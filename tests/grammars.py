"""Follow a grammar by hand: does it allow a text, and what are texts of it?"""

import json
from functools import lru_cache
from itertools import compress
from random import Random
from typing import Any

from app.grammar.matcher import DEAD, Matcher
from app.grammar.model import MARKS, OTHER, Form, Grammar, Kind
from app.text.grammar.forms import grammar_of

_CLOSING = frozenset(b'"}]')
_PATIENCE = 60
_MOST = 4_000


def gbnf(source: str) -> Grammar:
    return grammar_of(Form(Kind.GBNF, source, "grammar"))


def schema(value: Any) -> Grammar:
    return grammar_of(Form(Kind.SCHEMA, json.dumps(value), "schema"))


def any_object() -> Grammar:
    return grammar_of(Form(Kind.JSON))


def keeps(grammar: Grammar, text: str | bytes) -> bool:
    """Whether the grammar allows exactly this text."""
    matcher = Matcher(grammar)
    data = text.encode() if isinstance(text, str) else text
    state = matcher.advance(matcher.start, data)
    return state != DEAD and matcher.may_end(state)


def begins(grammar: Grammar, text: str) -> bool:
    """Whether some text of the grammar begins like this."""
    matcher = Matcher(grammar)
    return matcher.advance(matcher.start, text.encode()) != DEAD


def derived(grammar: Grammar, seed: int, budget: int = 60) -> list[int]:
    """The symbols of a text of the grammar, by chance; beyond `budget` symbols it takes the shortest way to its end."""
    random, costs = Random(seed), _costs(grammar)
    todo, made = [0], []
    while todo:
        item = todo.pop()
        if item < 0:
            made.append(_symbol(grammar, item, random))
            continue
        rows = grammar.rules[item]
        if len(made) + len(todo) > budget:
            row = min(rows, key=lambda row: sum(_cost(costs, one) for one in row))
        elif any(_is_free(grammar, row) for row in rows) and random.random() < 0.9:
            # Mostly on to what is awaited in free text, which chance alone would hardly find.
            row = random.choice([row for row in rows if row and not _is_free(grammar, row)])
        else:
            row = random.choice(rows)
        todo += reversed(row)
    return made


def _is_free(grammar: Grammar, row: tuple[int, ...]) -> bool:
    """Whether any control token may come here."""
    item = row[0] if row else 0
    return item < 0 and any(low <= OTHER <= high for low, high in grammar.classes[~item])


@lru_cache(maxsize=4)
def _costs(grammar: Grammar) -> list[float]:
    """The least number of symbols that each rule comes to, and a little for each step on the way there."""
    costs = [float("inf")] * len(grammar.rules)
    changed = True
    while changed:
        changed = False
        # What a rule is made of mostly has a larger number.
        for number, rows in reversed([*enumerate(grammar.rules)]):
            least = min(sum(_cost(costs, one) for one in row) for row in rows) + 0.01
            if least < costs[number] - 1e-9:
                costs[number], changed = least, True
    return costs


def _cost(costs: list[float], item: int) -> float:
    return 1.0 if item < 0 else costs[item]


def _symbol(grammar: Grammar, item: int, random: Random) -> int:
    """One of a class; of bytes rather a letter or a sign."""
    last = MARKS + len(grammar.marks) - 1
    ranges = [(low, min(high, last)) for low, high in grammar.classes[~item] if low <= last]
    plain = [(max(low, 32), min(high, 126)) for low, high in ranges if low <= 126 and high >= 32]
    low, high = random.choice(plain if plain and random.random() < 0.9 else ranges)
    return random.randint(low, high)


def written(grammar: Grammar, seed: int) -> bytes | None:
    """A text of the grammar, by chance; one that grows long is brought to its end.  None: it would not end."""
    random, matcher = Random(seed), Matcher(grammar)
    state, text = matcher.start, bytearray()
    while len(text) < _MOST:
        may = matcher.following(state)
        choices = list(compress(range(len(may)), may))
        if matcher.may_end(state) and (not choices or random.random() < 0.3):
            return bytes(text)
        assert choices, "a dead end"
        ends = [symbol for symbol in choices if symbol in _CLOSING]
        if ends and (len(text) > _PATIENCE or random.random() < 0.3):
            choices = ends
        text.append(random.choice(choices))
        state = matcher.advance(state, text[-1:])
        assert state != DEAD, "a symbol that was said to follow leads nowhere"
    return None
