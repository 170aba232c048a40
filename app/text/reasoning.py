"""How models reason: the tags that they put around it, and what their templates can be told about it."""

from collections.abc import Callable, Iterable

from app.dialogue import Thinking, ThoughtTags, Wishes
from app.text.control import ControlTokens
from app.text.marks import Plain

_ANYWHERE = (
    ThoughtTags("<think>", "</think>"),
    ThoughtTags("<thinking>", "</thinking>"),
    ThoughtTags("<thought>", "</thought>"),
    ThoughtTags("<reasoning>", "</reasoning>"),
)
"""Nobody begins an answer like this who does not mean it, whatever the template says."""

_BY_TEMPLATE = (
    ThoughtTags("<seed:think>", "</seed:think>"),
    ThoughtTags("<mm:think>", "</mm:think>"),
    ThoughtTags("[THINK]", "[/THINK]"),
    ThoughtTags("<|START_THINKING|>", "<|END_THINKING|>"),
    ThoughtTags("<|inner_prefix|>", "<|inner_suffix|>"),
    ThoughtTags("<|channel>thought\n", "<channel|>"),
    ThoughtTags(
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
        answer="<|channel|>final<|message|>",
    ),
    ThoughtTags("<|think|>", "<|end|><|begin|>assistant<|content|>", answer="<|content|>"),
    ThoughtTags("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ThoughtTags("Here is my thought process:", "Here is my response:"),
    ThoughtTags("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
)
"""Only for a model whose template or whose control tokens speak of them."""

_EFFORTS = ("low", "high")

Render = Callable[[Wishes], Plain]
"""Renders a short conversation; may raise TextError."""


def thinking(render: Render, source: str, control: ControlTokens) -> Thinking:
    """How the model of this template and vocabulary reasons; raises what `render` raises."""
    tags = (*(pair for pair in _BY_TEMPLATE if _is_known(pair, source, control)), *_ANYWHERE)
    marks = {
        token.id: token.text
        for pair in tags
        for text in (pair.opening, pair.closing, pair.answer)
        for _, token in control.occurrences(text)
    }
    return Thinking(
        tags,
        tuple(marks.items()),
        switch=_differs(render, [Wishes(wanted, now=0.0) for wanted in (True, False)]),
        effort=_differs(render, [Wishes(True, effort, now=0.0) for effort in _EFFORTS]),
    )


def spoken_of(
    tags: Iterable[ThoughtTags], source: str, control: ControlTokens
) -> tuple[ThoughtTags, ...]:
    """Those of these tags that the model knows, by its template or by its control tokens."""
    return tuple(pair for pair in tags if _is_known(pair, source, control))


def opened(plain: Plain, tags: Iterable[ThoughtTags]) -> ThoughtTags | None:
    """The tags that the template has opened at the end of the prompt."""
    end = max((place.end for place in plain.places), default=0)
    tail = plain.text[end:].rstrip()
    return next((pair for pair in tags if tail.endswith(pair.opening.rstrip())), None)


def _is_known(pair: ThoughtTags, source: str, control: ControlTokens) -> bool:
    marks = [token.text for _, token in control.occurrences(pair.closing)]
    text = pair.closing
    for mark in marks:
        text = text.replace(mark, "")
    return pair.closing in source or pair.opening in source or bool(marks and not text)


def _differs(render: Render, wishes: Iterable[Wishes]) -> bool:
    """Whether the template writes something else for each of these."""
    texts: set[str] = set()
    for number, wish in enumerate(wishes, start=1):
        texts.add(render(wish).text)
        if len(texts) < number:
            return False
    return True
