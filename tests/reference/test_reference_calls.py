"""Calls as real templates write them are among those that an answer can be bound to."""

from pathlib import Path

import pytest

from app.grammar.matcher import DEAD, Matcher
from app.grammar.model import CallForm, Grammar
from app.text import formats
from app.text.calls.learning import TOOLS, learn, shown
from app.text.control import ControlTokens
from app.text.grammar.calls import NO_CONTROL, manners
from app.text.grammar.forms import calls_grammar_of
from tests.reference import sources
from tests.reference.ours import BOS, EOS
from tests.reference.test_reference_prompts import models

__all__ = ["models"]


@pytest.mark.slow
def test_calls_as_templates_write_them_can_be_written(models: Path) -> None:
    seen, missing = 0, []
    for name, source in sources.templates(models).items():
        template = formats.choose(
            {"": source.encode()}, ControlTokens([]), bos=BOS, eos=EOS
        ).template
        learned = learn(template, NO_CONTROL)
        if learned.style is None or not learned.calling.form:
            continue
        written = manners(learned.calling.form, template.source, NO_CONTROL, folded=False)
        grammar = calls_grammar_of(CallForm(TOOLS), written)
        count = 1 if learned.calling.single else 2
        text, last = shown(template, learned, count), TOOLS[count - 1].name
        ways = (_holds(grammar, text[at:], last) for at in range(min(len(text), 200)))
        if not any(ways):
            missing.append((name, text[:300]))
        seen += 1
    assert missing == []
    assert seen > 40


def _holds(grammar: Grammar, text: str, last: str) -> bool:
    """Whether the grammar allows a beginning of this text, with the `last` call in it."""
    matcher = Matcher(grammar)
    state = matcher.start
    needed = len(text[: text.find(last) + len(last)].encode())
    for done, byte in enumerate(text.encode(), start=1):
        state = matcher.advance(state, (byte,))
        if state == DEAD:
            return False
        if done > needed and matcher.may_end(state):
            return True
    return False
