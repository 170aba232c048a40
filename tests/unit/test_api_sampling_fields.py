"""What a request may say of the sampling, field by field, and what stays the model's to choose."""

import json
from typing import Any

import pytest

from app.api.sampling_fields import MOST_LOGPROBS
from app.api.schema import parse_chat
from app.chat.ports import Request
from app.errors import RequestError
from app.sampling import FIELDS, LIMITS, Sampling

HI = [{"role": "user", "content": "hi"}]


def asked(**fields: Any) -> Request:
    return parse_chat(json.dumps({"messages": HI, **fields}).encode()).request


def refused(**fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        asked(**fields)
    assert caught.value.status == 400
    assert caught.value.param is not None
    assert caught.value.param in caught.value.what
    return caught.value


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_arrives_and_is_not_open_any_more(name: str) -> None:
    for edge in LIMITS[name]:
        request = asked(**{name: edge})
        assert getattr(request.sampling, name) == edge
        assert request.sampling_open == frozenset(FIELDS) - {name}


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_outside_is_refused_by_name(name: str) -> None:
    low, high = LIMITS[name]
    for wrong in (low - 1, high + 1, "x", [], True):
        assert refused(**{name: wrong}).param == name
    for literal in ("NaN", "Infinity", "-Infinity", "1e400", "9" * 5000):
        with pytest.raises(RequestError) as caught:
            parse_chat(f'{{"messages":{json.dumps(HI)},"{name}":{literal}}}'.encode())
        assert caught.value.param == name


def test_nothing_given_leaves_all_open_and_null_gives_nothing() -> None:
    assert asked().sampling == Sampling()
    assert asked().sampling_open == frozenset(FIELDS)
    assert asked(temperature=None, logit_bias=None, mirostat=None) == asked()
    assert asked(temperature=0.8).sampling_open == frozenset(FIELDS) - {"temperature"}, (
        "a value that is asked for counts, whatever it would be else"
    )


def test_lists() -> None:
    request = asked(logit_bias={"15": -100, "3": 1.5}, dry_sequence_breakers=["\n", "User:"])
    assert request.sampling.logit_bias == ((3, 1.5), (15, -100.0))
    assert request.sampling.dry_sequence_breakers == ("\n", "User:")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"logit_bias": {"x": 1}}, "logit_bias.x"),
        ({"logit_bias": {"1": 101}}, "logit_bias.1"),
        ({"logit_bias": "1"}, "logit_bias"),
        ({"dry_sequence_breakers": ["a", ""]}, "dry_sequence_breakers[1]"),
        ({"dry_sequence_breakers": ["a" * 100_000]}, "dry_sequence_breakers[0]"),
        ({"dry_sequence_breakers": ["a"] * 100_000}, "dry_sequence_breakers"),
        ({"mirostat": 3}, "mirostat"),
        ({"logprobs": 1}, "logprobs"),
        ({"logprobs": True, "top_logprobs": MOST_LOGPROBS + 1}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
        ({"top_logprobs": 1}, "top_logprobs"),
        ({"logprobs": False, "top_logprobs": 1}, "top_logprobs"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], param: str) -> None:
    assert refused(**fields).param == param


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({}, None),
        ({"logprobs": False}, None),
        ({"logprobs": False, "top_logprobs": 0}, None),
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": MOST_LOGPROBS}, MOST_LOGPROBS),
    ],
)
def test_log_probabilities_are_asked_for(fields: dict[str, Any], most: int | None) -> None:
    assert asked(**fields).top_logprobs == most
