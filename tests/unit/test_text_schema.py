"""JSON schemas made into grammars: what is allowed, what is refused by name, and that nothing is fetched."""

import json
import socket
from typing import Any

import pytest

from app.dialogue import ThoughtTags
from app.errors import FormError
from app.grammar.model import Form, Kind
from app.text.grammar.forms import grammar_of
from tests.grammars import any_object, begins, keeps, schema

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "mail": {"type": "string"},
    },
    "required": ["name"],
}
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
            "required": ["v", "next"],
        }
    },
    "$ref": "#/$defs/node",
}  # fmt: skip

CASES: list[tuple[Any, list[str], list[str]]] = [
    ({"type": "string"}, ['"a\\n\\u00e9\u4f60\\ud83d\\ude00"', '""'], ["a", '"\n"', '"\\ud83d"', '"\\x"']),
    ({"type": "integer"}, ["0", "-12"], ["01", "1.0", "1e5", "+1", "1" * 16]),
    ({"type": "number"}, ["0.5", "-1.25e-3", "12"], [".5", "1.", "1e999", "NaN"]),
    ({"type": "boolean"}, ["true", "false"], ["True", "1"]),
    ({"type": ["string", "null"]}, ['"x"', "null"], ["1"]),
    ({"enum": ["a", 1, None, {"b": [1, 2]}]}, ['"a"', "1", "null", '{"b": [1, 2]}'], ["2", '"b"']),
    ({"const": 'say "x"\\\n'}, [json.dumps('say "x"\\\n')], ['"say"']),
    ({"type": "integer", "enum": [1, "a", True]}, ["1"], ['"a"', "true"]),
    ({"minimum": 5, "type": "integer"}, ["5", "123", "999999999999999"], ["4", "-6", "05"]),
    ({"minimum": -3, "maximum": 107, "type": "integer"}, ["-3", "-1", "0", "99", "107"], ["-4", "108", "110"]),
    ({"exclusiveMinimum": 9, "exclusiveMaximum": 12, "type": "integer"}, ["10", "11"], ["9", "12", "1"]),
    ({"minimum": 0, "maximum": 1, "type": "number"}, ["0", "1", "0.25"], ["1.5", "-0.5", "2", "1.1"]),
    ({"exclusiveMinimum": 0, "type": "number"}, ["0.001", "3.5"], ["0", "0.0", "-1"]),
    ({"minimum": -2.5, "maximum": 2.5, "type": "number"}, ["-2", "-0.5", "1.99"], ["-3", "-2.6", "2.6"]),
    ({"type": "string", "minLength": 2, "maxLength": 3}, ['"ab"', '"\\u00e9\\n\u4f60"'], ['"a"', '"abcd"']),
    ({"type": "string", "pattern": "^[a-z]+(-\\d{2})?$"}, ['"ab"', '"ab-12"'], ['"Ab"', '"ab-1"']),
    ({"type": "string", "pattern": "^\\u0041\\x42$"}, ['"AB"'], ['"A"', '"u0041x42"']),
    ({"properties": {"\ud800": {"type": "null"}}, "additionalProperties": {"type": "integer"}},
     ['{"a": 1}', '{"\\ud800": null}', '{"\\ud800": null, "a": 1}'], ['{"a": null}', '{"\\ud800": 1}']),
    ({"type": "string", "pattern": "b[\"\\\\]"}, ['"ab\\"c"', '"b\\\\"'], ['"ab"']),
    ({"type": "string", "format": "date"}, ['"2024-02-28"', '"2023-12-31"'], ['"2023-02-30"', '"2023-13-01"']),
    ({"type": "string", "format": "uuid"}, ['"12345678-90ab-cdef-1234-567890abcdef"'], ['"1234"']),
    ({"type": "array", "items": {"type": "integer"}}, ["[]", "[1,2]", "[ 1, 2 ]", "[\n  1\n]"], ["[1,]", '["a"]']),
    ({"items": {"type": "null"}, "minItems": 2, "maxItems": 3}, ["[null,null]"], ["[null]", "[null,null,null,null]"]),
    ({"type": "array", "items": True, "maxItems": 0}, ["[]"], ["[1]"]),
    ({"prefixItems": [{"type": "integer"}, {"type": "string"}]}, ['[1, "a"]'], ["[1]", '["a", 1]']),
    (PERSON, ['{"name":"x"}', '{"name": "x", "age": 3}', '{"name":"x","mail":"y"}'], ["{}", '{"age":3}', '{"name":1}']),
    (PERSON, ['{"name":"x","age":1,"mail":"y"}'], ['{"age":1,"name":"x"}', '{"name":"x",}', '{"name":"x","z":1}']),
    ({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}},
     ["{}", '{"a":null}', '{"b":null}', '{"a":null,"b":null}'], ['{,"b":null}', '{"b":null,"a":null}']),
    ({"properties": {"ab": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
     ['{"ab":1,"abc":"x","a":"y"}', '{"":"x"}', '{"b":"x"}'], ['{"ab":"x"}', '{"b":1}', '{"\\u0061b":"x"}']),
    ({"type": "object", "additionalProperties": False}, ["{}"], ['{"a":1}']),
    ({"type": "object", "required": ["a"]}, ['{"a":[1,{"b":null}]}'], ["{}"]),
    ({"type": "object"}, ["{}", '{"a":{"b":[]}}'], ["[]", "1"]),
    (True, ["1", '{"a":[null,"x"]}'], ["{", "undefined"]),
    ({}, ["true"], [""]),
    (TREE, ['{"v":1,"next":null}', '{"v":1,"next":{"v":2,"next":null}}'], ['{"v":1}', '{"v":1,"next":{}}']),
    ({"allOf": [{"type": "null"}]}, ["null"], ["1"]),
    ({"oneOf": [{"type": "null"}, {"type": "boolean"}], "title": "T", "default": None}, ["null", "true"], ["1"]),
]  # fmt: skip

BAD: list[tuple[Any, str]] = [
    ({"type": "text"}, "At #: 'type' must be of object"),
    ({"type": []}, "'type'"),
    ({"type": "object", "properties": {"a": {"multipleOf": 2}}}, "At #/properties/a: 'multipleOf'"),
    ({"not": {"type": "null"}}, "'not' is not supported"),
    ({"if": True, "then": True}, "'if'"),
    ({"type": "object", "patternProperties": {}}, "'patternProperties'"),
    ({"type": "array", "uniqueItems": True}, "'uniqueItems'"),
    ({"type": "object", "minProperties": 1}, "'minProperties'"),
    ({"allOf": [{"type": "null"}, {"type": "string"}]}, "more than one"),
    ({"anyOf": [{"type": "null"}], "type": "string"}, "'type' beside 'anyOf'"),
    ({"$ref": "#/$defs/a", "minimum": 3}, "'minimum' beside '$ref'"),
    ({"$ref": "https://example.org/schema.json"}, "nothing is fetched"),
    ({"$ref": "file:///etc/passwd"}, "nothing is fetched"),
    ({"$ref": "other.json#/a"}, "nothing is fetched"),
    ({"$ref": "#anchor"}, "nothing is fetched"),
    ({"$ref": 5}, "'$ref' must be a string"),
    ({"$ref": "#/$defs/none"}, "leads nowhere"),
    ({"$ref": "#"}, "never come to an end"),
    ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "never come to an end"),
    ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "never come to an end"),
    ({"enum": []}, "'enum' must be a list"),
    ({"enum": list(range(2_001))}, "'enum'"),
    ({"anyOf": {}}, "'anyOf' must be a list"),
    ({"type": "string", "enum": [1]}, "none of the values"),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "smaller"),
    ({"type": "string", "maxLength": -1}, "'maxLength' must be a whole number"),
    ({"type": "string", "maxLength": 10**9}, "at most 2,000"),
    ({"type": "array", "minItems": 1, "maxItems": 10**6}, "at most 2,000"),
    ({"type": "integer", "minimum": "1"}, "'minimum' must be a number"),
    ({"type": "integer", "minimum": 5, "maximum": 4}, "No whole number"),
    ({"type": "integer", "minimum": 10**16}, "No whole number"),
    ({"type": "number", "minimum": 0.2, "maximum": 0.8}, "too close together"),
    ({"type": "string", "format": "color"}, "'color' is not supported; date, time"),
    ({"type": "string", "pattern": "a", "maxLength": 3}, "beside 'pattern'"),
    ({"type": "string", "pattern": "(?=a)b"}, "'(?'"),
    ({"type": "string", "pattern": "(a)\\1"}, "'\\1' is not supported"),
    ({"type": "string", "pattern": "\\bx"}, "'\\b' is not supported"),
    ({"type": "string", "pattern": "(a"}, "not closed"),
    ({"type": "string", "pattern": "a{3,2}"}, "backwards"),
    ({"type": "string", "pattern": "(" * 60 + "a" + ")" * 60}, "within each other"),
    ({"type": "string", "pattern": "(a{1,5000})+"}, "at most 2,000"),
    ({"type": "string", "pattern": 5}, "'pattern' must be a string"),
    ({"properties": []}, "'properties' must be an object"),
    ({"properties": {"a": 5}}, "At #/properties/a: a schema must be an object"),
    ({"required": [1]}, "'required'"),
    ({"additionalProperties": "no"}, "must be an object"),
    (False, "must be an object"),
    ({"items": False}, "'items' false"),
    ({"invented": 1}, "'invented' is not supported"),
    ({"const": float("inf")}, "Infinity is no number"),
    ({"type": "number", "minimum": float("nan")}, "NaN is no number"),
    ({"type": "string", "pattern": "^\\u41"}, "'\\u' wants 4"),
    ({"type": "string", "pattern": "^\\x4$"}, "'\\x' wants 2"),
    ({"type": "string", "pattern": "\\U00000041"}, "'\\U' is not supported"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "good", "bad"), CASES, ids=lambda case: json.dumps(case)[:40])
