"""What a chat template makes of tools, found out by trying it.

It is shown a tool, a call of it and the result.  The form in which it writes the call is the one whose reader gets the
same call back.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from app.dialogue import Calling, Tool, ToolCall, Wishes
from app.text.calls.forms import Form, texts
from app.text.calls.kinds import Kinds
from app.text.calls.known import BLOCK, FORMS
from app.text.calls.reading import CallBegun, CallDone, CallMore
from app.text.calls.shapes import Style, call_id, call_values, tool_values
from app.text.calls.split import CallSplit
from app.text.control import ControlTokens
from app.text.marks import common_start
from app.text.names import names
from app.text.template import ChatTemplate, TemplateFailed

_MOST_SHOWN = 20_000
"""Characters in which a template shows a call of two short arguments; what is longer is not read."""

_ASKED = "What is the probe question?"
_RESULT = "The probe result."
_ARGUMENTS = {"place": "Oz", "count": 2}
TOOLS = tuple(
    Tool(
        name,
        f"Describes {name}.",
        json.dumps(
            {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "description": "A place."},
                    "count": {"type": "integer", "description": "A count."},
                },
                "required": ["place", "count"],
            }
        ),
    )
    for name in ("probe_tool", "probe_other")
)
"""What a template is shown."""
_KINDS: Kinds = {tool.name: {} for tool in TOOLS}


@dataclass(frozen=True, slots=True)
class Learned:
    """How a template wants tools (None: it does not know them) and how its model writes calls."""

    style: Style | None = None
    calling: Calling = Calling()


def learn(template: ChatTemplate, control: ControlTokens) -> Learned:
    """Try the template; raises TemplateTooHeavy where that takes too much."""
    probe = _Probe(template)
    if not probe.shows_tools():
        return Learned(calling=_named(_spoken_of(template, control), control))
    for as_text, short_ids in product((False, True), (False, True)):
        style = Style(as_text, short_ids)
        form = probe.form(style)
        if form:
            return Learned(style, _named(form, control, single=not probe.shows_two(style)))
    return Learned(calling=_named(_spoken_of(template, control), control))


def shown(template: ChatTemplate, learned: Learned, count: int) -> str:
    """What a template that knows tools writes behind a question: so many calls, and what follows them."""
    probe, style = _Probe(template), learned.style or Style()
    return _behind(probe.talk(count, style))


class _Probe:
    """Renders conversations with calls; "" where the template refuses."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self._told = {**names(Wishes()), "tools": tool_values(TOOLS, str)}

    def shows_tools(self) -> bool:
        """Whether the definitions come out."""
        text = self._render([_question()])
        return all(tool.name in text for tool in TOOLS)

    def form(self, style: Style) -> str:
        """The name of the form in which a call comes out, "" where that is not known or the result does not."""
        text = self._render(_talk(1, style))
        if _ASKED not in text or _RESULT not in text:
            return ""
        behind = _behind(text)
        opened = self._render([_question()])
        answer = text[common_start(text, opened) :]
        for name, form in FORMS.items():
            if any(text in behind for text in form.openings) and _reads(form, behind):
                return name
            if form.at_start and _reads(form, answer):
                return name
        return ""

    def talk(self, count: int, style: Style) -> str:
        """A question, so many calls and their results."""
        return self._render(_talk(count, style))

    def shows_two(self, style: Style) -> bool:
        """Whether a message may hold two calls."""
        text = self._render(_talk(2, style))
        return TOOLS[1].name in text[text.rfind(_ASKED) :]

    def _render(self, messages: Sequence[Mapping[str, object]]) -> str:
        try:
            return self._template.render(messages, self._told)
        except TemplateFailed:
            return ""


def _behind(text: str) -> str:
    return text[text.rindex(_ASKED) + len(_ASKED) :]


def _question() -> dict[str, object]:
    return {"role": "user", "content": _ASKED}


def _talk(count: int, style: Style) -> list[dict[str, object]]:
    """A question, so many calls in one message, and their results."""
    calls = [
        ToolCall(f"call_{index:024}", tool.name, json.dumps(_ARGUMENTS))
        for index, tool in enumerate(TOOLS[:count])
    ]
    answer: dict[str, object] = {
        "role": "assistant",
        "content": "",
        "tool_calls": call_values(calls, style, str),
    }
    results: list[dict[str, object]] = [
        {
            "role": "tool",
            "content": _RESULT,
            "tool_call_id": call_id(call.id, style, str),
            "name": call.name,
        }
        for call in calls
    ]
    talk: list[dict[str, object]] = [_question(), answer]
    talk += results
    return talk


def _reads(form: Form, text: str) -> bool:
    """Whether the form's reader finds exactly the call in this text."""
    if len(text) > _MOST_SHOWN:
        return False
    split = CallSplit([form], _KINDS)
    told = [*split.feed(text), *split.flush()]
    calls = [one.name for one in told if isinstance(one, CallBegun)]
    whole = sum(isinstance(one, CallDone) for one in told)
    if calls != [TOOLS[0].name] or whole != 1:
        return False
    arguments = "".join(one.text for one in told if isinstance(one, CallMore))
    return bool(json.loads(arguments) == _ARGUMENTS)


def _spoken_of(template: ChatTemplate, control: ControlTokens) -> str:
    """The form whose opening stands in the template, or else is a control token; "" for none."""
    spoken = (name for name, form in FORMS.items() if form.openings[0] in template.source)
    known = (name for name, form in FORMS.items() if form.openings[0] in control)
    return next(spoken, "") or next(known, "")


def _named(form: str, control: ControlTokens, *, single: bool = False) -> Calling:
    """With the control tokens of this form, and of the one that is asked for where tools are folded."""
    marks = {
        token.id: token.text
        for name in (form, BLOCK)
        if name
        for text in texts(FORMS[name])
        for _, token in control.occurrences(text)
    }
    return Calling(form, tuple(marks.items()), single)
