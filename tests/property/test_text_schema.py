"""Whatever a grammar of a schema allows is JSON, and valid."""

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.grammars import any_object, schema, written
from tests.json_schema import valid

_names = st.text(st.sampled_from('ab"\\\n\u00e9\U0001f600z'), max_size=4)
_values = st.none() | st.booleans() | st.integers(-99, 99) | _names | st.floats(-9, 9)


def _two(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(of, of).map(sorted)


def _limited(
    kind: str, names: tuple[str, str], of: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    """A schema of this type with none, one or both of two limits."""

    def made(limits: list[Any], which: int) -> dict[str, Any]:
        chosen = {
            name: limit
            for bit, (name, limit) in enumerate(zip(names, limits, strict=True))
            if which >> bit & 1
        }
        return {"type": kind, **chosen}

    return st.builds(made, _two(of), st.integers(0, 3))


_leaves = st.one_of(
    st.sampled_from([True, {"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}]),
    _limited("integer", ("minimum", "maximum"), st.integers(-1_200, 1_200)),
    _limited("number", ("minimum", "maximum"), st.integers(-1_200, 1_200)),
    _limited("number", ("exclusiveMinimum", "maximum"), st.integers(-12, 12).map(lambda n: n * 3)).filter(
        lambda one: one.get("maximum") != one.get("exclusiveMinimum", 0.5)
    ),
    _limited("string", ("minLength", "maxLength"), st.integers(0, 9)),
    st.sampled_from(["date", "time", "date-time", "uuid", "ipv4"]).map(lambda one: {"type": "string", "format": one}),
    st.sampled_from([r"^[A-F]{2,4}-\d+$", r"x|y", r"^(?:ab|a\.c?)*$", r'^["\\\n]{3}$', r"\s[^a-y]"]).map(
        lambda one: {"type": "string", "pattern": one}
    ),
    st.lists(_values, min_size=1, max_size=5).map(lambda values: {"enum": values}),
)  # fmt: skip


def _object(properties: dict[str, Any], required: list[bool], more: Any) -> dict[str, Any]:
    needed = [name for name, must in zip(properties, required, strict=False) if must]
    made = {"type": "object", "properties": properties, "required": needed}
    return made if more is None else {**made, "additionalProperties": more}


_schemas = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(
            _object,
            st.dictionaries(_names, inner, max_size=4),
            st.lists(st.booleans(), min_size=4, max_size=4),
            st.sampled_from([None, False, {"type": "integer"}]),
        ),
        st.builds(
            lambda items, counts: {"type": "array", "items": items, "minItems": counts[0], "maxItems": counts[1]},
            inner,
            _two(st.integers(0, 4)),
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: {"anyOf": some}),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: {"type": "array", "prefixItems": some}),
    ),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=60)
@given(wanted=_schemas, seed=st.integers(0, 999))
def test_what_a_schema_allows_is_valid(wanted: Any, seed: int) -> None:
    grammar = schema(wanted)
    for number in range(3):
        text = written(grammar, seed + number)
        if text is not None:
            assert valid(json.loads(text), wanted), text


@settings(max_examples=30)
@given(seed=st.integers(0, 9_999))
def test_any_object_that_is_allowed_parses(seed: int) -> None:
    text = written(any_object(), seed)
    if text is not None:
        value = json.loads(text)
        assert isinstance(value, dict)
        assert not re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))
