"""A JSON schema made into rules, so that whatever they allow is valid.

What cannot be promised token by token is refused by name, never dropped: a schema that is accepted holds.  Where JSON
Schema leaves more open, less is allowed: an object has no further properties unless `additionalProperties` asks for
them, properties come in the order of the schema, `oneOf` is read as `anyOf`.  References go to places within the
schema; nothing is ever fetched.

The converter that comes with llama-cpp-python is not used: it drops what it does not know, lets line feeds into strings,
and writes out every repetition that it is told to.
"""

from collections.abc import Callable, Mapping

from app.errors import FormError
from app.text.grammar import numbers, pattern
from app.text.grammar.builder import MAX_REPEATS, Builder, Row
from app.text.grammar.json_rules import JsonRules
from app.text.grammar.references import target

MAX_DEPTH = 64
"""Schemas within each other."""

MAX_CHOICES = 2_000
"""Values of one `enum`, properties of one object, schemas of one `anyOf`."""

NOTES = frozenset(
    {
        "$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "example", "examples",
        "deprecated", "readOnly", "writeOnly", "discriminator",
    }
)  # fmt: skip
"""Keywords that say nothing of a value."""

_OBJECT = ("properties", "required", "additionalProperties")
_ARRAY = ("items", "prefixItems", "minItems", "maxItems")
_STRING = ("minLength", "maxLength", "pattern", "format")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_WHOLE = ("$ref", "anyOf", "oneOf", "allOf", "const", "enum")
"""Keywords that stand alone: beside them only notes are understood, and a `type` beside the last two."""

_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "object": _OBJECT,
    "array": _ARRAY,
    "string": _STRING,
    "number": _NUMBER,
    "integer": _NUMBER,
    "boolean": (),
    "null": (),
}
_UNDERSTOOD = frozenset({"type", *_WHOLE, *_OBJECT, *_ARRAY, *_STRING, *_NUMBER})

_DAY = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
    "02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_DATE = rf"[1-9][0-9]{{3}}-{_DAY}"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HEXES = "[0-9a-fA-F]"
_FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "uuid": f"{_HEXES}{{8}}-{_HEXES}{{4}}-{_HEXES}{{4}}-{_HEXES}{{4}}-{_HEXES}{{12}}",
    "ipv4": rf"{_OCTET}(?:\.{_OCTET}){{3}}",
    "hostname": rf"{_LABEL}(?:\.{_LABEL}){{0,3}}",
    "email": rf"[A-Za-z0-9_+-]{{1,32}}(?:\.[A-Za-z0-9_+-]{{1,32}}){{0,3}}@{_LABEL}(?:\.{_LABEL}){{1,3}}",
}

Schema = Mapping[str, object]
Member = Callable[[str, int], Row]
"""How a member of an object is written, by its name and the rule of its value."""


def read(schema: object, builder: Builder) -> int:
    """The rule for a value of this schema; raises FormError with the place of what is wrong."""
    return Reader(schema, JsonRules(builder)).rule(schema)