def test_a_schema_allows_what_is_valid_and_nothing_else(
    wanted: Any, good: list[str], bad: list[str]
) -> None:
    grammar = schema(wanted)
    assert [text for text in good if not keeps(grammar, text)] == []
    assert [text for text in bad if keeps(grammar, text)] == []


@pytest.mark.parametrize(("wanted", "words"), BAD, ids=lambda case: json.dumps(case)[:40])
def test_what_cannot_be_promised_is_refused_by_name(wanted: Any, words: str) -> None:
    with pytest.raises(FormError) as caught:
        schema(wanted)
    assert caught.value.field == "schema"
    assert words in caught.value.what


def test_no_reference_opens_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda *where: opened.append(where))
    for reference in ("https://example.org/s", "http://127.0.0.1:9/s", "//example.org/s"):
        with pytest.raises(FormError, match="nothing is fetched"):
            schema({"properties": {"a": {"$ref": reference}}})
    assert opened == []


def test_schemas_that_lie_deep_within_each_other_are_refused() -> None:
    deep: Any = {"type": "null"}
    for _ in range(300):
        deep = {"type": "array", "items": deep}
    with pytest.raises(FormError, match="within each other"):
        schema(deep)


def test_many_fields_are_no_trouble() -> None:
    names = [f"field_{number}" for number in range(200)]
    wanted = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    grammar = schema(wanted)
    assert keeps(grammar, json.dumps(dict.fromkeys(names, 1)))
    assert keeps(grammar, json.dumps(dict.fromkeys(names[::7], 1)))
    assert not begins(grammar, '{"field_3": 1, "field_2"')


def test_any_object_is_an_object_of_readable_depth() -> None:
    grammar = any_object()
    assert keeps(grammar, '{"a": [1, {"b": "c"}, null, -0.5e3], "d": {}}')
    assert not keeps(grammar, "[]")
    assert not begins(grammar, '{"a":' * 40)
    assert not begins(grammar, "{  ")


@pytest.mark.parametrize(
    "source", ['{"const": 1e999}', '{"enum": [1, [-1e999]]}', '{"minimum": NaN}']
)
def test_a_number_that_no_json_can_hold_is_refused(source: str) -> None:
    with pytest.raises(FormError, match="is no number that JSON can hold"):
        grammar_of(Form(Kind.SCHEMA, source))


def test_whatever_cannot_be_written_is_refused_instead_of_ending_the_worker() -> None:
    with pytest.raises(FormError, match="cannot be made a grammar") as caught:
        grammar_of(Form(Kind.JSON, field="f"), opened=ThoughtTags("<t>", "\ud800"))
    assert caught.value.field == "f"
