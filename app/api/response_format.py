"""The form that an answer shall have: OpenAI's `response_format`, and llama-server's `grammar`.

Here only their outer shape is checked, and no more than one is taken; the text worker reads schemas and grammars, under
limits, and what it refuses is a 400 of the same kind.
"""

import json

from app.api.fields import Fields, name_in, not_supported, wrong
from app.errors import RequestError
from app.grammar.model import MAX_SOURCE, Form, Kind

_TYPES = ("text", "json_object", "json_schema")
_SCHEMA = "response_format.json_schema.schema"


def form_of(fields: Fields) -> Form | None:
    """The form that a body asks for, None without one; raises RequestError."""
    by_format = _by_format(fields.get("response_format"))
    by_grammar = _by_grammar(fields.get("grammar"))
    if by_format is not None and by_grammar is not None:
        raise RequestError(
            "'grammar' and 'response_format' do not go together; leave one out.",
            param="grammar",
            code="invalid_value",
        )
    form = by_format or by_grammar
    if form is not None and fields.get("ignore_eos"):
        raise RequestError(
            f"'ignore_eos' does not go with '{form.field.partition('.')[0]}': such an answer has its own end.",
            param="ignore_eos",
            code="invalid_value",
        )
    return form


def _by_format(value: object) -> Form | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise wrong("response_format", "an object with 'type'")
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise wrong("response_format.type", f"one of {', '.join(_TYPES)}")
    # llama-server takes a schema beside "json_object", too.
    inner = {"json_schema": "json_schema", "json_object": "schema"}.get(kind, "")
    for name in value:
        if name not in ("type", inner):
            raise not_supported(f"response_format.{name[:80]}", f"it does not go with '{kind}'")
    if kind == "text":
        return None
    if kind == "json_schema":
        return _named_schema(value.get("json_schema"))
    if value.get("schema") is not None:
        return _schema(value["schema"], "response_format.schema")
    return Form(Kind.JSON, field="response_format")


def _named_schema(value: object) -> Form:
    where = "response_format.json_schema"
    if not isinstance(value, dict):
        raise wrong(where, "an object with 'name' and 'schema'")
    for name in value:
        if name not in ("name", "schema", "strict", "description"):
            raise not_supported(
                f"{where}.{name[:80]}", "only name, schema, strict and description are"
            )
    name_in(value, where)
    # Every schema is kept to the letter, so that `strict` makes no difference.
    if value.get("strict") is not None and not isinstance(value["strict"], bool):
        raise wrong(f"{where}.strict", "true or false")
    if value.get("description") is not None and not isinstance(value["description"], str):
        raise wrong(f"{where}.description", "a string")
    return _schema(value.get("schema"), _SCHEMA)


def _schema(value: object, where: str) -> Form:
    if not isinstance(value, dict):
        raise wrong(where, "a JSON schema, which is an object")
    try:
        source = json.dumps(value)
    except RecursionError as error:
        raise wrong(where, "nested less deeply") from error
    return Form(Kind.SCHEMA, _not_too_long(source, where), where)


def _by_grammar(value: object) -> Form | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise wrong("grammar", "a string, a grammar in GBNF")
    return Form(Kind.GBNF, _not_too_long(value, "grammar"), "grammar")


def _not_too_long(source: str, where: str) -> str:
    if len(source) > MAX_SOURCE:
        raise wrong(where, f"at most {MAX_SOURCE:,} characters long")
    return source