class Reader:
    """Of the schemas within one, `whole`; values are written by the rules `json`."""

    def __init__(self, whole: object, json: JsonRules) -> None:
        self._whole = whole
        self._builder = json.builder
        self._json = json
        self._referred: dict[str, int] = {}

    def rule(self, schema: object, place: str = "#", depth: int = 0) -> int:
        """The rule for a value of this schema, which stands at this place; raises FormError."""
        if depth > MAX_DEPTH:
            raise FormError(f"More than {MAX_DEPTH} schemas lie within each other.")
        if schema is True or schema == {}:
            return self._json.any_value()
        if not isinstance(schema, dict):
            raise self._wrong(place, "a schema must be an object, or true")
        self.check_names(schema, place)
        for name in _WHOLE:
            if name in schema:
                return self._standing_alone(name, schema, place, depth)
        rules = [self._typed(kind, schema, place, depth) for kind in _types(schema, place)]
        return rules[0] if len(rules) == 1 else self._any(rules)

    def check_names(self, schema: Schema, place: str = "#") -> None:
        """Raises FormError for a keyword that cannot be promised."""
        for name in schema:
            if name not in _UNDERSTOOD and name not in NOTES:
                raise self._wrong(place, f"'{name[:80]}' is not supported")

    # --- what stands alone -----------------------------------------------------------------------------------

    def _standing_alone(self, name: str, schema: Schema, place: str, depth: int) -> int:
        beside = {"type"} if name in ("const", "enum") else set()
        other = next((key for key in schema if key not in NOTES | beside | {name}), None)
        if other is not None:
            raise self._wrong(place, f"'{other}' beside '{name}' is not supported")
        value = schema[name]
        match name:
            case "$ref":
                return self._reference(value, place, depth)
            case "const":
                return self._constants([value], schema, place)
            case "enum":
                return self._constants(self._list(value, place, name), schema, place)
        schemas = self._list(value, place, name)
        if name == "allOf" and len(schemas) > 1:
            raise self._wrong(place, "'allOf' of more than one schema is not supported")
        return self._any(
            [
                self.rule(inner, f"{place}/{name}/{index}", depth + 1)
                for index, inner in enumerate(schemas)
            ]
        )

    def _any(self, rules: list[int]) -> int:
        return self._builder.choice("choice", *((rule,) for rule in rules))

    def _constants(self, values: list[object], schema: Schema, place: str) -> int:
        if "type" in schema:
            kinds = _types(schema, place)
            values = [value for value in values if any(_IS[kind](value) for kind in kinds)]
            if not values:
                raise self._wrong(place, "none of the values has the 'type'")
        return self._builder.choice("constant", *map(self._json.constant, values))

    def _reference(self, value: object, place: str, depth: int) -> int:
        try:
            schema = target(self._whole, value)
        except FormError as error:
            raise self._wrong(place, error.what.rstrip(".")) from error
        name = str(value)
        if name not in self._referred:
            rule = self._referred[name] = self._builder.reserve(name[:80])
            self._builder.define(rule, (self.rule(schema, name[:80], depth + 1),))
        return self._referred[name]

    # --- one type --------------------------------------------------------------------------------------------

    def _typed(self, kind: str, schema: Schema, place: str, depth: int) -> int:
        match kind:
            case "object":
                return self._object(schema, place, depth)
            case "array":
                return self._array(schema, place, depth)
            case "string":
                return self._string(schema, place)
            case "boolean":
                return self._json.boolean
            case "null":
                return self._json.null
        limits = self._limits(schema, place)
        if limits == numbers.Limits():
            return self._json.integer if kind == "integer" else self._json.number
        try:
            make = numbers.integer if kind == "integer" else numbers.number
            return make(self._json, limits)
        except FormError as error:
            raise self._wrong(place, error.what.rstrip(".")) from error

    def _object(self, schema: Schema, place: str, depth: int) -> int:
        row = self.members(schema, self._json.member, place, depth)
        return self._builder.choice("object", self._json.braced(row))

    def members(self, schema: Schema, member: Member, place: str = "#", depth: int = 0) -> Row:
        """The members of an object of this schema, without what stands around them; raises FormError."""
        inner = schema.get("properties", {})
        if not isinstance(inner, dict) or len(inner) > MAX_CHOICES:
            raise self._wrong(place, f"'properties' must be an object of at most {MAX_CHOICES:,}")
        required = self._list(schema.get("required", []), place, "required", least=0)
        if not all(isinstance(name, str) for name in required):
            raise self._wrong(place, "'required' must be a list of names")
        names = [*inner, *(str(name) for name in required if name not in inner)]
        more = schema.get("additionalProperties", not names)
        pairs = [
            member(
                name,
                self.rule(inner.get(name, True), f"{place}/properties/{name[:80]}", depth + 1),
            )
            for name in names
        ]
        rest: Row | None = None
        if more is not False:
            value = self.rule(more, f"{place}/additionalProperties", depth + 1)
            rest = self._json.pair(self._json.other_key(names), value)
        needed = set(required)
        must = [name in needed for name in names]
        return self._members(pairs, must, rest)

    def _members(self, pairs: list[Row], must: list[bool], rest: Row | None) -> Row:
        """The members of an object, from the last one to the first.

        `first` is what may stand where nothing was written yet, `after` what may follow some member, and `next_one`
        what may follow a comma: with it, optional members share one comma.
        """
        build, comma = self._builder, self._json.comma
        next_one: int | None = None
        if rest is None:
            after = first = build.choice("object", ())
        else:
            after = build.reserve("object")
            build.define(after, (*comma, *rest, after), ())
            next_one = build.choice("object", (*rest, after))
            first = build.choice("object", (next_one,), ())
        may_end = True
        for pair, needed in zip(reversed(pairs), reversed(must), strict=True):
            own = (*pair, after)
            may_end = may_end and not needed
            skipped = [] if needed or next_one is None else [(next_one,)]
            next_one = build.choice("object", own, *skipped)
            first = build.choice("object", own, *([] if needed else [(first,)]))
            after = build.choice("object", (*comma, next_one), *([()] if may_end else []))
        return (first,)

    def _array(self, schema: Schema, place: str, depth: int) -> int:
        least = self._count(schema, "minItems", place) or 0
        most = self._count(schema, "maxItems", place)
        if most is not None and most < least:
            raise self._wrong(place, "'maxItems' is smaller than 'minItems'")
        heads = self._list(schema.get("prefixItems", []), place, "prefixItems", least=0)
        rows = [
            (self.rule(one, f"{place}/prefixItems/{index}", depth + 1), self._json.space)
            for index, one in enumerate(heads)
        ]
        items = schema.get("items", not heads)
        if rows:
            if items is not False and "items" in schema:
                raise self._wrong(
                    place, "'items' beside 'prefixItems' is not supported but for false"
                )
            if not least <= len(rows) <= (len(rows) if most is None else most):
                raise self._wrong(place, "'prefixItems' has another length than is asked for")
            members: Row = rows[0]
            for row in rows[1:]:
                members = (*members, *self._json.comma, *row)
            return self._builder.choice("array", self._json.bracketed(members))
        if items is False:
            raise self._wrong(place, "'items' false is not supported without 'prefixItems'")
        row = (self.rule(items, f"{place}/items", depth + 1), self._json.space)
        return self._builder.choice(
            "array", self._json.bracketed(self._json.listed(row, least, most))
        )

    def _string(self, schema: Schema, place: str) -> int:
        least = self._count(schema, "minLength", place) or 0
        most = self._count(schema, "maxLength", place)
        if most is not None and most < least:
            raise self._wrong(place, "'maxLength' is smaller than 'minLength'")
        form, look = schema.get("format"), schema.get("pattern")
        if form is None and look is None:
            if not least and most is None:
                return self._json.string
            return self._builder.choice(
                "string", self._json.quoted(self._json.letters(least, most))
            )
        if form is not None and look is not None:
            raise self._wrong(place, "'format' beside 'pattern' is not supported")
        if least or most is not None:
            raise self._wrong(
                place, "'minLength' and 'maxLength' beside 'pattern' or 'format' are not supported"
            )
        if form is not None:
            if not isinstance(form, str) or form not in _FORMATS:
                known = ", ".join(_FORMATS)
                raise self._wrong(
                    place, f"'format' {str(form)[:40]!r} is not supported; {known} are"
                )
            look = f"^{_FORMATS[form]}$"
        if not isinstance(look, str):
            raise self._wrong(place, "'pattern' must be a string")
        try:
            row = pattern.read(look, self._builder, self._json.one_of)
        except FormError as error:
            raise self._wrong(place, error.what.rstrip(".")) from error
        return self._builder.choice("string", self._json.quoted(row))

    # --- values ----------------------------------------------------------------------------------------------

    def _limits(self, schema: Schema, place: str) -> numbers.Limits:
        given = {name: self._number(schema, name, place) for name in _NUMBER}
        low, above = _tighter(given["minimum"], given["exclusiveMinimum"], max)
        high, below = _tighter(given["maximum"], given["exclusiveMaximum"], min)
        return numbers.Limits(low, high, above, below)

    def _number(self, schema: Schema, name: str, place: str) -> float | None:
        value = schema.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
            raise self._wrong(place, f"'{name}' must be a number")
        return value

    def _count(self, schema: Schema, name: str, place: str) -> int | None:
        value = schema.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(place, f"'{name}' must be a whole number of 0 or more")
        if value > MAX_REPEATS:
            raise self._wrong(place, f"'{name}' can be at most {MAX_REPEATS:,}")
        return value

    def _list(self, value: object, place: str, name: str, *, least: int = 1) -> list[object]:
        if not isinstance(value, list) or not least <= len(value) <= MAX_CHOICES:
            raise self._wrong(place, f"'{name}' must be a list of {least} to {MAX_CHOICES:,}")
        return value

    def _wrong(self, place: str, what: str) -> FormError:
        return FormError(f"At {place}: {what}.")


def _tighter(
    closed: float | None, opened: float | None, pick: Callable[[float, float], float]
) -> tuple[float | None, bool]:
    """The limit that counts of a closed and an open one, and whether it is open."""
    if opened is None:
        return closed, False
    if closed is None or closed == opened or pick(closed, opened) == opened:
        return opened, True
    return closed, False


def _types(schema: Schema, place: str) -> list[str]:
    """The types that are named, or else the one that the keywords are about, or all."""
    given = schema.get("type")
    if given is None:
        about = [
            kind
            for kind in ("object", "array", "string", "number")
            if any(name in schema for name in _OF_TYPE[kind])
        ]
        return about[:1] or ["object", "array", "string", "number", "boolean", "null"]
    kinds = given if isinstance(given, list) else [given]
    if not kinds or not all(isinstance(kind, str) and kind in _OF_TYPE for kind in kinds):
        raise FormError(f"At {place}: 'type' must be of {', '.join(_OF_TYPE)}.")
    return list(dict.fromkeys(kinds))


_IS: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
