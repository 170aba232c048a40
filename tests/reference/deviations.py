"""Where our prompt is not llama-server's, and why.

Each entry names what differs, the shapes of conversation and the templates.
"""

from dataclasses import dataclass

_TURNS = ("two users", "two assistants", "assistant first", "system in the middle")


@dataclass(frozen=True, slots=True)
class Deviation:
    """One reason; the first that fits a template and a shape is its."""

    why: str
    shapes: tuple[str, ...]
    templates: tuple[str, ...]


_REFUSED = (
    "The template refuses such turns, and llama-server the request; here neighbours of the same role are merged, "
    "system messages are spoken by the user, and an empty user message goes first."
)

DEVIATIONS = (
    Deviation(_REFUSED, ("system in the middle",), ("Apertus-8B-Instruct",)),
    Deviation(
        _REFUSED,
        (*_TURNS, "only system"),
        (
            "Mistral-Small-3.2-24B-Instruct-2506",
            "Qwen3.5-4B",
            "google-gemma-2-2b-it",
            "mistralai-Ministral-3-14B-Reasoning-2512",
            "mistralai-Mistral-Nemo-Instruct-2407",
        ),
    ),
    Deviation(
        "The template leaves out a system message that is not the first, and so llama-server does; here the user speaks "
        "it, for no text may be lost.",
        ("system in the middle", "only system"),
        (
            "Bielik-11B-v3.0-Instruct",
            "HuggingFaceTB-SmolLM3-3B",
            "MiniMax-M1",
            "MiniMax-M2",
            "MiniMax-M3",
            "NVIDIA-Nemotron-Nano-v2",
            "Reka-Edge",
            "openai-gpt-oss-120b",
        ),
    ),
    Deviation(
        "The template takes no system message: llama-server joins it to the question by one line feed, here a blank line "
        "stands between them.",
        ("system", "system and turns", "hard text", "thinking"),
        ("google-gemma-2-2b-it",),
    ),
    Deviation(
        "The template takes no system message, and what is sent with tools goes to the bare template: only chats without "
        "tools are arranged anew.",
        ("tools",),
        ("google-gemma-2-2b-it",),
    ),
    Deviation(
        "llama-server does not see that the template can be told to reason, and tells it not to; here it is told that the "
        "model may, as all are.",
        (
            "one question",
            "system",
            "turns",
            "system and turns",
            "hard text",
            "reasoning",
            "two users",
            "two assistants",
            "assistant first",
            "only system",
            "tools",
            "tool called",
        ),
        ("Apertus-8B-Instruct",),
    ),
    Deviation(
        "llama-server trims the texts for this template, against loops of its model; here what was typed stays as it is.",
        ("hard text",),
        ("StepFun3.5-Flash",),
    ),
    Deviation(
        "llama-server hands over old reasoning as a part of the content, which only this template knows; here old "
        "reasoning is left out.",
        ("reasoning",),
        ("mistralai-Ministral-3-14B-Reasoning-2512",),
    ),
    Deviation(
        "llama-server loses the answer of a message that has reasoning; here it is there.",
        ("reasoning",),
        ("unsloth-mistral-Devstral-Small-2507",),
    ),
    Deviation(
        "llama-server joins a tool's result to its call, against an older form of this template.",
        ("tool called",),
        ("google-gemma-4-31B-it-interleaved",),
    ),
    Deviation(
        "The template wants a description for every parameter of a tool, and one here has none; llama-server's own Jinja "
        "takes what is missing for empty.",
        ("tools", "tool called"),
        ("CohereForAI-c4ai-command-r-plus-tool_use",),
    ),
    Deviation(
        "The template changes a list, which Hugging Face's sandbox and ours forbid and llama-server's Jinja allows.",
        ("tool called",),
        ("Kimi-K2-Instruct", "Kimi-K2-Thinking"),
    ),
    Deviation(
        "The template wants a call's arguments as text; llama-server makes them so.",
        ("tool called",),
        ("meetkai-functionary-medium-v3.2",),
    ),
)


def reason(template: str, shape: str) -> Deviation | None:
    """Why these differ; None where no reason is listed."""
    for deviation in DEVIATIONS:
        if template in deviation.templates and shape in deviation.shapes:
            return deviation
    return None
