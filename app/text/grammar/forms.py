"""From the form that is asked for to its grammar: read, checked and tried out, under limits of memory and time."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from app.dialogue import ThoughtTags
from app.errors import FormError, TextError
from app.grammar.model import MAX_SOURCE, CallForm, Form, Grammar, Kind
from app.text.control import ControlTokens
from app.text.grammar import gbnf, schema
from app.text.grammar.builder import Builder
from app.text.grammar.calls import NO_CONTROL, CallRules, Manner
from app.text.grammar.json_rules import JsonRules
from app.text.grammar.thoughts import Thoughts
from app.text.grammar.trial import try_out
from app.text.limits import limited_memory, limited_time

FORM_MEMORY = 200_000_000
"""Bytes that making a grammar may add."""

FORM_SECONDS = 1.5
"""Processor time that it may take."""


def grammar_of(
    form: Form,
    *,
    control: ControlTokens = NO_CONTROL,
    opened: ThoughtTags | None = None,
    tags: Iterable[ThoughtTags] = (),
) -> Grammar:
    """The grammar of all that may be written; raises FormError.

    `opened` are the tags of reasoning that the prompt ends with, `tags` those that the model may open itself.
    """
    if form.size > MAX_SOURCE:
        raise _refused(form, f"It has {form.size:,} characters, more than {MAX_SOURCE:,}.")
    return _within_limits(form, lambda: _made(form, control, opened, tuple(tags)))


def calls_grammar_of(
    form: CallForm,
    manners: Sequence[Manner],
    *,
    control: ControlTokens = NO_CONTROL,
    opened: ThoughtTags | None = None,
    tags: Iterable[ThoughtTags] = (),
) -> Grammar:
    """The grammar of an answer that calls tools as the `manners` say; see `grammar_of`."""
    return _within_limits(form, lambda: _calls(form, manners, control, opened, tuple(tags)))


def _within_limits(form: Form | CallForm, make: Callable[[], Grammar]) -> Grammar:
    try:
        with limited_memory(FORM_MEMORY), limited_time(FORM_SECONDS):
            return make()
    except FormError as error:
        raise _refused(form, error.what) from error
    except MemoryError as error:
        raise _refused(form, "It takes too much memory.") from error
    except TextError as error:
        raise _refused(form, "It takes too long to prepare.") from error
    except ValueError as error:
        # Nobody foresaw it, and it is still the fault of this one form.
        raise _refused(form, f"It cannot be made a grammar: {error}.") from error


def _made(
    form: Form,
    control: ControlTokens,
    opened: ThoughtTags | None,
    tags: tuple[ThoughtTags, ...],
) -> Grammar:
    builder = Builder()
    answer = _answer(form, builder)
    builder.define(builder.root, *Thoughts(builder, control).before(answer, opened, tags))
    grammar = builder.finish()
    try_out(grammar)
    return grammar


def _calls(
    form: CallForm,
    manners: Sequence[Manner],
    control: ControlTokens,
    opened: ThoughtTags | None,
    tags: tuple[ThoughtTags, ...],
) -> Grammar:
    def made(*, loose: bool) -> Grammar:
        builder = Builder()
        rules = CallRules(builder, form, control, loose=loose)
        make = rules.among_text if form.free else rules.demanded
        builder.define(builder.root, *make(manners, opened, tags))
        return builder.finish()

    try:
        grammar = made(loose=False)
    except FormError:
        # All schemas together may be too large, and only those of strict tools were promised.
        if all(tool.strict for tool in form.tools):
            raise
        grammar = made(loose=True)
    try_out(grammar)
    return grammar


def _answer(form: Form, builder: Builder) -> int:
    if form.kind is Kind.GBNF:
        return gbnf.read(form.source, builder)
    if form.kind is Kind.JSON:
        return JsonRules(builder).any_object()
    return schema.read(_decoded(form.source), builder)


def _decoded(source: str) -> object:
    try:
        return json.loads(source, parse_float=_finite, parse_constant=_no_number)
    except RecursionError as error:
        raise FormError("It is nested too deeply.") from error
    except ValueError as error:
        raise FormError(f"It is not JSON: {error}.") from error


def _finite(literal: str) -> float:
    number = float(literal)
    return number if math.isfinite(number) else _no_number(literal)


def _no_number(literal: str) -> NoReturn:
    raise FormError(f"{literal[:24]} is no number that JSON can hold.")


def _refused(form: Form | CallForm, why: str) -> FormError:
    return FormError(f"'{form.field}' cannot be used. {why}" if form.field else why, form.field)
