"""`response_format` and `grammar` in a body: their shape, and that only one of them is taken."""

import json
from typing import Any

import pytest

from app.api.schema import parse_chat
from app.errors import RequestError
from app.grammar.model import MAX_SOURCE, Form, Kind

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def form(**fields: Any) -> Form | None:
    body = {"messages": [{"role": "user", "content": "hi"}], **fields}
    return parse_chat(json.dumps(body).encode()).request.form


def named(**fields: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, **fields}}


def test_forms_are_taken_as_they_are_given() -> None:
    source = json.dumps(SCHEMA)
    where = "response_format.json_schema.schema"
    assert form() is None
    assert form(response_format={"type": "text"}, grammar="") is None
    assert form(response_format={"type": "json_object"}) == Form(Kind.JSON, "", "response_format")
    for more in ({}, {"strict": True}, {"strict": False}, {"strict": None, "description": "d"}):
        assert form(response_format=named(**more)) == Form(Kind.SCHEMA, source, where)
    other = {"type": "json_object", "schema": SCHEMA}
    assert form(response_format=other) == Form(Kind.SCHEMA, source, "response_format.schema")
    assert form(grammar="root ::= x") == Form(Kind.GBNF, "root ::= x", "grammar")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {}}, "response_format.type"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": ["text"]}}, "response_format.type"),
        ({"response_format": {"type": "text", "schema": SCHEMA}}, "response_format.schema"),
        ({"response_format": {"type": "json_object", "x": 1}}, "response_format.x"),
        ({"response_format": {"type": "json_object", "schema": "x"}}, "response_format.schema"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"response_format": named(name=None)}, "response_format.json_schema.name"),
        ({"response_format": named(name="a b")}, "response_format.json_schema.name"),
        ({"response_format": named(schema=None)}, "response_format.json_schema.schema"),
        ({"response_format": named(schema=True)}, "response_format.json_schema.schema"),
        ({"response_format": named(strict="yes")}, "response_format.json_schema.strict"),
        ({"response_format": named(description=1)}, "response_format.json_schema.description"),
        ({"response_format": named(more=1)}, "response_format.json_schema.more"),
        ({"response_format": named(schema={"enum": ["x" * MAX_SOURCE]})}, "response_format.json_schema.schema"),
        ({"grammar": 5}, "grammar"),
        ({"grammar": "x" * (MAX_SOURCE + 1)}, "grammar"),
        ({"grammar": "root ::= x", "response_format": {"type": "json_object"}}, "grammar"),
        ({"grammar": "root ::= x", "ignore_eos": True}, "ignore_eos"),
        ({"response_format": {"type": "json_object"}, "ignore_eos": True}, "ignore_eos"),
        ({"json_schema": SCHEMA}, "json_schema"),
    ],
)  # fmt: skip
def test_a_wrong_form_is_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        form(**fields)
    assert caught.value.param == param
    assert param in caught.value.what
    assert caught.value.status == 400


def test_a_number_that_is_none_is_named_in_a_schema_too() -> None:
    body = b'{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_object","schema":{"const":NaN}}}'
    with pytest.raises(RequestError) as caught:
        parse_chat(body)
    assert caught.value.param == "response_format.schema.const"
