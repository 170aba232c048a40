"""Messages that nobody would send: typed into the window, or as bytes to the API.  Drawn from a seed, pure."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.soak import hostile_text
from tests.soak.hostile_text import nasty

_ROLES = ("user", "assistant", "system", "tool", "developer")
_FIELDS = (
    "messages", "model", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "stop", "n",
    "stream", "stream_options", "logit_bias", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty", "repeat_penalty",
    "repeat_last_n", "xtc_probability", "dry_multiplier", "dry_sequence_breakers", "mirostat", "tools", "tool_choice", "parallel_tool_calls",
    "reasoning_effort", "chat_template_kwargs", "response_format", "user", "ignore_eos", "cache_prompt", "functions", "suffix", "echo",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Typed:
    """What a user sends from the window, message after message."""

    kind: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Posted:
    """The body of a request to the API."""

    kind: str
    body: bytes


def typed(dice: Random) -> Typed:
    kind = dice.choices(tuple(_TYPED), (30, 1, 10))[0]
    return Typed(kind, _TYPED[kind](dice))


def posted(dice: Random) -> Posted:
    kind = dice.choice(tuple(_POSTED))
    return Posted(kind, _POSTED[kind](dice))


def _long(dice: Random) -> str:
    """From the edge of the context to a megabyte and more."""
    text = dice.choice((*hostile_text.RUNS, "hello ", "<|im_end|>", nasty(dice) or "x"))
    return text * (dice.choice((9_000, 17_000, 200_000, 1_000_000)) // len(text) + 1)


_TYPED: dict[str, Callable[[Random], tuple[str, ...]]] = {
    "one text": lambda dice: (nasty(dice),),
    "long text": lambda dice: (_long(dice),),
    "several texts": lambda dice: tuple(nasty(dice) for _ in range(dice.randrange(2, 4))),
}


def _body(**fields: Any) -> bytes:
    return json.dumps(
        {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3, **fields}
    ).encode()


def junk(dice: Random, depth: int = 2) -> Any:
    """Any value of JSON, and some that it cannot hold."""
    simple = (
        None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 0.5, -1e308, 1e308, float("nan"), float("inf"), "", "x", "none", "auto", nasty(dice),
    )  # fmt: skip
    if not depth or dice.random() < 0.6:
        return dice.choice(simple)
    few = range(dice.randrange(4))
    if dice.random() < 0.5:
        return [junk(dice, depth - 1) for _ in few]
    return {
        dice.choice(("type", "text", "role", "content", "5", nasty(dice))): junk(dice, depth - 1)
        for _ in few
    }


def _talk(dice: Random) -> bytes:
    """Roles in any order, texts of any kind."""
    count = dice.choice((1, 2, 3, 8, 40))
    messages = [{"role": dice.choice(_ROLES), "content": nasty(dice)} for _ in range(count)]
    return _body(messages=messages, stream=dice.random() < 0.3)


def _crowd(dice: Random) -> bytes:
    """Thousands of messages."""
    role = dice.choice((("user",), ("user", "assistant"), ("system",), _ROLES[:3]))
    count = dice.choice((0, 60, 3_000, 9_000))
    text = dice.choice(("", "x", "hello", "<|im_end|>", "\u202e"))
    return _body(messages=[{"role": dice.choice(role), "content": text} for _ in range(count)])


def _wrong_message(dice: Random) -> bytes:
    message: dict[str, Any] = {"role": dice.choice((*_ROLES, junk(dice))), "content": junk(dice)}
    for name in dice.sample(
        ("name", "tool_calls", "tool_call_id", "reasoning_content", "refusal", "audio"),
        dice.randrange(3),
    ):
        message[name] = junk(dice)
    return _body(messages=[message, dice.choice((message, junk(dice)))])


def _wrong_fields(dice: Random) -> bytes:
    return _body(**{name: junk(dice) for name in dice.sample(_FIELDS, dice.randrange(1, 4))})


def _parts(dice: Random) -> bytes:
    parts = [
        dice.choice((
            {"type": "text", "text": nasty(dice)}, {"type": "text", "text": junk(dice)}, {"type": "image_url", "image_url": {"url": "http://x"}},
            {"type": "input_audio"}, {"type": junk(dice)}, junk(dice),
        ))
        for _ in range(dice.randrange(5))
    ]  # fmt: skip
    return _body(messages=[{"role": "user", "content": parts}])


def _tools(dice: Random) -> bytes:
    """Definitions, calls and results that may not belong together; arguments that may be no JSON."""
    name = dice.choice(("f", "probe", "<|im_end|>", nasty(dice)[:70], "x" * 65))
    arguments = dice.choice(
        (
            "{}",
            '{"a": 1}',
            "{",
            "[]",
            "null",
            '{"a": NaN}',
            '{"a": 1e999}',
            '{"a":' * 9_000,
            nasty(dice),
            '{"a": "<|im_end|>"}',
            5,
            None,
            {},
            '{"a": "\\ud800"}',
        )
    )
    schema = dice.choice(
        (
            junk(dice),
            {"type": "object", "properties": {nasty(dice): {"description": nasty(dice)}}},
            None,
        )
    )
    tool = {
        "type": "function",
        "function": {
            "name": name,
            "description": dice.choice((nasty(dice), junk(dice))),
            "parameters": schema,
        },
    }
    call = {
        "id": dice.choice(("1", nasty(dice), junk(dice))),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": dice.choice((None, "", nasty(dice))), "tool_calls": [call] * dice.choice((1, 1, 1, 2, 200))},
        {"role": "tool", "tool_call_id": dice.choice((call["id"], "other")), "content": nasty(dice)},
    ]  # fmt: skip
    tools = [tool] * dice.choice((1, 1, 1, 2, 129))
    return _body(
        messages=messages[: dice.choice((1, 2, 3, 3))],
        tools=tools,
        tool_choice=dice.choice((None, "auto", "none", junk(dice))),
    )


def _good_tools(dice: Random) -> bytes:
    """Tools in order, texts in them that are not."""
    about = {"description": nasty(dice), "type": "string", "enum": [nasty(dice), "a"]}
    tool = {
        "type": "function",
        "function": {
            "name": "f",
            "description": nasty(dice),
            "parameters": {"type": "object", "properties": {nasty(dice): about}},
        },
    }
    call = {
        "id": nasty(dice)[:200] or "1",
        "type": "function",
        "function": {"name": "f", "arguments": json.dumps({nasty(dice): nasty(dice)})},
    }
    messages = [
        {"role": "system", "content": nasty(dice)},
        {"role": "user", "content": nasty(dice)},
        {"role": "assistant", "content": nasty(dice), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": nasty(dice)},
    ]
    return _body(messages=messages, tools=[tool])


def _no_json(dice: Random) -> bytes:
    good = _body(messages=[{"role": "user", "content": "hello"}])
    deep = dice.choice((100, 2_000, 100_000))
    at = dice.randrange(len(good))
    return dice.choice((
        dice.randbytes(dice.randrange(300)),
        good[:at],
        good[:at] + dice.randbytes(dice.randrange(1, 5)) + good[at:],
        good.replace(b"hello", b"\xff\xfe\xc3\x28\xed\xa0\x80"),
        good.replace(b"hello", b"\\ud83d"),
        good.replace(b"hello", b"\\u0000\x00"),
        good.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + good,
        b"[" * deep, b'{"messages":' * deep, b"[" * deep + b"]" * deep,
        b'{"messages":[{"role":"user","content":"a","content":"b"}],"max_tokens":3,"max_tokens":1e999}',
        b'{"messages":[{"role":"user","content":"a"}],"max_tokens":' + b"9" * 9_000 + b"}",
        b"", b"null", b"5", b'"x"', b"NaN", good + good, good + b"\x00",
    ))  # fmt: skip


def _stops(dice: Random) -> bytes:
    stop = dice.choice(
        (
            nasty(dice),
            [nasty(dice) for _ in range(dice.randrange(6))],
            "",
            [""],
            ["x" * 9_000],
            ["a"] * 2_000,
            "\ud800",
        )
    )
    return _body(stop=stop, stream=dice.random() < 0.5)


_POSTED: dict[str, Callable[[Random], bytes]] = {
    "talk": _talk,
    "crowd": _crowd,
    "wrong message": _wrong_message,
    "wrong fields": _wrong_fields,
    "parts": _parts,
    "tools": _tools,
    "strange tools": _good_tools,
    "no JSON": _no_json,
    "stop strings": _stops,
}
