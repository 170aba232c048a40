"""Reading calls in tests: the tools, and what comes of a text in pieces."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from app.dialogue import Tool
from app.text.calls.forms import Form
from app.text.calls.kinds import kinds
from app.text.calls.known import FORMS
from app.text.calls.reading import CallBegun, CallBroken, CallDone, CallMore, Told
from app.text.calls.split import CallSplit
from app.text.thoughts import Part

WEATHER = Tool(
    "get_weather",
    "The weather in a city.",
    json.dumps(
        {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "note": {"type": ["string", "null"]},
            },
            "required": ["city"],
        }
    ),
)
TIME = Tool("time-now", "", '{"type": "object", "properties": {}}')
TOOLS = kinds((WEATHER, TIME))


@dataclass
class Outcome:
    """All that was told of one answer."""

    said: str = ""
    thought: str = ""
    calls: list[tuple[str, object]] = field(default_factory=list)
    broken: int = 0
    """Calls of which something was told before they turned out to be none."""

    def add(self, told: Iterable[Told]) -> "Outcome":
        for one in told:
            match one:
                case Part():
                    self.thought += one.text if one.thought else ""
                    self.said += "" if one.thought else one.text
                case CallBegun():
                    self._name, self._arguments = one.name, ""
                case CallMore():
                    self._arguments += one.text
                case CallDone():
                    self.calls.append((self._name, json.loads(self._arguments)))
                case CallBroken():
                    self.broken += 1
                    self.said += one.text
        return self


def read(
    pieces: Iterable[str], *forms: str | Form, cut: bool = False, single: bool = False
) -> Outcome:
    """What an answer in these forms is, which comes in these pieces."""
    known = [FORMS[form] if isinstance(form, str) else form for form in forms]
    split = CallSplit(known, TOOLS, single=single)
    outcome = Outcome()
    for piece in pieces:
        outcome.add(split.feed(piece))
    return outcome.add(split.flush(cut=cut))
