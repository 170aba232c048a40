"""Which values a sampling can have, where they come from, and what they amount to."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sampling import (
    FIELDS,
    LIMITS,
    MOST_BIASES,
    MOST_BREAKER_BYTES,
    MOST_BREAKERS,
    Sampling,
    Wrong,
    checked,
    fill,
    foreign_bias,
    taking,
    untouched,
)

LISTS = {"dry_sequence_breakers", "logit_bias"}


def test_every_number_has_limits_and_its_default_lies_in_them() -> None:
    assert {*LIMITS, *LISTS} == {*FIELDS}
    for name in FIELDS:
        default = getattr(Sampling(), name)
        assert checked(name, default) == default


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_is_good_up_to_both_its_limits(name: str) -> None:
    low, high = LIMITS[name]
    for edge in (low, high):
        assert checked(name, edge) == edge
    for wrong in (low - 1, high + 1, math.nan, math.inf, -math.inf, 10**400, True, "1", [], {}):
        found = checked(name, wrong)
        assert isinstance(found, Wrong), wrong
        assert found.must.endswith(f"from {low:g} to {high:.0f}" if high > 1e5 else f" to {high:g}")
    if isinstance(getattr(Sampling(), name), float):
        assert isinstance(checked(name, int(high)), float)
    else:
        assert isinstance(checked(name, 0.5), Wrong)


def test_only_the_seed_may_be_none() -> None:
    assert checked("seed", None) is None
    for name in FIELDS:
        assert name == "seed" or isinstance(checked(name, None), Wrong)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ()),
        ({"7": 1, "3": -100}, ((3, -100.0), (7, 1.0))),
        ([[7, 1], [3, 100]], ((3, 100.0), (7, 1.0))),
        ((), ()),
    ],
)
def test_biases_are_by_token(given: object, expected: object) -> None:
    assert checked("logit_bias", given) == expected


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"5": 100.5}, ".5"),
        ({"5": math.nan}, ".5"),
        ({"5": True}, ".5"),
        ({"5": None}, ".5"),
        ({"-5": 1}, ".-5"),
        ({"five": 1}, ".five"),
        ({"٣": 1}, ".٣"),
        ({"99999999999": 1}, ".99999999999"),
        ([[True, 1]], "[0]"),
        ([[1, 1], [2.0, 1]], "[1]"),
        ([[1, 2, 3]], ""),
        ("5", ""),
        ({str(token): 1 for token in range(MOST_BIASES + 1)}, ""),
    ],
)
def test_a_wrong_bias_is_named(given: object, place: str) -> None:
    found = checked("logit_bias", given)
    assert isinstance(found, Wrong)
    assert found.place == place
    assert found.must


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (["a", ""], "[1]"),
        (["é" * 21], "[0]"),
        ([5], "[0]"),
        ("\n", ""),
        (["x"] * (MOST_BREAKERS + 1), ""),
    ],
)
def test_a_wrong_breaker_is_named(given: object, place: str) -> None:
    found = checked("dry_sequence_breakers", given)
    assert isinstance(found, Wrong)
    assert found.place == place


def test_breakers_may_be_none_at_all_or_long() -> None:
    longest = "x" * MOST_BREAKER_BYTES
    assert checked("dry_sequence_breakers", []) == ()
    assert checked("dry_sequence_breakers", [longest, "\ud83d"]) == (longest, "\ud83d")


_samplings = st.builds(
    Sampling,
    temperature=st.floats(0, 5),
    mirostat=st.integers(0, 2),
    dry_sequence_breakers=st.lists(st.text('a\n"\\ é', min_size=1, max_size=3), max_size=3).map(
        tuple
    ),
    logit_bias=st.dictionaries(st.integers(0, 99), st.floats(-100, 100), max_size=3).map(
        lambda found: tuple(sorted(found.items()))
    ),
    seed=st.none() | st.integers(0, 2**32 - 1),
)


@given(_samplings)
def test_what_is_written_as_json_is_read_again(sampling: Sampling) -> None:
    raw = json.loads(json.dumps(asdict(sampling)))
    assert fill(Sampling(), raw) == (sampling, [])


def test_wrong_values_are_passed_over_one_by_one() -> None:
    raw: dict[str, Any] = {"top_k": 3, "top_p": "x", "logit_bias": {"a": 1}, "invented": 1}
    assert fill(Sampling(), raw) == (Sampling(top_k=3), ["top_p", "logit_bias"])


def test_recommended_values_take_the_places_that_are_free() -> None:
    own = Sampling(temperature=0.3)
    assert untouched(own) == frozenset(FIELDS) - {"temperature"}
    recommended = (("temperature", 0.6), ("top_k", 20))
    assert taking(own, recommended, untouched(own)) == replace(own, top_k=20)
    assert taking(own, recommended, ()) == own


def test_a_bias_for_a_token_that_the_model_does_not_have_is_told() -> None:
    assert foreign_bias(Sampling(logit_bias=((0, 1.0), (99, 1.0))), 100) == ""
    words = foreign_bias(Sampling(logit_bias=((0, 1.0), (100, 1.0))), 100)
    assert words == "'logit_bias' names token 100, but this model's tokens are 0 to 99."


@pytest.mark.parametrize(
    ("changes", "plain"),
    [
        ({}, True),
        ({"top_k": 3, "typical_p": 0.2, "xtc_probability": 1.0, "mirostat": 2}, True),
        ({"temperature": 0.1}, False),
        ({"repeat_penalty": 1.1}, False),
        ({"presence_penalty": 0.1}, False),
        ({"frequency_penalty": -0.1}, False),
        ({"frequency_penalty": -0.1, "repeat_last_n": 0}, True),
        ({"dry_multiplier": 0.8}, False),
        ({"dry_multiplier": 0.8, "dry_penalty_last_n": 0}, True),
        ({"logit_bias": ((1, 1.0),)}, False),
    ],
)
def test_plain_is_what_takes_the_likeliest_token_as_it_is(
    changes: dict[str, Any], plain: bool
) -> None:
    assert replace(Sampling(temperature=0), **changes).plain is plain
