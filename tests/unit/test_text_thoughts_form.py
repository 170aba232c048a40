"""The form of an answer holds for the answer: what a model thinks before it is free."""

from pathlib import Path

import pytest

from app.dialogue import ChatLine, ThoughtTags
from app.grammar.matcher import DEAD, Matcher
from app.grammar.model import MARKS, Constrain, Constrained, Form, FormRefused, Grammar, Kind
from app.text.control import ControlToken, ControlTokens
from app.text.grammar.forms import grammar_of
from app.text.session import TextSession
from app.wire import Render, Rendered
from tests.grammars import keeps
from tests.tiny_text import CHATML, tiny_vocabulary

THINK = ThoughtTags("<think>", "</think>")
DIGITS = Form(Kind.GBNF, "root ::= [0-9]+", "grammar")
CHANNELS = ThoughtTags(
    "<|channel|>analysis<|message|>",
    "<|end|><|channel|>final<|message|>",
    answer="<|channel|>final<|message|>",
)
CONTROL = ControlTokens(
    ControlToken(number, f"<|{name}|>")
    for number, name in enumerate(("channel", "message", "end"), 90)
)


def symbols(grammar: Grammar, *parts: str | int) -> list[int]:
    """Texts as bytes, token numbers as the symbols that stand for them."""
    found: list[int] = []
    for part in parts:
        found += part.encode() if isinstance(part, str) else [MARKS + grammar.marks.index(part)]
    return found


def allows(grammar: Grammar, *parts: str | int) -> bool:
    matcher = Matcher(grammar)
    state = matcher.advance(matcher.start, symbols(grammar, *parts))
    return state != DEAD and matcher.may_end(state)


def test_with_thoughts_that_the_prompt_opened_the_form_holds_behind_their_end() -> None:
    grammar = grammar_of(DIGITS, opened=THINK)
    assert keeps(grammar, "hm: {1, <think> </thin </</think>42")
    assert keeps(grammar, "</think>\n\n42")
    assert not keeps(grammar, "42")
    assert not keeps(grammar, "hm</think>x")
    assert not keeps(grammar, "hm</think>")
    assert not keeps(grammar, "hm</think>" + "\n" * 9 + "42")


def test_a_model_may_open_its_thoughts_itself_or_answer_at_once() -> None:
    grammar = grammar_of(DIGITS, tags=(THINK,))
    assert keeps(grammar, "42")
    assert keeps(grammar, "\n<think>1 + 1?</think> 42")
    assert not keeps(grammar, "<think>1 + 1?")
    assert not keeps(grammar, "<thinking>x</thinking>42")
    assert not keeps(grammar_of(DIGITS), "<think>x</think>42")


def test_tags_of_control_tokens_are_those_tokens_and_not_their_text() -> None:
    grammar = grammar_of(DIGITS, control=CONTROL, tags=(CHANNELS,))
    assert grammar.marks
    assert allows(grammar, "7")
    assert allows(grammar, 90, "final", 91, "7")
    assert allows(grammar, 90, "analysis", 91, "so <|end|> 8", 92, 90, "final", 91, "7")
    assert not allows(grammar, 90, "analysis", 91, "so", 92, "7")
    assert not allows(grammar, "<|channel|>final<|message|>7")


@pytest.mark.parametrize("closing", ["aab", "abab", "aaa", "</think>"])
def test_the_end_is_found_wherever_its_beginning_comes_before_it(closing: str) -> None:
    grammar = grammar_of(DIGITS, opened=ThoughtTags("x", closing))
    for before in ("", closing[:1], closing[:2], closing[:-1], closing[:-1] + closing[:1], "zz"):
        text = before + closing
        # As `str.find` has it: the first end counts.
        end = text.find(closing) + len(closing)
        assert keeps(grammar, text[:end] + "5"), text


REASONING = CHATML.replace("assistant\n' }}", "assistant\n<think>\n' }}")


@pytest.mark.parametrize(
    ("template", "thinking", "free", "bound"),
    [
        (CHATML, None, "5", "<think>x</think>5"),
        (CHATML + "{# </think> #}", None, "<think>x</think>5", "x"),
        (CHATML + "{# </think> #}", False, "5", "<think>x</think>5"),
        (REASONING, None, "x</think>5", "5"),
    ],
)
def test_a_session_knows_whether_its_model_thinks(
    tmp_path: Path, template: str, thinking: bool | None, free: str, bound: str
) -> None:
    session = TextSession(tiny_vocabulary(tmp_path / "t.gguf", template=template))
    rendered = session.render(Render(1, (ChatLine("user", "hi"),)))
    assert isinstance(rendered, Rendered)
    reply = session.constrain(Constrain(2, DIGITS, rendered.opened, thinking))
    session.close()
    assert isinstance(reply, Constrained)
    assert keeps(reply.grammar, free)
    assert not keeps(reply.grammar, bound)


def test_a_session_refuses_with_the_name_of_the_field(tmp_path: Path) -> None:
    session = TextSession(tiny_vocabulary(tmp_path / "t.gguf"))
    reply = session.constrain(Constrain(2, Form(Kind.GBNF, "root ::= root", "grammar")))
    session.close()
    assert isinstance(reply, FormRefused)
    assert reply.reason.startswith("'grammar' cannot be used. Rule 'root'")
