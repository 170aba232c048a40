"""What the clients saw, reduced to numbers."""

import math

import pytest

from app.bench.client import Answer
from app.bench.lag import lags, stream_lags
from app.bench.outcome import Outcome
from app.bench.quantiles import median, quantile


def answer(
    times: list[float], *, began: float = 0.0, written: int = 3, finish: str = "length"
) -> Answer:
    made = Answer(3, began)
    made.times = times
    made.written, made.finish, made.prompt, made.cached = written, finish, 10, 4
    return made


def test_only_whole_answers_count() -> None:
    got = Outcome((answer([1, 2, 4]), answer([1, 2], written=2, finish="stop")), 4.0)
    assert len(got.whole) == 1
    assert (got.tokens_per_second, got.prompt, got.cached) == (0.75, 10, 4)
    assert (got.gap(0.5), got.gap(1.0)) == (2, 2)


def test_an_answer_that_never_came_is_late_for_ever() -> None:
    got = Outcome((answer([1, 2, 4]), answer([], finish="")), 4.0)
    assert (got.first(0.0), got.first(0.95)) == (1, math.inf)
    assert Outcome((), 1.0).first(0.5) == math.inf


def test_gaps_around_a_late_prompt() -> None:
    late = answer([12.0, 13.0, 14.0], began=5.0)
    got = Outcome((answer([1, 2, 3]), answer([4.0, 4.5, 9.0, 20.0, 50.0])), 20.0, late)
    assert got.usual_gap == 1.0
    assert got.late_gap == 11.0, "begun before its first text, ended after it"
    assert len(got.whole) == 3


def test_no_late_text_is_no_small_gap() -> None:
    assert Outcome((answer([1, 2, 3]),), 3.0, answer([], began=2.0)).late_gap == math.inf


def test_quantiles() -> None:
    assert quantile([3, 1, 2], 0.5) == 2
    assert quantile(range(100), 0.99) == 99
    assert quantile([], 0.5) == math.inf
    assert (median([4, 1]), median([])) == (2.5, math.inf)


def test_lags_pair_streams_and_sequences_by_their_first_token() -> None:
    outputs = {7: [1.0, 3.0, 5.0], 2: [2.0, 3.0, 4.0]}
    streams = [[2.5, 3.5, 4.5], [1.25, 3.25, 5.25]]
    assert sorted(lags(streams, outputs)) == [0.25, 0.25, 0.25, 0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("texts", "tokens", "found"),
    [
        ([1.5, 2.5, 3.5], [1.0, 2.0, 3.0], [0.5, 0.5, 0.5]),
        # More than a step late throughout: the second text is the second token, though the third was made by then.
        ([3.25, 4.25, 5.25], [1.0, 2.0, 3.0], [2.25, 2.25, 2.25]),
        # Two tokens in one text: both count, from when each was made.
        ([1.5, 3.5, 4.5], [1.0, 2.0, 3.0, 4.0], [0.5, 1.5, 0.5, 0.5]),
        ([1.5, 5.0], [1.0, 2.0, 3.0, 4.0], [0.5, 3.0, 2.0, 1.0]),
        # A text before its token: these two do not belong together.
        ([0.5, 2.5], [1.0, 2.0], []),
        ([1.5, 2.5], [1.0, 3.0], []),
        ([1.5, 1.6, 1.7], [1.0, 1.1], []),
        ([], [1.0], []),
    ],
)
def test_lags_of_a_stream(texts: list[float], tokens: list[float], found: list[float]) -> None:
    assert stream_lags(texts, tokens) == pytest.approx(found)


def test_streams_and_sequences_that_do_not_match_are_not_compared() -> None:
    assert lags([[1.5]], {0: [1.0], 1: [1.0]}) == []
    assert lags([], {0: [1.0]}) == []
