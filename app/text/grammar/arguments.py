"""The arguments of one call of a tool as rules: JSON, tags around each value, or literals of a programming language.

What a schema demands is promised, or refused: where values stand without quotes, some of it cannot be written at all.
"""

import json
import re
from collections.abc import Mapping

from app.dialogue import Tool
from app.errors import FormError
from app.text.calls.kinds import Kind, kind_of
from app.text.calls.literal_calls import Signs
from app.text.calls.tag_calls import Tags
from app.text.calls.writings import Writing
from app.text.control import ControlTokens
from app.text.grammar.builder import Builder, Row
from app.text.grammar.json_rules import JsonRules
from app.text.grammar.literals import Quoted, Unquoted, Worded
from app.text.grammar.schema import NOTES, Reader
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
        schema = {} if loose else _schema(tool)
        Reader(schema, self._json).check_names(schema)
        if writing.tags is not None:
            return self._tags(schema, writing.tags, said=writing.said, loose=loose)
        if writing.signs is not None:
            return self._literals(schema, writing.signs)
        return (Reader(schema, self._json).rule({"type": "object", **schema}),)

    # --- literals --------------------------------------------------------------------------------------------

    def _literals(self, schema: Mapping[str, object], signs: Signs) -> Row:
        rules: JsonRules
        if signs.quote:
            quote = exactly(self._builder, symbols(self._builder, self._control, signs.quote))
            barred = "" if signs.quote in self._control else signs.quote[0]
            rules = Quoted(self._builder, barred, quote)
        else:
            rules = Worded(self._builder, "<")

        def member(name: str, value: int) -> Row:
            return (*rules.key(name), *self._builder.text(signs.separator), value)

        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            if signs.quote:  # the template that writes so sorts them
                schema = {**schema, "properties": dict(sorted(properties.items()))}
            return Reader(schema, rules).members(schema, member)
        word = self._builder.repeat(self._word, 1, _LONGEST_WORD, "key")
        pair = (*word, *self._builder.text(signs.separator), rules.any_value())
        return self._builder.separated(pair, rules.comma, 0, None, "arguments")

    @property
    def _word(self) -> Row:
        return (self._builder.characters(_WORD),)

    # --- tags ------------------------------------------------------------------------------------------------

    def _tags(self, schema: Mapping[str, object], tags: Tags, *, said: bool, loose: bool) -> Row:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            return self._any_tags(tags, said=said) if loose else self._no_tags(schema)
        reader = Reader(schema, JsonRules(self._builder, "<"))
        reader.members(schema, lambda _name, _value: ())  # whatever is wrong with it
        required = schema.get("required", [])
        row: Row = ()
        for name, inner in properties.items():
            if not _KEY.fullmatch(name):
                raise FormError(f"A parameter named {name[:80]!r} cannot be written by this model.")
            pair = self._pair(schema, reader, name, inner, tags, said=said)
            needed = isinstance(required, list) and name in required
            row += pair if needed else (self._builder.choice("arguments", pair, ()),)
        return row

    def _no_tags(self, schema: Mapping[str, object]) -> Row:
        if schema.get("required"):
            raise FormError("'required' names parameters that 'properties' does not describe.")
        return ()

    def _any_tags(self, tags: Tags, *, said: bool) -> Row:
        name = self._builder.repeat(self._word, 1, _LONGEST_WORD, "key")
        pair = self._tagged(name, self._free(tags), tags, text=True if said else None)
        again = self._builder.reserve("arguments")
        self._builder.define(again, (*pair, again), ())
        return (again,)

    def _pair(
        self,
        whole: Mapping[str, object],
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


def _schema(tool: Tool) -> dict[str, object]:
    """The schema of the arguments, which are always an object; raises FormError for any other."""
    schema = json.loads(tool.parameters)
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise FormError("The parameters of a tool must be an object.")
    alone = next(
        (name for name in ("$ref", "anyOf", "oneOf", "allOf", "enum", "const") if name in schema),
        "",
    )
    if alone:
        raise FormError(f"'{alone}' at the top of the parameters is not supported.")
    return schema
