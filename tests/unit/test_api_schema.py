import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.api.schema import ChatBody, parse_chat
from app.chat.models import ChatMessage, Role, Sampling
from app.errors import RequestError

HI = [{"role": "user", "content": "hi"}]


def parsed(**fields: Any) -> ChatBody:
    return parse_chat(json.dumps({"messages": HI, **fields}).encode())


def test_a_bare_request_has_the_servers_own_values() -> None:
    body = parsed()
    assert body.request.messages == (ChatMessage(Role.USER, "hi"),)
    assert body.request.sampling == Sampling()
    assert body.request.max_tokens is None
    assert (body.model, body.stream, body.include_usage) == (None, False, False)


def test_every_field_arrives() -> None:
    body = parsed(
        model="m",
        temperature=0,
        top_p=0.5,
        top_k=3,
        min_p=0.1,
        repeat_penalty=1.1,
        presence_penalty=-1,
        seed=7,
        max_tokens=9,
        stop="END",
        stream=True,
        ignore_eos=True,
        stream_options={"include_usage": True},
    )
    assert body.request.sampling == Sampling(
        temperature=0.0,
        top_k=3,
        top_p=0.5,
        min_p=0.1,
        repeat_penalty=1.1,
        presence_penalty=-1.0,
        seed=7,
    )
    assert (body.request.max_tokens, body.request.stop, body.request.ignore_eos) == (
        9,
        ("END",),
        True,
    )
    assert (body.model, body.stream, body.include_usage) == ("m", True, True)


@pytest.mark.parametrize(
    ("fields", "thinking", "effort"),
    [
        ({}, None, ""),
        ({"reasoning_effort": "low"}, None, "low"),
        ({"reasoning_effort": "none"}, False, ""),
        ({"chat_template_kwargs": {"enable_thinking": False}}, False, ""),
        ({"chat_template_kwargs": {}, "reasoning_effort": None}, None, ""),
    ],
)
def test_reasoning_can_be_asked_for(
    fields: dict[str, Any], thinking: bool | None, effort: str
) -> None:
    request = parsed(**fields).request
    assert (request.thinking, request.effort) == (thinking, effort)


def test_roles_and_parts() -> None:
    body = parsed(
        messages=[
            {"role": "developer", "content": "be brief"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
            {"role": "assistant", "content": "", "tool_calls": []},
        ]
    )
    assert body.request.messages == (
        ChatMessage(Role.SYSTEM, "be brief"),
        ChatMessage(Role.USER, "a\nb"),
        ChatMessage(Role.ASSISTANT, ""),
    )


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"max_completion_tokens": 5}, 5),
        ({"max_completion_tokens": 5, "max_tokens": 50}, 5),
        ({"max_completion_tokens": 50, "max_tokens": 5}, 5),
        ({"max_tokens": 100_000}, 100_000),
    ],
)
def test_both_names_of_the_token_limit_are_kept(fields: dict[str, int], limit: int) -> None:
    assert parsed(**fields).request.max_tokens == limit


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages[0].content[0].text",
        ),
        ({"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"stop": ["a"] * 17}, "stop"),
        ({"stop": ["a", ""]}, "stop[1]"),
        ({"stop": ""}, "stop[0]"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"max_completion_tokens": 0}, "max_completion_tokens"),
        ({"top_k": 1.5}, "top_k"),
        ({"ignore_eos": "no"}, "ignore_eos"),
        ({"audio": {}}, "audio"),
        ({"reasoning_effort": "extreme"}, "reasoning_effort"),
        ({"chat_template_kwargs": []}, "chat_template_kwargs"),
        (
            {"chat_template_kwargs": {"enable_thinking": "no"}},
            "chat_template_kwargs.enable_thinking",
        ),
        ({"chat_template_kwargs": {"date": 1}}, "chat_template_kwargs.date"),
        (
            {"messages": [{"role": "assistant", "content": "", "reasoning_content": 1}]},
            "messages[0].reasoning_content",
        ),
        ({"top_logprobs": 2}, "top_logprobs"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        parsed(**fields)
    assert caught.value.param == param
    assert param in caught.value.what
    assert caught.value.status == 400


def test_what_asks_for_nothing_is_accepted_and_invented_fields_are_ignored() -> None:
    body = parsed(
        n=1,
        tools=[],
        tool_choice="auto",
        response_format={"type": "text"},
        logprobs=False,
        user="u",
        store=True,
        metadata={"a": "b"},
        foo=[1, {"bar": None}],
        temperature=None,
        stop=None,
    )
    assert body == parsed()


def test_a_byte_order_mark_is_fine_and_other_encodings_are_not() -> None:
    good = json.dumps({"messages": HI}).encode()
    assert parse_chat(b"\xef\xbb\xbf" + good) == parsed()
    for bad in (good.decode().encode("utf-16"), b'{"messages":"\xff"}'):
        with pytest.raises(RequestError):
            parse_chat(bad)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
_fields = st.sampled_from(
    [
        "messages",
        "model",
        "temperature",
        "top_k",
        "stop",
        "seed",
        "stream",
        "max_tokens",
        "n",
        "tools",
        "x",
    ]
)


@settings(max_examples=50)
@given(st.dictionaries(_fields, _json, max_size=4), st.booleans())
def test_any_json_is_accepted_or_refused_with_a_reason(fields: dict[str, Any], good: bool) -> None:
    raw = json.dumps({**fields, "messages": HI} if good else fields).encode()
    refusal = None
    try:
        assert parse_chat(raw).request.messages
    except RequestError as error:
        refusal = error
    assert refusal is None or (refusal.status == 400 and refusal.what)


@settings(max_examples=50)
@given(st.binary(max_size=40))
def test_any_bytes_are_refused_with_a_reason(raw: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        parse_chat(raw)
    assert caught.value.what
