"""A grammar as it crosses the process borders, and the messages by which it is asked for."""

from dataclasses import dataclass
from enum import StrEnum

from app.dialogue import ThoughtTags, Tool

BYTES = 256
"""Symbols below this are the bytes of UTF-8."""

OTHER = BYTES
"""The symbol of every control token that has none of its own."""

MARKS = BYTES + 1
"""`MARKS + i` is the control token `marks[i]`; classes may go on beyond the last one."""

MAX_SOURCE = 200_000
"""Characters that a grammar or a schema may have."""

Alternative = tuple[int, ...]
Rule = tuple[Alternative, ...]
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Grammar:
    """All texts that an answer may be, as a context-free grammar over symbols.

    Rule 0 is the whole answer.  A rule has alternatives, each a row of items: an item of 0 or more is the number of a
    rule, a negative one is the class `~item`: one symbol in one of its ranges (low, high), both included.
    Every rule can come to an end, and none begins with itself and goes on.
    """

    rules: tuple[Rule, ...]
    classes: tuple[tuple[Range, ...], ...]
    marks: tuple[int, ...] = ()


class Kind(StrEnum):
    """How the form of an answer is given."""

    JSON = "json"
    SCHEMA = "schema"
    GBNF = "gbnf"


@dataclass(frozen=True, slots=True)
class Form:
    """The form that an answer shall have: any JSON object, JSON of a schema, or a text of a GBNF grammar.

    `source` is the schema (as JSON) or the grammar; `field` is what whoever asked calls it, for errors.
    """

    kind: Kind
    source: str = ""
    field: str = ""

    @property
    def size(self) -> int:
        """In characters."""
        return len(self.source)


@dataclass(frozen=True, slots=True)
class CallForm:
    """The form of an answer that calls tools, each one's arguments by its schema, in the way in which the model writes calls.

    `free`: there may be text beside them or instead, and only what begins as a call is bound.  `single`: there is one call at
    most.  `folded`: the prompt asks for calls in the form that most models know, for the template knows none.
    """

    tools: tuple[Tool, ...]
    free: bool = False
    single: bool = False
    folded: bool = False

    @property
    def field(self) -> str:
        """What whoever asked calls it, for errors."""
        return "tools"

    @property
    def size(self) -> int:
        """In characters."""
        return sum(len(tool.parameters) for tool in self.tools)


@dataclass(frozen=True, slots=True)
class Constrain:
    """To the text worker: check this form and make a grammar of it.

    The grammar holds for the answer only: what the model thinks before it is free.  `opened` are the tags of
    reasoning that the prompt ends with; with `thinking` False the model does not open any itself.
    """

    request_id: int
    form: Form | CallForm
    opened: ThoughtTags | None = None
    thinking: bool | None = None


@dataclass(frozen=True, slots=True)
class Constrained:
    """The grammar."""

    request_id: int
    grammar: Grammar


@dataclass(frozen=True, slots=True)
class FormRefused:
    """This form cannot be had; `reason` is for the one who asked for it."""

    request_id: int
    reason: str
