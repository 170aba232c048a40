"""What follows a grammar: the states, and what they may cost."""

import tracemalloc
from random import Random

import pytest

from app.grammar.matcher import DEAD, MOST_STACKS, Matcher
from app.grammar.model import BYTES, MARKS, Grammar
from tests.grammars import any_object, gbnf, keeps

BRACKETS = Grammar(rules=(((~0, 0, ~1), ()),), classes=(((91, 91),), ((93, 93),)))
"""Lists within each other: `root ::= "[" root "]" | ""`."""


def test_a_text_is_kept_symbol_by_symbol() -> None:
    matcher = Matcher(BRACKETS)
    state = matcher.start
    assert matcher.may_end(state)
    assert not matcher.is_over(state)
    state = matcher.advance(state, b"[[]")
    assert not matcher.may_end(state)
    assert [chr(symbol) for symbol, may in enumerate(matcher.following(state)) if may] == ["]"]
    state = matcher.advance(state, b"]")
    assert matcher.is_over(state)
    assert matcher.advance(state, b"]") == DEAD
    assert matcher.advance(matcher.start, b"[[)") == DEAD


def test_a_symbol_that_stands_for_a_token_is_no_byte() -> None:
    grammar = Grammar(rules=(((~0,),),), classes=(((MARKS, MARKS),),), marks=(7,))
    matcher = Matcher(grammar)
    assert matcher.is_over(matcher.advance(matcher.start, [MARKS]))
    assert not any(matcher.following(matcher.start)[:BYTES])


def test_states_are_found_again_instead_of_made_anew() -> None:
    matcher = Matcher(any_object())
    state = matcher.advance(matcher.start, b'{"a')
    once = matcher.advance(state, b"bcd")
    effort = matcher.effort
    assert matcher.advance(once, b"bcd" * 1_000) == once
    assert matcher.effort == effort


def test_an_answer_without_end_needs_no_memory_without_end() -> None:
    """Each depth is a state of its own; the states are forgotten now and then, but not the one that counts."""
    matcher = Matcher(BRACKETS)
    state, depth, compacted = matcher.start, 60_000, 0
    for _ in range(depth):
        state = matcher.advance(state, b"[")
        after = matcher.compact(state)
        compacted += after != state
        state = after
    assert compacted
    assert len(matcher._top) < 2 * depth
    assert matcher.is_over(matcher.advance(state, b"]" * depth))
    assert matcher.advance(state, b"]" * (depth + 1)) == DEAD


def test_states_of_many_ways_need_no_more_memory_than_others() -> None:
    """Nearly every state is a new one, of a hundred ways to go on."""
    grammar, random = gbnf('root ::= [ab]* "a" [ab]{200}'), Random(1)
    tracemalloc.start()
    try:
        matcher = Matcher(grammar)
        state, compacted = matcher.start, 0
        for _ in range(4_000):
            state = matcher.advance(state, random.choice((b"a", b"b")))
            ways = matcher.stacks(state)
            after = matcher.compact(state)
            assert ways > 1
            assert matcher.stacks(after) == ways
            compacted += after != state
            state = after
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10_000_000
    assert compacted


def test_ways_that_double_with_every_symbol_end_instead_of_exploding() -> None:
    """2 to the 40th ways to read 40 letters: the letter that makes too many of them is refused."""
    rules = (((~0, 0, ~1), (~0, 0, ~2), (~3,)),)
    classes = tuple(((code, code),) for code in b"abcd")
    matcher = Matcher(Grammar(rules, classes))
    state, letters = matcher.start, 0
    while (after := matcher.advance(state, b"a")) != DEAD:
        state, letters = after, letters + 1
        assert matcher.stacks(state) <= MOST_STACKS
    assert letters < 12
    assert matcher.effort < 20 * MOST_STACKS
    assert matcher.advance(matcher.start, b"a" * 100) == DEAD


def test_ways_through_nothing_do_not_explode() -> None:
    rules = tuple(((n + 1, n + 1, ~0), ()) if n < 40 else ((),) for n in range(41))
    matcher = Matcher(Grammar(rules, (((97, 97),),)))
    assert matcher.start == DEAD
    assert matcher.effort < 40 * MOST_STACKS


@pytest.mark.parametrize("sign", ["\u00e9", "\u4f60", "\U0001f600", "\ud7ff", "\ue000"])
def test_characters_are_their_bytes(sign: str) -> None:
    code = f"\\U{ord(sign):08X}"
    for grammar, others in (
        (gbnf(f"root ::= [{code}]"), False),
        (gbnf("root ::= ."), True),
        (gbnf(f"root ::= [a-{code}{chr(0x10FFFF)}]"), True),
    ):
        data = sign.encode()
        assert keeps(grammar, data)
        assert not keeps(grammar, data[:-1])
        assert not keeps(grammar, data[:-1] + bytes([data[-1] ^ 0x40]))
        assert keeps(grammar, chr(ord(sign) - 1) if sign != "\ue000" else "b") is others
    assert not keeps(gbnf(f"root ::= [^{code}]"), sign)


@pytest.mark.parametrize(
    "data", [b"\x00", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\x80"]
)
def test_no_character_is_no_character(data: bytes) -> None:
    assert not keeps(gbnf("root ::= ."), data)
    assert not keeps(gbnf("root ::= [^a]"), data)
