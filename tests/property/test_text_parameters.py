"""The top of a tool's schema: whatever stands there, the calls of a strict tool keep it in every form of calls, or it is
refused."""

import json
from typing import Any

import pytest

from app.dialogue import Tool
from app.errors import FormError
from app.grammar.model import CallForm
from app.text.calls.forms import Form
from app.text.calls.kinds import Kind, kinds_of
from app.text.calls.known import FORMS
from app.text.calls.writings import Writing
from app.text.grammar.calls import Manner
from app.text.grammar.forms import calls_grammar_of
from app.text.grammar.parameters import alternatives
from app.text.grammar.schema import MAX_CHOICES
from tests.json_schema import valid
from tests.property.test_text_bound_calls import EVERY, IDS, Reader, control_of

A = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
B = {
    "type": ["object", "null"],
    "properties": {"b": {"type": "integer"}, "next": {"$ref": "#/$defs/B"}},
    "required": ["b"],
    "additionalProperties": False,
}
KEPT: dict[str, dict[str, Any]] = {
    "nothing": {"type": "object", "properties": {}, "additionalProperties": False},
    "anything": {"type": "object"},
    "numbers": {"type": "object", "additionalProperties": {"type": "integer"}},
    "more numbers": {**A, "additionalProperties": {"type": "integer"}},
    "undescribed": {**A, "required": ["a", "z"]},
    "only undescribed": {"type": "object", "required": ["z"]},
    "nullable": {"type": ["object", "null"], "properties": {"b": {"type": "integer"}}, "required": ["b"]},
    "alternatives": {"anyOf": [A, {"$ref": "#/$defs/B"}, {"type": "null"}], "$defs": {"B": B}},
    "typed alternatives": {"type": "object", "oneOf": [A, {"allOf": [{**A, "required": []}]}]},
    "reference": {"$ref": "#/$defs/B", "$defs": {"B": B}},
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize(("form", "writing"), EVERY, ids=IDS)
def test_arguments_keep_the_schema(form: str, writing: Writing, name: str) -> None:
    for text, calls in written(form, writing, KEPT[name]):
        assert len(calls) == 1, text
        assert valid(calls[0], KEPT[name]), text


@pytest.mark.parametrize(("form", "writing"), EVERY, ids=IDS)
def test_what_is_a_string_in_one_alternative_only_is_kept_or_refused(
    form: str, writing: Writing
) -> None:
    schema = {"anyOf": [A, {**A, "properties": {"a": {"type": "integer"}}}]}
    try:
        found = written(form, writing, schema)
    except FormError as error:
        assert writing.tags is not None  # strings have no quotes there
        assert "is a string in one of the alternatives only" in error.what  # noqa: PT017
        return
    assert all(valid(call, schema) for _, calls in found for call in calls)


def written(form: str, writing: Writing, schema: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """What a strict tool is called with, by chance: the texts, and the arguments that are read from each."""
    tools = (Tool("t", "", json.dumps(schema), strict=True),)
    known: Form = FORMS[form]
    control = control_of(form)
    wanted = CallForm(tools, single=True)
    grammar = calls_grammar_of(wanted, [Manner(known, (writing,), control)], control=control)
    reader = Reader(form, control, tools)
    found = [reader.read(grammar, seed) for seed in range(6)]
    return [(text, [arguments for _, arguments in outcome.calls]) for text, outcome in found]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "string"}, "must be an object"),
        ({"anyOf": [{"type": "null"}, {"type": "array"}]}, "must be an object"),
        ({"anyOf": [A, 5]}, "must be a schema"),
        ({"anyOf": []}, "must be a list"),
        ({"allOf": [A, A]}, "'allOf' of more than one"),
        ({**A, "anyOf": [A]}, "'properties' beside 'anyOf' at the top"),
        ({"enum": [{}]}, "'enum' at the top"),
        ({"$ref": "#/nowhere"}, "leads nowhere"),
        ({"$ref": "#"}, f"more than {MAX_CHOICES:,} alternatives"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}] * 100}}},
            "alternatives",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(FormError, match=why):
        alternatives(schema)


def test_the_kinds_of_parameters_are_those_on_which_all_alternatives_agree() -> None:
    other = {"properties": {"a": {"type": "integer"}, "c": {"type": "string"}}}
    assert kinds_of({"anyOf": [A, {"type": "null"}]}) == {"a": Kind.TEXT}
    assert kinds_of({"anyOf": [A, other]}) == {"c": Kind.TEXT}
    assert kinds_of({**A, "anyOf": [{"required": ["a"]}]}) == {"a": Kind.TEXT}
