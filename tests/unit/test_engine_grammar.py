"""An answer that has to keep a grammar, on the fake backend: what is chosen, how it ends, and what others notice."""

import json
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.constraint import MOST_AT_ONCE, MOST_EFFORT, Constraint
from app.engine.fake import END, PIECES, FakeBackend
from app.engine.lexicon import Lexicon
from app.grammar.model import Grammar
from app.sampling import Sampling
from app.wire import FinishReason, Submit
from tests.engine_run import GREEDY, Run, finish, make_run, request
from tests.grammars import any_object, gbnf, schema
from tests.json_schema import valid

WARM = Sampling(temperature=0.8, seed=5)
PENALISED = Sampling(temperature=0.8, presence_penalty=1.0, seed=5)
RECORD = {
    "type": "object",
    "properties": {
        "ab": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        "c": {"type": "string", "maxLength": 6},
        "d": {"enum": [True, None, "fe\u00e9d"]},
    },
    "required": ["ab", "c", "d"],
}


LIST = schema(RECORD)
FIGURES = gbnf("root ::= [0-9]+")


def asked(
    grammar: Grammar, sampling: Sampling = GREEDY, limit: int | None = 300, **more: int
) -> Submit:
    return Submit(1, (7, 8, 9), sampling, max_tokens=limit, grammar=grammar, **more)


def answered(submit: Submit) -> Run:
    run = make_run(FakeBackend(cells=400, batch=64))
    run.engine.submit(submit)
    finish(run)
    return run


def text(run: Run, request_id: int = 1) -> bytes:
    return b"".join(PIECES[token] for token in run.tokens.get(request_id, []))


@settings(max_examples=15)
@given(
    prompt=st.lists(st.integers(1, 63), min_size=1, max_size=9).map(tuple),
    sampling=st.sampled_from([GREEDY, WARM, PENALISED]),
    seed=st.integers(0, 99),
)
def test_an_answer_is_a_text_of_its_grammar(
    prompt: tuple[int, ...], sampling: Sampling, seed: int
) -> None:
    run = answered(replace(asked(LIST, replace(sampling, seed=seed)), tokens=prompt))
    assert run.ends[1].reason is FinishReason.STOP
    assert valid(json.loads(text(run)), RECORD)
    assert END not in run.tokens[1]


def test_what_is_allowed_is_chosen_as_without_a_grammar() -> None:
    """Nothing is refused here, so that nothing may change: no token, no random number."""
    everything = Grammar(rules=(((~0, 0), ()),), classes=(((0, 255),),))
    for sampling in (GREEDY, WARM, PENALISED):
        free = answered(replace(asked(everything, sampling, 60), grammar=None))
        bound = answered(asked(everything, sampling, 60))
        assert (bound.tokens, bound.finished) == (free.tokens, free.finished)


def test_an_answer_ends_where_its_grammar_does_without_another_step() -> None:
    run = answered(asked(gbnf('root ::= "abc"')))
    assert text(run) == b"abc"
    assert run.ends[1].reason is FinishReason.STOP
    assert run.steps[-1].counters.steps == len(run.tokens[1])


def test_an_end_is_only_an_end_where_the_grammar_may_end() -> None:
    """The best token of a fake is any; END is chosen after some figure, never before."""
    ended = {len(answered(replace(asked(FIGURES), tokens=(n, 3))).tokens[1]) for n in range(1, 40)}
    assert min(ended) >= 1
    assert len(ended) > 3


def test_an_answer_that_is_cut_is_cut() -> None:
    run = answered(asked(gbnf('root ::= "abcdef"'), limit=3))
    assert run.ends[1].reason is FinishReason.LENGTH
    assert text(run) == b"abcdef"[: len(text(run))]
    # What is complete with the last token that it may have is not cut.
    whole = answered(asked(gbnf('root ::= "cde"'), limit=3))
    assert whole.ends[1].reason is FinishReason.STOP


def test_a_dead_end_is_an_error_in_words_and_others_go_on() -> None:
    """No token of the fake writes a capital letter."""
    run = make_run(FakeBackend(cells=400, batch=64))
    run.engine.submit(asked(gbnf('root ::= "c" [0-9] "X"')))
    run.engine.submit(request(2, (4, 5), limit=20))
    finish(run)
    assert run.ends[1].reason is FinishReason.ERROR
    assert "no token of this model" in run.ends[1].error
    assert len(run.tokens[1]) == 2
    assert run.tokens[2] == alone(request(2, (4, 5), limit=20))


def alone(submit: Submit) -> list[int]:
    run = make_run(FakeBackend(cells=400, batch=64))
    run.engine.submit(submit)
    finish(run)
    return run.tokens[submit.request_id]


DOUBLING = Grammar(
    rules=(((~0, 0, ~1), (~0, 0, ~2), (~0, 0, ~3), (~1,)),),
    classes=tuple(((ord(sign), ord(sign)),) for sign in "abcd"),
)
"""Ways that treble with every letter; no text worker lets it pass."""


def test_a_grammar_that_explodes_does_not_get_far() -> None:
    """What would lead to too many ways counts as forbidden, so that this answer has to come to its end."""
    run = answered(asked(DOUBLING, limit=100))
    assert run.ends[1].reason is FinishReason.STOP
    assert text(run).count(b"a") < 7


def test_work_beyond_the_limit_of_one_choice_is_given_up() -> None:
    backend = FakeBackend()
    constraint = Constraint(DOUBLING, Lexicon(backend.piece, 64), frozenset([END]))
    constraint.begin_choice()
    assert constraint.take(PIECES.index(b"a"))
    constraint._matcher.most_effort = constraint._matcher.effort - 1
    assert constraint.allowed(range(64)) == []
    assert constraint.exhausted
    constraint.begin_choice()
    assert constraint.allowed(range(64))
    assert not constraint.exhausted


