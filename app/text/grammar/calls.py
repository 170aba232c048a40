"""Calls of tools as rules, in the way in which a model writes them.

Where a call is demanded, the answer is nothing but calls; what the model thinks before it is free.  Where it may also just
answer, all is free until something begins that is read as a call: from there on it is one, of a tool that there is, with
arguments by its schema.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from app.dialogue import ThoughtTags, Tool
from app.errors import FormError
from app.grammar.model import CallForm
from app.text.calls.forms import Form
from app.text.calls.known import BLOCK, FORMS
from app.text.calls.writings import ID, NAME, NUMBER, SPACE, WRITINGS, Writing
from app.text.control import ControlTokens
from app.text.grammar.arguments import Arguments
from app.text.grammar.builder import Builder, Row
from app.text.grammar.json_rules import JsonRules
from app.text.grammar.thoughts import Thoughts, exactly, symbols
from app.text.grammar.watch import Awaited, Watch

_SIGNS = re.compile("|".join(map(re.escape, (NAME, ID, NUMBER, SPACE))))
_IN_ID = [(45, 45), (48, 57), (65, 90), (95, 95), (97, 122)]
_LONGEST_ID = 64

NO_CONTROL = ControlTokens(())


@dataclass(frozen=True, slots=True)
class Manner:
    """How the calls of an answer may be written: each form with its writings, the most usual first.

    `control` are the control tokens that may stand in them.
    """

    form: Form
    writings: tuple[Writing, ...]
    control: ControlTokens


def manners(form: str, source: str, control: ControlTokens, *, folded: bool) -> list[Manner]:
    """For a template that speaks of this form: `source` is its text.

    Where tools are folded, the prompt asks for a form in words, and nobody knows whether the model takes the tokens of that
    name for it.
    """
    if not folded:
        return [Manner(FORMS[form], _fitting(form, source), control)]
    asked = [Manner(FORMS[BLOCK], _fitting(BLOCK, ""), one) for one in (control, NO_CONTROL)]
    own = form if form not in ("", BLOCK) else ""
    return [*asked, *([Manner(FORMS[own], _fitting(own, source), control)] if own else [])]


def _fitting(form: str, source: str) -> tuple[Writing, ...]:
    """All writings of the form, the one of this template first; then rather those in which any schema can be kept."""
    known = WRITINGS[form]
    first = next(one for one in known if one.sign in source)
    return tuple(sorted(known, key=lambda one: (one is not first, one.tags is not None)))


class CallRules:
    """Makes the rules for one answer.

    Strict tools are held to their schemas, the others too where that can be done, and not `loose`.
    """

    def __init__(
        self, builder: Builder, wanted: CallForm, control: ControlTokens, *, loose: bool = False
    ) -> None:
        self._builder = builder
        self._tools = wanted.tools
        self._single = wanted.single
        self._control = control
        self._loose = loose
        self._space = JsonRules(builder).space
        self._arguments: dict[tuple[object, ...], Row] = {}

    # --- nothing but calls -----------------------------------------------------------------------------------

    def demanded(
        self, manners: Sequence[Manner], opened: ThoughtTags | None, tags: Iterable[ThoughtTags]
    ) -> list[Row]:
        """The alternatives for all that is written; see `Thoughts.before`."""
        usual = manners[:2]  # of folded tools, the form that was asked for
        answer = self._builder.choice(
            "calls",
            *(
                (*self._row(one.writings[0].first, one.control), *self._calls(one, one.writings[0]))
                for one in usual
            ),
        )
        thoughts = Thoughts(self._builder, self._control)
        writing = usual[0].writings[0]
        turn = self._row(writing.turn, self._control)
        turned = self._builder.choice("calls", (*turn, answer)) if turn else answer

        def before(pair: ThoughtTags, first: ThoughtTags | None) -> list[Row]:
            if not writing.thoughts or not pair.closing.startswith(writing.thoughts):
                return thoughts.before(answer, first, [pair])
            # Another message begins behind such thoughts, and it is the call.
            short = replace(pair, closing=writing.thoughts, answer="")
            return thoughts.before(turned, first and short, [short])

        if opened is not None:
            return before(opened, opened)
        return [(answer,), *(row for pair in tags for row in before(pair, None)[1:])]

    def _calls(
        self,
        manner: Manner,
        writing: Writing,
        heads: Sequence[str] | None = None,
        tools: Sequence[Tool] | None = None,
    ) -> Row:
        """Calls and all that comes behind them; the first one has these `heads` and is of one of these `tools`."""
        one = self._one(manner, writing, heads or writing.heads, tools or self._tools)
        last = self._row(writing.last, manner.control)
        if self._single:
            return (*one, *last)
        more = self._builder.reserve("calls")
        between = self._row(writing.between, manner.control)
        again = self._one(manner, writing, writing.heads, self._tools)
        self._builder.define(more, (*between, *again, more), ())
        return (*one, more, *last)

    def _one(
        self, manner: Manner, writing: Writing, heads: Sequence[str], tools: Sequence[Tool]
    ) -> Row:
        tails = [self._row(tail, manner.control) for tail in writing.tails]
        tail = tails[0] if len(tails) == 1 else (self._builder.choice("call", *tails),)
        rows = [
            (
                *self._row(head, manner.control, tool.name),
                *self._arguments_of(manner, writing, tool),
                *tail,
            )
            for tool in tools
            for head in heads
        ]
        return (self._builder.choice("call", *rows),)

    def _arguments_of(self, manner: Manner, writing: Writing, tool: Tool) -> Row:
        key = (manner.control, tool.name, writing.tags, writing.signs)
        if key not in self._arguments:
            try:
                loose = not tool.strict and (self._loose or not _can_be_kept(tool, manner, writing))
                arguments = Arguments(self._builder, manner.control)
                row = arguments.row(tool, writing, loose=loose)
            except FormError as error:
                raise FormError(f"The parameters of '{tool.name}': {error.what}") from error
            self._arguments[key] = (self._builder.choice("arguments", row),)
        return self._arguments[key]

    def _row(self, text: str, control: ControlTokens, name: str = "") -> Row:
        """A text of a writing, with what its signs stand for."""
        row: Row = ()
        at = 0
        for found in _SIGNS.finditer(text):
            row += self._exactly(text[at : found.start()], control)
            row += self._sign(found.group(), name)
            at = found.end()
        return row + self._exactly(text[at:], control)

    def _exactly(self, text: str, control: ControlTokens) -> Row:
        return exactly(self._builder, symbols(self._builder, control, text))

    def _sign(self, sign: str, name: str) -> Row:
        build = self._builder
        if sign == NAME:
            return build.text(name)
        if sign == SPACE:
            return (self._space,)
        if sign == NUMBER:
            return build.repeat((build.characters([(48, 57)]),), 1, 3, "number")
        return build.repeat((build.characters(_IN_ID),), 1, _LONGEST_ID, "id")

    # --- calls among other text ------------------------------------------------------------------------------

    def among_text(
        self, manners: Sequence[Manner], opened: ThoughtTags | None, tags: Iterable[ThoughtTags]
    ) -> list[Row]:
        """Any text, in which what begins as a call is one."""
        going_on = self._builder.reserve("answer")
        awaited = [one for manner in manners for one in self._awaited(manner, going_on)]
        inside = self._interrupting(manners, awaited, going_on)
        pairs = [opened] if opened is not None else [*tags]
        thoughts = {pair: self._thoughts(pair, inside, going_on) for pair in pairs}
        if opened is None:
            awaited += [
                Awaited(symbols(self._builder, self._control, pair.opening), (rule,), leading=True)
                for pair, rule in thoughts.items()
            ]
        answer = Watch(self._builder, awaited, ragged=True)
        answer.define()
        self._builder.define(going_on, (answer.again,))
        return [(answer.start if opened is None else thoughts[opened],)]

    def _thoughts(self, pair: ThoughtTags, inside: Sequence[Awaited], behind: int) -> int:
        closing = Awaited(symbols(self._builder, self._control, pair.closing), (behind,))
        watch = Watch(self._builder, [closing, *inside], ragged=True)
        watch.define()
        return watch.start

    def _interrupting(
        self, manners: Sequence[Manner], awaited: Sequence[Awaited], going_on: int
    ) -> list[Awaited]:
        """What ends reasoning that was never closed: only control tokens can."""
        calls = {one.symbols: one for one in awaited if not one.leading}
        found: list[Awaited] = []
        for text in dict.fromkeys(text for one in manners for text in one.form.in_thoughts):
            if any(True for _ in self._control.occurrences(text)):
                ids = symbols(self._builder, self._control, text)
                found.append(calls.get(ids) or Awaited(ids, (going_on,)))
        return found

    def _awaited(self, manner: Manner, going_on: int) -> list[Awaited]:
        """By what it is seen that a call has begun, and the rest of it."""
        marks = [mark for writing in manner.writings for mark in writing.marks]
        starts = [start for writing in manner.writings for start in writing.starts]
        return [
            *(
                one
                for mark in marks or manner.form.openings
                for one in self._begun(manner, mark, going_on)
            ),
            *(
                replace(one, leading=True)
                for start in starts
                for one in self._begun(manner, start, going_on)
            ),
        ]

    def _begun(self, manner: Manner, mark: str, going_on: int) -> list[Awaited]:
        """One for each way in which the mark may be written."""
        behind = () if self._single else (going_on,)
        for writing, before in product(manner.writings, (0, 1)):
            lead = writing.between if before else writing.first
            parted = [f"{lead}{head}".partition(mark) for head in writing.heads]
            heads = [rest for _, found, rest in parted if found]
            if not heads:
                continue
            some = [[tool] for tool in self._tools] if NAME in mark else [self._tools]
            return [
                Awaited(symbols(self._builder, manner.control, text), (*row, *behind))
                for tools in some
                for row in [self._calls(manner, writing, heads, tools)]
                for text in _spaced(mark.replace(NAME, tools[0].name))
            ]
        return []


def _spaced(text: str) -> list[str]:
    """The text with nothing or a blank wherever white space may be."""
    first, *others = text.split(SPACE)
    return [
        first + "".join(map("".join, zip(blanks, others, strict=True)))
        for blanks in product(("", " "), repeat=len(others))
    ]


def _can_be_kept(tool: Tool, manner: Manner, writing: Writing) -> bool:
    """Whether the schema of this tool can be promised."""
    try:
        Arguments(Builder(), manner.control).row(tool, writing, loose=False)
    except FormError:
        return False
    return True
