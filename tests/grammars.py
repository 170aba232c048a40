"""Follow a grammar by hand: does it allow a text, and what are texts of it?"""

import json
from random import Random
from typing import Any

from app.grammar.matcher import DEAD, Matcher
from app.grammar.model import Form, Grammar, Kind
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


def written(grammar: Grammar, seed: int) -> bytes | None:
    """A text of the grammar, by chance; one that grows long is brought to its end.  None: it would not end."""
    random, matcher = Random(seed), Matcher(grammar)
    state, text = matcher.start, bytearray()
    while len(text) < _MOST:
        choices = [symbol for symbol, may in enumerate(matcher.following(state)) if may]
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
