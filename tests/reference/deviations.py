"""Where our prompt is not llama-server's, and why.

Each entry names what differs, the shapes of conversation and the templates.
"""

from dataclasses import dataclass

_TOOLS = ("tools", "tool called", "tools called at once", "tool called after reasoning")
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
        "The template does not show the tools, and llama-server leaves them out; here they stand in the system message, and "
        "calls and results in ordinary ones.",
        _TOOLS,
        (
            "HuggingFaceTB-SmolLM3-3B",
            "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
            "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
            "deepseek-ai-DeepSeek-V3.1",
            "fireworks-ai-llama-3-firefunction-v2",
            "google-gemma-2-2b-it",
            "llama-cpp-rwkv-world",
            "microsoft-Phi-3.5-mini-instruct",
        ),
    ),
    Deviation(
        "The template shows the tools but leaves out what was called; here all of it stands in ordinary messages.",
        _TOOLS,
        ("LFM2-8B-A1B", "LFM2.5-Instruct", "ibm-granite-granite-3.3-2B-Instruct"),
    ),
    Deviation(
        "The form in which this model writes calls is not read here; it is asked for another one, in the system message.",
        _TOOLS,
        (
            "Apertus-8B-Instruct",
            "GigaChat3-10B-A1.8B",
            "GigaChat3.1-10B-A1.8B",
            "Kimi-K3",
            "MiniMax-M3",
            "muse-glimmer",
            "openbmb-MiniCPM5-1B",
            "tencent-Hy3",
        ),
    ),
    Deviation(
        "The template refuses two calls in one message, and llama-server the request; here they are text.",
        ("tools called at once",),
        (
            "meta-llama-Llama-3.1-8B-Instruct",
            "meta-llama-Llama-3.2-3B-Instruct",
            "meta-llama-Llama-3.3-70B-Instruct",
        ),
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
        ("reasoning", "tool called after reasoning"),
        ("mistralai-Ministral-3-14B-Reasoning-2512",),
    ),
    Deviation(
        "llama-server has another name for old reasoning than this template; here the template gets what it asks for.",
        ("tool called after reasoning",),
        ("upstage-Solar-Open-100B",),
    ),
    Deviation(
        "llama-server loses the answer of a message that has reasoning; here it is there.",
        ("reasoning",),
        ("unsloth-mistral-Devstral-Small-2507",),
    ),
    Deviation(
        "llama-server joins a tool's result to its call, against an older form of this template.",
        _TOOLS[1:],
        ("google-gemma-4-31B-it-interleaved",),
    ),
    Deviation(
        "The template wants a description for every parameter of a tool, and one here has none; llama-server's own Jinja "
        "takes what is missing for empty.",
        _TOOLS,
        ("CohereForAI-c4ai-command-r-plus-tool_use",),
    ),
    Deviation(
        "The template changes a list, which Hugging Face's sandbox and ours forbid and llama-server's Jinja allows; "
        "tools stand in ordinary messages here.",
        _TOOLS,
        ("Kimi-K2-Instruct", "Kimi-K2-Thinking"),
    ),
)


def reason(template: str, shape: str) -> Deviation | None:
    """Why these differ; None where no reason is listed."""
    for deviation in DEVIATIONS:
        if template in deviation.templates and shape in deviation.shapes:
            return deviation
    return None
