"""Prompts of thirty styles of templates: what they write, what is data in them, and what stays from turn to turn."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app import wire
from app.dialogue import ChatLine, Tool, ToolCall, Wishes
from app.text.names import names
from app.text.session import TextSession
from app.text.template import ChatTemplate
from tests.template_styles import STYLES, Style
from tests.tiny_text import tiny_vocabulary

SYSTEM = ChatLine("system", "Be brief.")
TALK = (SYSTEM, ChatLine("user", "one"), ChatLine("assistant", "two"), ChatLine("user", "three"))
LEAD = {
    "mistral v3",
    "llama 2",
    "glm 4.5",
    "vicuna",
    "gpt-oss",
    "qwen 3",
    "deepseek v3.1",
    "command a",
}
"""They write something before an answer that the prompt for it does not end with: the model writes it itself."""
REFUSE_A_SYSTEM = {"gemma 2", "mistral v1"}
PARAMETERS = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'


@dataclass
class Model:
    """A session with this style's template and control tokens."""

    style: Style
    session: TextSession

    def render(
        self, *lines: ChatLine, wishes: Wishes = Wishes(), tools: tuple[Tool, ...] = ()
    ) -> wire.Rendered:
        found = self.session.render(wire.Render(1, lines, wishes, tools))
        assert isinstance(found, wire.Rendered), found
        assert found.notes == (), "the template itself was used"
        return found

    def shown(self, tokens: tuple[int, ...]) -> str:
        """The text with the control tokens' texts in it."""
        vocabulary = self.session._vocabulary
        pieces = vocabulary.vocabulary
        return b"".join(
            vocabulary.text(token).encode() if self.is_control(token) else pieces.piece(token)
            for token in tokens
        ).decode()

    def is_control(self, token: int) -> bool:
        return self.session._vocabulary.text(token) in self.session._vocabulary.control

    def control(self, rendered: wire.Rendered) -> list[int]:
        return [token for token in rendered.tokens if self.is_control(token)]


Make = Callable[[str], Model]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def one(name: str) -> Model:
        style = STYLES[name]
        path = tiny_vocabulary(
            tmp_path / "tiny.gguf",
            template=style.source,
            control=style.control,
            bos=style.bos,
            eos=style.eos,
            add_bos=style.add_bos,
        )
        return Model(style, TextSession(path))

    return one


every_style = pytest.mark.parametrize("name", STYLES)


@every_style
def test_the_prompt_is_what_the_template_writes_with_one_bos(make: Make, name: str) -> None:
    model = make(name)
    assert model.session.format.name == "the model's own"
    for lines in (TALK[1:2], TALK[1:], TALK):
        if name in REFUSE_A_SYSTEM and lines[0] is SYSTEM:
            question = replace(lines[1], content=f"{SYSTEM.content}\n\n{lines[1].content}")
            written = plain(model.style, (question, *lines[2:]))
        else:
            written = plain(model.style, lines)
        if model.style.add_bos and not written.startswith(model.style.bos):
            written = model.style.bos + written
        rendered = model.render(*lines)
        assert model.shown(rendered.tokens) == written
        for line, (start, end) in zip(lines, rendered.spans, strict=True):
            assert model.shown(rendered.tokens[start:end]).strip() == line.content
        if model.style.add_bos:
            questions = sum(line.role == "user" for line in lines)
            often = questions if model.style.bos_often else 1
            assert rendered.tokens.count(model.session._vocabulary.bos or 0) == often


def plain(style: Style, lines: tuple[ChatLine, ...]) -> str:
    typed = style is STYLES["chatml, parts"]
    template = ChatTemplate(style.source, bos=style.bos, eos=style.eos, typed=typed)
    return template.render(
        [{"role": line.role, "content": line.content} for line in lines], names(Wishes())
    )


@every_style
def test_no_content_becomes_a_control_token_or_unmakes_one(make: Make, name: str) -> None:
    model = make(name)
    control = model.style.control
    expected = model.control(model.render(*TALK))
    for forged in (*control, "".join(control), "<think>", "</think>", "<think>x</think>"):
        for index, line in enumerate(TALK):
            lines = list(TALK)
            lines[index] = replace(line, content=f"a{forged}b")
            rendered = model.render(*lines)
            assert model.control(rendered) == expected, (forged, line.role)
            # Of an answer some templates leave out what looks like thoughts.
            if line.role != "assistant":
                assert f"a{forged}b" in model.shown(rendered.tokens)


@every_style
def test_no_part_of_a_tool_or_a_call_becomes_a_control_token(make: Make, name: str) -> None:
    model = make(name)

    def talk(more: str) -> tuple[wire.Rendered, str]:
        call = ToolCall("call_0123456789abcdef", "weather", f'{{"city": "Bonn{more}"}}')
        lines = (
            ChatLine("user", "how is it?"),
            ChatLine("assistant", "", calls=(call,)),
            ChatLine("tool", f"sunny{more}", call_id=call.id, name="weather"),
            ChatLine("assistant", "It is sunny."),
            ChatLine("user", "thanks"),
        )
        tool = Tool("weather", f"Tells the weather{more}.", PARAMETERS)
        rendered = model.render(*lines, tools=(tool,))
        return rendered, model.shown(rendered.tokens)

    good, text = talk("")
    assert good.folded is not model.style.tools
    for word in ("Tells the weather", "Bonn", "sunny", "thanks"):
        assert word in text
    for forged in (*model.style.control, "".join(model.style.control)):
        rendered, _ = talk(forged)
        assert model.control(rendered) == model.control(good), forged


@every_style
def test_what_was_read_and_written_begins_the_next_prompt(make: Make, name: str) -> None:
    model = make(name)
    lines: list[ChatLine] = [SYSTEM]
    before: tuple[int, ...] = ()
    for turn in range(3):
        lines.append(ChatLine("user", f"question {turn}"))
        tokens = model.render(*lines).tokens
        kept = len(before)
        while before[:kept] != tokens[:kept]:
            kept -= 1
        lost = model.shown(before[kept:])
        if name == "mistral v3":  # it has the system's text before the last question
            assert lost in ("", f"{SYSTEM.content}\n\nquestion {turn - 1}[/INST]")
        elif model.style.thinks == "open":  # and it leaves the thoughts out later
            assert lost in ("", f"<think>\nanswer {turn - 1}")
        else:
            assert lost == ""
        ids = tuple(model.session._vocabulary.tokenize(f"answer {turn}", inside=True))
        lines.append(ChatLine("assistant", f"answer {turn}", ids))
        before = tokens + (() if name in LEAD else ids)


@every_style
def test_the_wish_for_thoughts_is_heard_where_the_template_hears_it(make: Make, name: str) -> None:
    model = make(name)
    question = TALK[1]
    on, off = (model.render(question, wishes=Wishes(thinking=wish)) for wish in (True, False))
    thinking = model.session.thinking
    assert thinking.switch is (model.style.thinks == "switch")
    assert (on.tokens != off.tokens) is thinking.switch
    assert off.opened is None or model.style.thinks == "open"
    assert thinking.effort is (model.style.thinks == "effort")
    if thinking.effort:
        high = model.render(question, wishes=Wishes(effort="high"))
        assert "Reasoning: high" in model.shown(high.tokens)
    if model.style.thinks == "open":
        assert on.opened is not None
        assert on.opened.opening == "<think>"
