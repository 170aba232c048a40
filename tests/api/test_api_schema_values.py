"""Wrong bodies and values over the wire: always an answer that names the field, and the server lives on."""

import asyncio

import pytest

from tests.api.harness import HELLO, Api, running

M = '"messages":[{"role":"user","content":"hi"}]'
BODIES = [
    ("", None),
    ("{:", None),
    ("[]", None),
    ("null", None),
    ('"x"', None),
    ("[" * 100_000, None),
    ('{"a":' * 50_000, None),
    ("{}", "messages"),
    ('{"messages":{"messages":[]}}', "messages"),
    ('{"messages":[]}', "messages"),
    ('{"messages":[{}]}', "messages[0].role"),
    ('{"messages":[{"role":"wizard","content":"x"}]}', "messages[0].role"),
    ('{"messages":[{"role":"user","content":{"a":1}}]}', "messages[0].content"),
    ('{"messages":[{"role":"user","content":null}]}', "messages[0].content"),
    (f'{{{M},"foo":NaN}}', "foo"),
    (f'{{{M},"foo":{{"bar":[1,[-Infinity]]}}}}', "foo.bar[1][0]"),
    (f'{{{M},"{"f" * 500}":NaN}}', "f" * 80),
    (f'{{{M},"foo":NaN,"foo":1}}', "body"),
    (f'{{{M},"foo":{{"const":1e999}}}}', "foo.const"),
]
VALUES = {
    "temperature": ["NaN", "Infinity", "-1", "1e400", '"hot"', "[]", "999999"],
    "top_p": ["-1", "2", "NaN"],
    "max_tokens": ["-5", "0", "1.5", "true", '"9"', "9" * 5000],
    "stop": ["5", "[[]]", '[""]', "[" + ",".join(['"a"'] * 10000) + "]"],
    "seed": ["-1", "1e99", '"x"'],
    "stream": ['"yes"', "2"],
    "logit_bias": ["5", "true", '"x"'],
    "frequency_penalty": ["NaN", "2.5"],
    "mirostat": ["3", "1.5"],
    "top_logprobs": ["1", "21"],
    "model": ["5"],
    "n": ["2", "0", "1000", "true"],
    "response_format": ['"json"', "[]", "1"],
    "grammar": ["1", "[]"],
    "tools": ['[{"type":"function"}]'],
    "logprobs": ["1"],
}
BODIES += [
    (f'{{{M},"{name}":{value}}}', name) for name, values in VALUES.items() for value in values
]


async def refused(api: Api, body: str, param: str | None) -> None:
    reply = await api.post(body.encode())
    error = reply.error
    assert reply.status == 400, body[:80]
    assert error["type"] == "invalid_request_error"
    assert (error["param"] or "").partition("[")[0] == (param or "").partition("[")[0]
    assert error["message"]
    assert param is None or error["param"] in error["message"]
    assert b"Traceback" not in reply.body
    assert b"NaN," not in reply.body
    assert (await api.post(HELLO)).status == 200, "the next one is served"


def test_every_wrong_body_is_answered_with_400_and_the_next_one_is_served() -> None:
    async def run() -> None:
        async with running() as api:
            for body, param in BODIES:
                await refused(api, body, param)
            assert len(api.generator.requests) == len(BODIES), "only the good ones were generated"

    asyncio.run(run())


@pytest.mark.parametrize("name", ["no-such", "../../etc/passwd", ""])
def test_an_unknown_model_is_404(name: str) -> None:
    async def run() -> None:
        async with running() as api:
            reply = await api.post({**HELLO, "model": name})
            assert reply.status == 404
            assert reply.error["code"] == "model_not_found"
            assert reply.error["param"] == "model"

    asyncio.run(run())


def test_the_models_that_are_listed_are_those_that_chat_accepts() -> None:
    async def run() -> None:
        async with running() as api:
            listed = [entry["id"] for entry in (await api.get("/v1/models")).json["data"]]
            assert listed == ["default", "fake", "fake.gguf"]
            for name in listed:
                assert (await api.post({**HELLO, "model": name})).json["model"] == name
                assert (await api.get(f"/v1/models/{name}")).json["id"] == name
            assert (await api.get("/v1/models/other")).status == 404
            assert (await api.post(HELLO)).json["model"] == "fake"

    asyncio.run(run())


def test_half_an_emoji_and_nul_reach_the_model_replaced() -> None:
    async def run() -> None:
        async with running() as api:
            body = rb'{"messages":[{"role":"user","content":"a\ud83db"},{"role":"user","content":"x\u0000y"}]}'
            assert (await api.post(body)).status == 200
            contents = [message.content for message in api.generator.requests[0].messages]
            assert contents == ["a\ufffdb", "x\ufffdy"]

    asyncio.run(run())
