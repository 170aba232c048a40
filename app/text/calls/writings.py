"""How models write calls of tools, from the first sign to the last: for answers that are bound to be such calls.

`forms` reads whatever may be meant for a call; here is what is written, in one way for each family of templates.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.text.calls.known import BLOCK, DSML, FUNCTION_TAGS, GEMMA, PAIRS, deepseek
from app.text.calls.literal_calls import PYTHON, Signs
from app.text.calls.tag_calls import Tags

NAME, ID, NUMBER, SPACE = "$name", "$id", "$#", "~"
"""Stand in a text for the name of the tool, for any id, for a number, for what white space JSON may have there."""


@dataclass(frozen=True, slots=True)
class Writing:
    """Calls are `first`, then each one's head, arguments and tail, with `between` between them, then `last`.

    There may be several `heads` and `tails` to choose from.  The arguments are JSON, or `tags`, which may have been `said`
    to be a string or not, or literals between `signs`.

    `sign` is the text by which a template shows that it writes so; "" fits every template.  `marks` show in free text that a
    call has begun ((): the openings of the form do), `starts` only at the beginning of an answer.  `thoughts` closes
    reasoning where a call follows instead of an answer, and then comes `turn` ("": both are as ever).
    """

    heads: tuple[str, ...]
    tails: tuple[str, ...] = ("",)
    first: str = ""
    between: str = ""
    last: str = ""
    sign: str = ""
    tags: Tags | None = None
    said: bool = False
    signs: Signs | None = None
    marks: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    thoughts: str = ""
    turn: str = ""


def _object(name: str = "name", arguments: str = "arguments", *, before: str = "") -> tuple[str]:
    """The beginning of an object with the name and the arguments."""
    return (f'{{~{before}"{name}":~"{NAME}",~"{arguments}":~',)


_ENDS = ("~}", f',~"id":~"{ID}"~}}')
_ACTION = _object("tool_name", "parameters", before=f'"tool_call_id":~"{NUMBER}",~')
_BARE = (
    *_object(arguments="parameters"),
    *_object(arguments="parameters", before='"type":~"function",~'),
)


def _list(first: str, last: str) -> Writing:
    return Writing(_object(), _ENDS, f"{first}~", ",~", f"~{last}")


def _dsml(block: str, sign: str = "") -> Writing:
    return Writing(
        (f'<{DSML}invoke name="{NAME}">~',),
        (f"~</{DSML}invoke>",),
        first=f"<{DSML}{block}>~",
        between="~",
        last=f"~</{DSML}{block}>",
        sign=sign,
        tags=PARAMETERS,
        said=True,
    )


PARAMETERS = Tags(f'<{DSML}parameter name="', ">", f"</{DSML}parameter>", ())

_CHANNELS = (
    f"<|channel|>commentary to=functions.{NAME} <|constrain|>json<|message|>",
    f"<|channel|>commentary to=functions.{NAME} json<|message|>",
    f"<|channel|>commentary to=functions.{NAME}<|message|>",
    f" to=functions.{NAME}<|channel|>commentary json<|message|>",
    f" to=functions.{NAME}<|channel|>commentary <|constrain|>json<|message|>",
)

WRITINGS: Mapping[str, tuple[Writing, ...]] = {
    "channels": (
        Writing(
            _CHANNELS,
            between="<|call|><|start|>assistant",
            marks=("<|channel|>commentary to=functions.", "<|start|>assistant to=functions."),
            starts=(" to=functions.",),
            thoughts="<|end|>",
            turn="<|start|>assistant",
        ),
    ),
    "mistral": (
        Writing((f"[TOOL_CALLS]{NAME}[CALL_ID]{ID}[ARGS]",), sign="[CALL_ID]"),
        Writing((f"[TOOL_CALLS]{NAME}[ARGS]",), sign="[ARGS]"),
        _list("[TOOL_CALLS][", "]"),
    ),
    "deepseek": (
        Writing(
            (f"{deepseek('call▁begin')}function{deepseek('sep')}{NAME}\n```json\n",),
            (f"\n```{deepseek('call▁end')}",),
            first=deepseek("calls▁begin"),
            between="~",
            last=deepseek("calls▁end"),
            sign="```json",
        ),
        Writing(
            (f"{deepseek('call▁begin')}{NAME}{deepseek('sep')}",),
            (deepseek("call▁end"),),
            first=deepseek("calls▁begin"),
            between="~",
            last=deepseek("calls▁end"),
        ),
    ),
    "dsml": (_dsml("function_calls", "function_calls"), _dsml("tool_calls")),
    "kimi": (
        Writing(
            (f"<|tool_call_begin|>functions.{NAME}:{NUMBER}<|tool_call_argument_begin|>",),
            ("<|tool_call_end|>",),
            first="<|tool_calls_section_begin|>",
            last="<|tool_calls_section_end|>",
        ),
    ),
    "solar": (
        Writing(
            (f"<|tool_call:begin|>{ID}<|tool_call:name|>{NAME}<|tool_call:args|>",),
            ("<|tool_call:end|>",),
            first="<|tool_calls|>",
            last="<|calls|>",
            thoughts="<|end|>",
            turn="<|begin|>assistant",
        ),
    ),
    "actions": (Writing(_ACTION, ("~}",), "<|START_ACTION|>[~", ",~", "~]<|END_ACTION|>"),),
    "action": tuple(
        Writing(_object("tool_name", "parameters"), ("~}",), f"Action:{blank}```json~[~", ",~", "~]~```")
        for blank in (" ", "")
    ),
    "granite": (_list("<|tool_call|>[", "]"),),
    "toolcall": (_list("<TOOLCALL>[", "]</TOOLCALL>"),),
    "tool_calls": (
        Writing(
            _object(), ("~}",), "<tool_calls>~", "~", "~</tool_calls>", sign="<tool_calls>\\n"
        ),
        _list("<tool_calls>[", "]</tool_calls>"),
    ),
    "functools": (_list("functools[", "]"),),
    "invoke": (
        Writing(
            (f'<invoke name="{NAME}">~',),
            ("~</invoke>",),
            first="<minimax:tool_call>~",
            between="~",
            last="~</minimax:tool_call>",
            tags=Tags('<parameter name="', ">", "</parameter>", ()),
        ),
    ),
    "seed": (
        Writing(
            (f"<seed:tool_call>~<function={NAME}>~",),
            ("~</function>~</seed:tool_call>",),
            between="~",
            tags=FUNCTION_TAGS,
        ),
    ),
    BLOCK: (
        Writing(
            (f"<tool_call>~<function={NAME}>~",),
            ("~</function>~</tool_call>",),
            between="~",
            sign="<parameter=",
            tags=FUNCTION_TAGS,
        ),
        Writing((f"<function={NAME}>~",), ("~</function>",), between="~", sign="<function="),
        Writing(
            (f"<tool_call>{NAME}~",),
            ("~</tool_call>",),
            between="~",
            sign="<arg_key>",
            tags=PAIRS,
        ),
        Writing(
            tuple(f"<tool_call>~{head}" for head in _object()),
            ("~}~</tool_call>",),
            between="~",
        ),
    ),
    "python": (
        Writing(
            (f"{NAME}(",),
            (")",),
            first="<|tool_call_start|>[",
            between=",~",
            last="]<|tool_call_end|>",
            signs=PYTHON,
        ),
    ),
    "gemma": (
        Writing((f"<|tool_call>call:{NAME}{{",), ("}<tool_call|>",), between="~", signs=GEMMA),
    ),
    "lines": (Writing((f"{NAME}\n",), between=">>>", starts=(f"{NAME}\n",)),),
    "bare": (
        Writing(_BARE, ("~}",), between=";~", starts=('{~"name":~"',)),
        Writing(_BARE, ("~}",), first="<|python_tag|>", between=";~"),
    ),
}  # fmt: skip
"""By the names of `known.FORMS`; of those whose sign a template shows, the first is how its model writes."""
