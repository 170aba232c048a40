"""A conversation as a chat template sees it: its lines, what the template is told besides, how the model reasons and calls."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call; `parameters` is the JSON of its schema.

    `strict`: the arguments of a call have to be valid by it, and not only JSON.
    """

    name: str
    description: str
    parameters: str
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of the tool `name`; `arguments` is the JSON of an object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a request.  `closed`: they are shown, but what the model writes is taken for text, not for calls.
    `single`: the answer is over with its first call.  `demanded`: the answer is a call, of the tool `only` where that is
    named.
    """

    tools: tuple[Tool, ...] = ()
    closed: bool = False
    single: bool = False
    demanded: bool = False
    only: str = ""

    @property
    def callable(self) -> tuple[Tool, ...]:
        """Those that an answer may call."""
        if self.closed:
            return ()
        return tuple(tool for tool in self.tools if self.only in ("", tool.name))

    @property
    def bound(self) -> bool:
        """Whether calls have to be more than what the model happens to write."""
        return self.demanded or any(tool.strict for tool in self.callable)


@dataclass(frozen=True, slots=True)
class ChatLine:
    """One message of a conversation as the template sees it.

    `ids` are the tokens that the engine wrote for exactly this content, if it did: used as they are, a chat that goes
    on finds its own text in the pool.  `reasoning` is what was thought before; the template says if it is shown again.
    `calls` are the tools that an assistant called, and then `call_ids` what the engine wrote for content and calls
    together.  A line with the role "tool" is the result of the call `call_id`, of the tool `name`.
    """

    role: str
    content: str
    ids: tuple[int, ...] = ()
    reasoning: str = ""
    reasoning_ids: tuple[int, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_ids: tuple[int, ...] = ()
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a template is told besides the messages.

    `thinking` says whether the model shall reason before it answers, `effort` how much ("low", "medium", "high");
    None and "" leave that to the template.  `now` is the moment, in seconds since the epoch, that a template takes
    for the present (None: today): a chat keeps its first one, for a prompt that changes with the clock would
    have to be read anew.
    """

    thinking: bool | None = None
    effort: str = ""
    now: float | None = None


@dataclass(frozen=True, slots=True)
class ThoughtTags:
    """The texts between which a model reasons.

    `answer` is what it writes instead of `opening` where it answers at once, or "".
    """

    opening: str
    closing: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """How a model reasons.

    `tags` are all that may open an answer; `marks` are the control tokens among them, (id, text), whose texts are
    looked for though they are never shown.  `switch` and `effort` say whether the template can be told to reason or
    not, and how much.
    """

    tags: tuple[ThoughtTags, ...] = ()
    marks: tuple[tuple[int, str], ...] = ()
    switch: bool = False
    effort: bool = False


@dataclass(frozen=True, slots=True)
class Calling:
    """How a model writes calls of tools.

    `form` is the name of the form that its template speaks of, "" where that speaks of none (or of an unknown one);
    `marks` are the control tokens in its texts, (id, text).  `single`: an answer can hold one call only.
    """

    form: str = ""
    marks: tuple[tuple[int, str], ...] = ()
    single: bool = False
