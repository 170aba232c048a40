"""Calls that an answer is bound to: whatever their grammar allows is read as calls of tools that there are, by their schemas."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from app.dialogue import Tool
from app.grammar.matcher import DEAD, Matcher
from app.grammar.model import MARKS, OTHER, CallForm, Grammar
from app.text.calls.forms import texts, with_symbols
from app.text.calls.kinds import kinds
from app.text.calls.known import BLOCK, FORMS
from app.text.calls.split import CallSplit
from app.text.calls.writings import WRITINGS, Writing
from app.text.control import ControlToken, ControlTokens
from app.text.grammar.calls import NO_CONTROL, Manner, manners
from app.text.grammar.forms import calls_grammar_of
from app.text.thoughts import symbols
from tests.called import Outcome
from tests.grammars import derived
from tests.json_schema import valid

TRAVEL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 30},
        "class": {"enum": ["first", "second", "none <at> all"]},
        "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2,4}$"},
        "note": {"type": ["string", "null"]},
        "stops": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"at": {"type": "string"}, "late": {"type": "boolean"}},
                "required": ["at"],
                "additionalProperties": False,
            },
            "maxItems": 2,
        },
        "price": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    },
    "required": ["city", "days", "stops", "price"],
    "additionalProperties": False,
}
# Without quotes there is no way to tell this from a tag.
TAGGED = {
    **TRAVEL,
    "properties": {**TRAVEL["properties"], "class": {"enum": ["first", "2", "null"]}},
}
FREE = Tool("free-form", "", '{"type": "object"}')
ODD = Tool("odd", "", '{"type": "object", "properties": {"x": {"not": {}}}}')

_CONTROL = re.compile(
    r"<\|[^>]+?\|>|<[\uff5c][^>]+?[\uff5c]>|\[[A-Z_]+\]|<\|tool_call>|<tool_call\|>|<\|\"\|>|</?tool_call>"
)
TOKEN = 1_000
"""From here on numbers are those of control tokens, in `in_grammar`."""
EVERY = [(form, writing) for form, known in WRITINGS.items() for writing in known]
IDS = [f"{form}-{writing.sign or number}" for number, (form, writing) in enumerate(EVERY)]


def control_of(form: str) -> ControlTokens:
    """The texts of this form that are control tokens where they can be."""
    every = [one for writing in WRITINGS[form] for one in _texts(writing)]
    found = {name for text in (*texts(FORMS[form]), *every) for name in _CONTROL.findall(text)}
    return ControlTokens(
        ControlToken(500 + number, name) for number, name in enumerate(sorted(found))
    )


def _texts(writing: Writing) -> Iterator[str]:
    yield from (*writing.heads, *writing.tails, writing.first, writing.last, writing.turn)


class Reader:
    """Reads what a grammar wrote, as the app does."""

    def __init__(
        self, form: str, control: ControlTokens, tools: tuple[Tool, ...], *, folded: bool = False
    ) -> None:
        self._names = {control.id(text): text for text in control.texts()}
        marks = [(token or 0, text) for token, text in self._names.items()][:32]
        _, letters = symbols((), marks)
        self._letters = {text: letters[token] for token, text in marks if token in letters}
        own = [with_symbols(FORMS[form], self._letters)]
        self._forms = [FORMS[BLOCK], *own] if folded else own
        self._tools = tools

    def read(self, grammar: Grammar, seed: int) -> tuple[str, Outcome]:
        text = self.text(grammar, derived(grammar, seed))
        split = CallSplit(self._forms, kinds(self._tools))
        return text, Outcome().add([*split.feed(text), *split.flush()])

    def text(self, grammar: Grammar, written: list[int]) -> str:
        data = b""
        for symbol in written:
            if symbol >= MARKS:
                name = self._names[grammar.marks[symbol - MARKS]]
                data += self._letters.get(name, name).encode()
            elif symbol != OTHER:
                data += bytes([symbol])
        return data.decode("utf-8", "replace")


def tools_for(writing: Writing, *, marked: bool) -> tuple[Tool, ...]:
    bare = writing.tags is not None or (writing.signs is not None and not marked)
    schema = TAGGED if bare else TRAVEL
    return (Tool("travel", "", json.dumps(schema), strict=True), FREE, ODD)


def check(calls: list[tuple[str, object]], text: str) -> None:
    for name, arguments in calls:
        assert name in ("travel", "free-form", "odd"), text
        assert isinstance(arguments, dict), text
        if name == "travel":
            assert valid(
                arguments, TRAVEL | {"properties": TRAVEL["properties"] | {"class": True}}
            ), text
            assert arguments.get("class", "first") in (
                "first",
                "second",
                "none <at> all",
                "2",
                "null",
            ), text


@pytest.mark.parametrize("marked", [True, False], ids=["tokens", "letters"])
@pytest.mark.parametrize(("form", "writing"), EVERY, ids=IDS)
def test_what_is_demanded_is_read_as_calls_by_the_schema(
    form: str, writing: Writing, marked: bool
) -> None:
    control = control_of(form) if marked else NO_CONTROL
    tools = tools_for(writing, marked=marked)
    chosen = Manner(FORMS[form], (writing,), control)
    single = not marked
    grammar = calls_grammar_of(CallForm(tools, single=single), [chosen], control=control)
    reader = Reader(form, control, tools)
    for seed in range(4):
        text, outcome = reader.read(grammar, seed)
        assert outcome.calls, text
        assert (outcome.said, outcome.broken) == ("", 0), text
        assert not single or len(outcome.calls) == 1
        check(outcome.calls, text)


def in_grammar(grammar: Grammar, before: str, call: list[int], behind: str = "") -> bool:
    """Whether a text of it is all of this; in a call, numbers from `TOKEN` on are control tokens."""
    matcher = Matcher(grammar)
    marks = {token + TOKEN: MARKS + index for index, token in enumerate(grammar.marks)}
    wanted = [one if one < TOKEN else marks.get(one, OTHER) for one in call]
    state = matcher.advance(matcher.start, [*before.encode(), *wanted, *behind.encode()])
    return state != DEAD and matcher.may_end(state)


@pytest.mark.parametrize(("form", "writing"), EVERY, ids=IDS)
def test_among_other_text_a_call_that_has_begun_is_bound(form: str, writing: Writing) -> None:
    control = control_of(form)
    (travel, *_) = tools_for(writing, marked=True)
    wanted = CallForm((travel,), single=True)
    whole = calls_grammar_of(wanted, [Manner(FORMS[form], (writing,), control)], control=control)
    written = manners(form, writing.sign, control, folded=False)
    free = calls_grammar_of(CallForm((travel,), free=True), written, control=control)
    assert in_grammar(free, "anything <b> at all {", [])
    for seed in range(3):
        call = [one + TOKEN - MARKS if one >= MARKS else one for one in derived(whole, seed)]
        call = [whole.marks[one - TOKEN] + TOKEN if one >= TOKEN else one for one in call]
        if form == "bare":  # as its template writes it, and only at the beginning
            text = re.sub(
                r'\{\s*("type":\s*"function",\s*)?"name":\s*', '{"name": ', as_text(call), count=1
            )
            call, before = [*map(ord, text)], ""
        else:
            leading = as_text(call).startswith(" to=")
            before = "" if leading else ">>>" if form == "lines" else "So:\n"
        assert in_grammar(free, before, call, "Done."), as_text(call)
        other = [*map(ord, as_text(call).replace("days", "dayz"))]
        assert not in_grammar(free, before, other), "a parameter that the tool does not have"


def as_text(call: list[int]) -> str:
    return "".join(map(chr, call))
