"""The arguments of one call of a tool as rules: JSON, tags around each value, or literals of a programming language.

What a schema demands is promised, or refused: where values stand without quotes, some of it cannot be written at all.
"""

import json
import re

from app.dialogue import Tool
from app.errors import FormError
from app.text.calls.kinds import Kind, kind_of, kinds_of
from app.text.calls.literal_calls import Signs
from app.text.calls.tag_calls import Tags
from app.text.calls.writings import Writing
from app.text.control import ControlTokens
from app.text.grammar.builder import Builder, Row
from app.text.grammar.json_rules import JsonRules
from app.text.grammar.literals import Quoted, Unquoted, Worded
from app.text.grammar.parameters import alternatives
from app.text.grammar.schema import NOTES, Reader, Schema
from app.text.grammar.thoughts import exactly, symbols
from app.text.grammar.watch import Awaited, Watch

_KEY = re.compile(r'[^"<>\s](?:[^"<>]{0,100}[^"<>\s])?')
_WORD = [(45, 46), (48, 57), (65, 90), (95, 95), (97, 122)]
"""Characters of a name that nobody declared."""
_LONGEST_WORD = 64


class Arguments:
    """Makes rules for one grammar; `control` are the control tokens that may stand around values."""

    def __init__(self, builder: Builder, control: ControlTokens) -> None:
        self._builder = builder
        self._control = control
        self._json = JsonRules(builder)

    def row(self, tool: Tool, writing: Writing, *, loose: bool) -> Row:
        """All arguments of a call, by the tool's schema, or where `loose` only such as can be read.  Raises FormError."""
        whole: Schema = {} if loose else json.loads(tool.parameters)
        rows = [self._written(whole, schema, writing) for schema in alternatives(whole)]
        return rows[0] if len(rows) == 1 else (self._builder.choice("arguments", *rows),)

    def _written(self, whole: Schema, schema: Schema, writing: Writing) -> Row:
        """Arguments by this one of the alternatives that `whole` names."""
        Reader(whole, self._json).check_names(schema)
        if writing.tags is not None:
            return self._tags(whole, schema, writing.tags, said=writing.said)
        if writing.signs is not None:
            return self._literals(whole, schema, writing.signs)
        return (Reader(whole, self._json).rule(schema),)

    # --- literals --------------------------------------------------------------------------------------------

    def _literals(self, whole: Schema, schema: Schema, signs: Signs) -> Row:
        rules: JsonRules
        if signs.quote:
            quote = exactly(self._builder, symbols(self._builder, self._control, signs.quote))
            barred = "" if signs.quote in self._control else signs.quote[0]
            rules = Quoted(self._builder, barred, quote)
        else:
            rules = Worded(self._builder, "<")

        def member(name: str, value: int) -> Row:
            return (*rules.key(name), *self._builder.text(signs.separator), value)

        reader = Reader(whole, rules)
        more = schema.get("additionalProperties", True)
        if _names(schema) or more is False:
            properties = schema.get("properties")
            if signs.quote and isinstance(
                properties, dict
            ):  # the template that writes so sorts them
                schema = {**schema, "properties": dict(sorted(properties.items()))}
            # The names of others would be strings, and an argument's name is a word.
            return reader.members({**schema, "additionalProperties": False}, member)
        word = self._builder.repeat(self._word, 1, _LONGEST_WORD, "key")
        value = reader.rule(more, "#/additionalProperties", 1)
        pair = (*word, *self._builder.text(signs.separator), value)
        return self._builder.separated(pair, rules.comma, 0, None, "arguments")

    @property
    def _word(self) -> Row:
        return (self._builder.characters(_WORD),)

    # --- tags ------------------------------------------------------------------------------------------------

    def _tags(self, whole: Schema, schema: Schema, tags: Tags, *, said: bool) -> Row:
        reader = Reader(whole, JsonRules(self._builder, "<"))
        reader.members(schema, lambda _name, _value: ())  # whatever is wrong with it
        names = _names(schema)
        if not names and schema.get("additionalProperties", True) in (True, {}):
            return self._any_tags(tags, said=said)
        told = kinds_of(whole)
        row: Row = ()
        for name, (inner, needed) in names.items():
            if not _KEY.fullmatch(name):
                raise FormError(f"A parameter named {name[:80]!r} cannot be written by this model.")
            if not said and kind_of(inner) is not told.get(name, Kind.ANY):
                raise FormError(
                    f"The parameter {name[:80]!r} is a string in one of the alternatives only, which this model "
                    "cannot write."
                )
            pair = self._pair(whole, reader, name, inner, tags, said=said)
            row += pair if needed else (self._builder.choice("arguments", pair, ()),)
        return row

    def _any_tags(self, tags: Tags, *, said: bool) -> Row:
        name = self._builder.repeat(self._word, 1, _LONGEST_WORD, "key")
        pair = self._tagged(name, self._free(tags), tags, text=True if said else None)
        again = self._builder.reserve("arguments")
        self._builder.define(again, (*pair, again), ())
        return (again,)

    def _pair(
        self,
        whole: Schema,
        reader: Reader,
        name: str,
        schema: object,
        tags: Tags,
        *,
        said: bool,
    ) -> Row:
        """One parameter.  What is a string stands there as it is, all else as JSON."""
        key, place = self._builder.text(name), f"#/properties/{name[:80]}"
        kind = kind_of(schema)
        if kind is not Kind.ANY and not (said and kind is Kind.TEXT_OR_NULL):
            if set(schema if isinstance(schema, dict) else ()) <= {"type", *NOTES}:
                value = self._free(tags)
            else:
                bare = Reader(whole, Unquoted(self._builder, "<"))
                value = self._padded((bare.rule(schema, place, 1),), tags, self._builder.text("\n"))
            return self._tagged(key, value, tags, text=True if said else None)
        value = self._padded((reader.rule(schema, place, 1),), tags, (self._json.space,))
        return self._tagged(key, value, tags, text=False if said else None)

    def _padded(self, value: Row, tags: Tags, beside: Row) -> Row:
        """The value and its end.  Where tags are padded something stands `beside` it: for a string always a line feed, which
        is no part of it, so that one of its own needs another."""
        beside = beside if tags.padded else ()
        return (*beside, *value, *beside, *self._exactly(tags.closing))

    def _tagged(self, name: Row, value: Row, tags: Tags, *, text: bool | None) -> Row:
        """`text`: what its tag says of it, None where tags say nothing."""
        build = self._builder
        quote = '"' if tags.opening.endswith('"') else ""
        told = "" if text is None else f' string="{str(text).lower()}"'
        row: Row = (*self._exactly(tags.opening), *name, *build.text(quote + told))
        row = (*row, *self._exactly(tags.opened))
        if tags.apart:
            row = (*row, self._json.space, *self._exactly(tags.apart))
        return (*row, *value, self._json.space)

    def _free(self, tags: Tags) -> Row:
        """Any text, and its end."""
        watch = Watch(
            self._builder, [Awaited(symbols(self._builder, self._control, tags.closing), ())]
        )
        watch.define()
        return (watch.start,)

    def _exactly(self, text: str) -> Row:
        return exactly(self._builder, symbols(self._builder, self._control, text))


def _names(schema: Schema) -> dict[str, tuple[object, bool]]:
    """The parameters that a schema names: the schema of each, and whether it is required."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = (
        [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    )
    described = properties if isinstance(properties, dict) else {}
    named = dict.fromkeys([*described, *needed])
    return {name: (described.get(name, True), name in needed) for name in named}
