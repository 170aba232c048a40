"""The forms of calls that are known, by the models that write them.

In the order in which a template is compared with them: of two that fit, the first says more.
"""

from collections.abc import Mapping

from app.text.calls.forms import (
    BareForm,
    BlockForm,
    ChannelForm,
    Form,
    HeadedForm,
    JsonForm,
    LineForm,
    LiteralForm,
    TagForm,
)
from app.text.calls.literal_calls import Signs
from app.text.calls.tag_calls import Tags

_FUNCTION = "<function="
FUNCTION_TAGS = Tags("<parameter=", ">", "</parameter>", ("</function>",), padded=True)
PAIRS = Tags("<arg_key>", "</arg_key>", "</arg_value>", ("</tool_call>",), apart="<arg_value>")
DSML = "\uff5cDSML\uff5c"


GEMMA = Signs("{", ":", "}", quote='<|"|>')


def deepseek(name: str) -> str:
    """A control token of DeepSeek's."""
    return f"<\uff5ctool\u2581{name}\uff5c>"


BLOCK = "block"
"""Hermes, Qwen, GLM, Nemotron and many others; and what a model is asked to write whose template knows no tools."""

FORMS: Mapping[str, Form] = {
    "channels": ChannelForm(
        ("<|start|>assistant", "<|channel|>"),
        ("<|end|>", "<|call|>", "<|return|>"),
        at_start=True,
        in_thoughts=("<|end|>",),
        message="<|message|>",
        ends=("<|call|>", "<|end|>"),
    ),
    "mistral": HeadedForm(
        ("[TOOL_CALLS]",),
        in_thoughts=("[TOOL_CALLS]",),
        separators=("[CALL_ID]", "[ARGS]"),
        lists=True,
    ),
    "deepseek": HeadedForm(
        (deepseek("call\u2581begin"),),
        (deepseek("calls\u2581begin"), deepseek("calls\u2581end")),
        in_thoughts=(deepseek("calls\u2581begin"), deepseek("call\u2581begin")),
        separators=(deepseek("sep"),),
        closings=(deepseek("call\u2581end"),),
        last=True,
    ),
    "dsml": TagForm(
        (f'<{DSML}invoke name="',),
        tuple(
            f"<{slash}{DSML}{name}>"
            for name in ("function_calls", "tool_calls")
            for slash in ("", "/")
        ),
        named=">",
        tags=Tags(f'<{DSML}parameter name="', ">", f"</{DSML}parameter>", (f"</{DSML}invoke>",)),
    ),
    "kimi": HeadedForm(
        ("<|tool_call_begin|>",),
        ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        in_thoughts=("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
        separators=("<|tool_call_argument_begin|>",),
        closings=("<|tool_call_end|>",),
    ),
    "solar": HeadedForm(
        ("<|tool_call:begin|>",),
        ("<|end|>", "<|begin|>assistant", "<|content|>", "<|tool_calls|>", "<|calls|>"),
        in_thoughts=("<|end|>",),
        separators=("<|tool_call:name|>", "<|tool_call:args|>"),
        closings=("<|tool_call:end|>",),
        last=True,
    ),
    "actions": JsonForm(
        ("<|START_ACTION|>",),
        ("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
        in_thoughts=("<|START_ACTION|>",),
        closings=("<|END_ACTION|>",),
    ),
    "action": JsonForm(("Action: ```json", "Action:```json"), closings=("```",)),
    "granite": JsonForm(("<|tool_call|>",), in_thoughts=("<|tool_call|>",)),
    "toolcall": JsonForm(("<TOOLCALL>",), closings=("</TOOLCALL>",)),
    "tool_calls": JsonForm(("<tool_calls>",), closings=("</tool_calls>",)),
    "functools": JsonForm(("functools[",)),
    "invoke": TagForm(
        ('<invoke name="',),
        ("<minimax:tool_call>", "</minimax:tool_call>"),
        named=">",
        tags=Tags('<parameter name="', ">", "</parameter>", ("</invoke>",)),
    ),
    "seed": BlockForm(
        ("<seed:tool_call>",),
        closing="</seed:tool_call>",
        begins=_FUNCTION,
        function=FUNCTION_TAGS,
        pairs=PAIRS,
    ),
    BLOCK: BlockForm(
        ("<tool_call>", _FUNCTION),
        closing="</tool_call>",
        begins=_FUNCTION,
        function=FUNCTION_TAGS,
        pairs=PAIRS,
    ),
    "python": LiteralForm(
        ("<|tool_call_start|>",),
        in_thoughts=("<|tool_call_start|>",),
        closing="<|tool_call_end|>",
    ),
    "gemma": LiteralForm(
        ("<|tool_call>call:",),
        in_thoughts=("<|tool_call>",),
        closing="<tool_call|>",
        signs=GEMMA,
    ),
    "lines": LineForm((">>>",), at_start=True),
    "bare": BareForm(("<|python_tag|>",), at_start=True),
}