def test_a_forbidden_token_is_never_taken_in() -> None:
    backend = FakeBackend()
    grammar = gbnf('root ::= "{" [a\u00e9"]* "}"')
    lexicon = Lexicon(backend.piece, 64)
    allowed = Constraint(grammar, lexicon, frozenset([END])).allowed(range(64))
    for token in range(64):
        constraint = Constraint(grammar, lexicon, frozenset([END]))
        assert constraint.allows(token) is constraint.take(token) is (token in allowed)
    assert sorted(PIECES[token] for token in allowed) == [b"{", b'{"']


@pytest.mark.parametrize("cut", [1, 4, 9])
@pytest.mark.parametrize("sampling", [GREEDY, WARM, PENALISED])
def test_an_answer_goes_on_in_another_engine_as_if_it_had_never_been_cut(
    cut: int, sampling: Sampling
) -> None:
    whole = asked(LIST, sampling)
    expected = answered(whole).tokens[1]
    first = expected[:cut]
    rest = replace(whole, tokens=(*whole.tokens, *first), written=cut)
    assert first + answered(rest).tokens[1] == expected


def test_written_tokens_that_do_not_keep_the_grammar_end_in_an_error() -> None:
    run = answered(replace(asked(any_object()), tokens=(7, 8, 30), written=1))
    assert run.ends[1].reason is FinishReason.ERROR


AMBIGUOUS = gbnf('root ::= [ab]* "a" [ab]{200}')
"""A hundred ways at every letter, and nearly always a new state."""

LABORIOUS = Grammar(
    rules=(((1, 0, ~1), (~1,)), *(((number,),) for number in range(2, 3_000)), ((~0,),)),
    classes=(((ord(" "), ord(" ")),), ((ord("b"), ord("b")),)),
)
"""As many b as there were spaces; two spaces take more work than a choice may."""


def written(count: int) -> tuple[int, ...]:
    letters = [PIECES.index(b"a"), PIECES.index(b"b")]
    return tuple(Random(1).choices(letters, k=count))


def test_what_was_written_is_taken_in_bit_by_bit() -> None:
    lexicon = Lexicon(FakeBackend().piece, 64)
    constraint = Constraint(AMBIGUOUS, lexicon, frozenset([END]), written(3_000))
    matcher = constraint._matcher
    calls = 0
    while constraint.behind:
        before = matcher.effort
        constraint.catch_up()
        assert matcher.effort - before < 2 * MOST_EFFORT
        calls += 1
    assert calls > 10
    constraint.begin_choice()
    assert constraint.allows(PIECES.index(b"a"))
    assert not constraint.allows(PIECES.index(b"c"))
    assert not constraint.exhausted


def test_many_tokens_are_taken_in_bit_by_bit_however_little_work_they_are() -> None:
    token = PIECES.index(b"0")
    lexicon = Lexicon(FakeBackend().piece, 64)
    constraint = Constraint(FIGURES, lexicon, frozenset([END]), [token] * (MOST_AT_ONCE + 1))
    constraint.catch_up()
    assert constraint.behind
    constraint.catch_up()
    assert not constraint.behind
    assert constraint.allows(token)


def test_others_write_while_the_past_of_an_answer_is_taken_in() -> None:
    run = make_run(FakeBackend(cells=4_000, batch=512))
    past = written(3_000)
    run.engine.submit(replace(asked(AMBIGUOUS, limit=5), tokens=(7, *past), written=len(past)))
    run.engine.submit(request(2, (4, 5), limit=10))
    while 2 not in run.ends:
        run.step()
    assert 1 not in run.tokens
    finish(run)
    assert run.tokens[2] == alone(request(2, (4, 5), limit=10))
    assert set(text(run)) <= set(b"ab")
    assert run.ends[1].reason is not FinishReason.ERROR


def test_an_answer_whose_past_is_too_much_work_says_why_and_others_go_on() -> None:
    run = make_run(FakeBackend(cells=400, batch=64))
    past = (PIECES.index(b"  "),) * 50
    run.engine.submit(replace(asked(LABORIOUS), tokens=(7, *past), written=len(past)))
    run.engine.submit(request(2, (4, 5), limit=20))
    finish(run)
    assert run.ends[1].reason is FinishReason.ERROR
    assert "too ambiguous" in run.ends[1].error
    assert run.tokens[2] == alone(request(2, (4, 5), limit=20))


def test_a_parked_answer_keeps_its_grammar() -> None:
    """The pool holds one of them: they take turns in it."""
    run = make_run(FakeBackend(cells=64, batch=16), spill_bytes=0)
    grammar = gbnf("root ::= [a-z ]{45}")
    for number in range(3):
        tokens = tuple(range(1 + number, 12 + number))
        run.engine.submit(Submit(number, tokens, WARM, grammar=grammar))
    finish(run)
    assert run.steps[-1].counters.parked
    for number in range(3):
        assert run.ends[number].reason is FinishReason.STOP
        assert len(text(run, number)) == 45


def test_all_tokens_are_learned_bit_by_bit() -> None:
    asked_for: list[int] = []

    def piece(token: int) -> bytes:
        asked_for.append(token)
        return b"" if token == 3 else bytes([token % 7 + 97])

    lexicon = Lexicon(piece, 5_000)
    lexicon.learn()
    assert 0 < len(asked_for) < 5_000
    assert lexicon.piece(4_999) == bytes([4_999 % 7 + 97])
    found = lexicon.beginning(b"a")
    assert found.tolist() == list(range(0, 5_000, 7))
    assert sorted(asked_for) == list(range(5_000)), "each is asked for once"
    assert 3 not in lexicon.beginning(range(256))
