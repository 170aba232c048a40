"""Which format a model gets, and what templates insist on (cases 19, 20, 22, 23)."""

import re
from pathlib import Path

import pytest

from app import wire
from app.dialogue import ChatLine
from app.text import formats
from app.text.control import ControlToken, ControlTokens
from app.text.session import TextSession
from tests.tiny_text import (
    CHATML,
    CONTROL,
    blank_vocabulary,
    text_value,
    tiny_vocabulary,
    with_metadata,
)

STRICT = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
IGNORES_SYSTEM = (
    "{% for m in messages %}{% if m.role != 'system' %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    "{% endif %}{% endfor %}<|im_start|>assistant\n"
)


def said(*lines: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in lines]


def chosen(template: bytes | None, *control: str) -> formats.Format:
    tokens = ControlTokens(ControlToken(index, text) for index, text in enumerate(control))
    return formats.choose({} if template is None else {"": template}, tokens, bos="", eos="</s>")


CHATML_PROMPT = (
    "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
    "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n"
)
LLAMA_PROMPT = (
    "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\nb<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n"
)
GEMMA_PROMPT = (
    "<start_of_turn>user\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n"
    "<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n"
)


@pytest.mark.parametrize(
    ("control", "name", "prompt"),
    [
        (("<|im_start|>", "<|im_end|>"), "ChatML", CHATML_PROMPT),
        (("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"), "Llama 3", LLAMA_PROMPT),
        (("<start_of_turn>", "<end_of_turn>"), "Gemma", GEMMA_PROMPT),
        (("[INST]", "[/INST]"), "Mistral", "[INST]a[/INST]b</s>[INST]c[/INST]"),
        (("<s>",), "User and Assistant", "User: a\n\nAssistant: b\n\nUser: c\n\nAssistant:"),
    ],
)
def test_a_model_without_a_template_gets_a_known_format(
    control: tuple[str, ...], name: str, prompt: str
) -> None:
    found = chosen(None, *control)
    assert found.name == name
    assert found.notes == (
        f"This model has no chat template. The format “{name}” is used instead; answers may be worse.",
    )
    assert found.template.render(said(("user", "a"), ("assistant", "b"), ("user", "c"))) == prompt


def test_only_a_format_without_end_tokens_has_a_stop_string() -> None:
    assert chosen(None).stop == ("\nUser:",)
    assert chosen(None, "<|im_start|>", "<|im_end|>").stop == ()
    assert chosen(CHATML.encode()).stop == ()


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (b"", "leaves out the messages"),
        (b"{% for m in messages %}{{ m.content }", "It says"),
        (b"{{ nosuch.attr }}", "is undefined"),
        (b"x" * 5_000_000, "far too many"),
        (b"\xff\xfe", "not valid text"),
        (b"7", "leaves out the messages"),
        (b"{{ 'x' | center(9000000000000000000) }}", "mistake|memory"),
        (
            b"{% for a in range(99999) %}{% for b in range(99999) %}{{ 'x' * 1000000 }}{% endfor %}{% endfor %}",
            "end",
        ),
    ],
)
def test_a_broken_template_gets_a_note_and_a_known_format(template: bytes, reason: str) -> None:
    found = chosen(template, "<|im_start|>", "<|im_end|>")
    assert found.name == "ChatML"
    (note,) = found.notes
    assert note.startswith("The model's chat template cannot be used. ")
    assert re.search(reason, note)
    assert len(note) < 400
    assert "Traceback" not in note


def test_a_template_that_wants_parts_gets_parts() -> None:
    source = b"{% for m in messages %}{% for part in m.content %}{{ part['text'] }}{% endfor %}{% endfor %}"
    found = chosen(source)
    assert found.name == formats.OWN
    assert found.template.render(said(("user", "hi"))) == "hi"


def test_a_template_that_wants_tools_gets_an_empty_list() -> None:
    source = b"{% for tool in tools %}{{ tool }}{% endfor %}{{ 'x' + functions }}{{ messages[0].content }}"
    found = chosen(source)
    assert found.name == formats.OWN
    assert found.template.render(said(("user", "hi"))) == "xhi"


def test_the_main_template_goes_before_named_ones() -> None:
    tokens = ControlTokens([])
    named = {"tool_use": b"T{{ messages[0].content }}", "": b"M{{ messages[0].content }}"}
    for templates, first in ((named, "M"), ({"tool_use": named["tool_use"]}, "T")):
        found = formats.choose(templates, tokens, bos="", eos="")
        assert found.template.render(said(("user", "hi"))) == f"{first}hi"


# --- whole sessions on a small vocabulary ----------------------------------------------------------------------


def text_of(session: TextSession, *lines: tuple[str, str]) -> tuple[str, wire.Rendered]:
    reply = session.render(wire.Render(1, tuple(ChatLine(role, text) for role, text in lines)))
    assert isinstance(reply, wire.Rendered), reply
    return session._vocabulary.vocabulary.join(reply.tokens).decode(), reply


@pytest.mark.parametrize("template", [STRICT, IGNORES_SYSTEM])
@pytest.mark.parametrize(
    "lines",
    [
        [("system", "sys"), ("user", "a")],
        [("system", "sys"), ("user", "a"), ("user", "b")],
        [("user", "a"), ("assistant", ""), ("user", "b")],
        [("user", "a"), ("user", "b"), ("user", "c")],
        [("assistant", "hey"), ("user", "a")],
        [("system", "sys"), ("assistant", "hey"), ("user", "a")],
        [("user", "a"), ("assistant", "x"), ("system", "sys"), ("user", "b")],
        [("user", "a"), ("assistant", "x"), ("assistant", "y"), ("user", "c")],
        [("system", "sys")],
    ],
)
def test_every_conversation_leads_to_an_answer(
    tmp_path: Path, template: str, lines: list[tuple[str, str]]
) -> None:
    session = TextSession(tiny_vocabulary(tmp_path / "strict.gguf", template=template))
    assert session.format.name == formats.OWN
    text, reply = text_of(session, *lines)
    position = 0
    for (start, end), (_, content) in zip(reply.spans, lines, strict=True):
        assert session._vocabulary.vocabulary.join(reply.tokens[start:end]).decode() == content
        position = text.index(content, position)
    assert reply.notes == ()
    assert text.endswith("\nassistant")


def test_merged_messages_are_joined_by_a_blank_line(tmp_path: Path) -> None:
    session = TextSession(tiny_vocabulary(tmp_path / "strict.gguf", template=STRICT))
    text, _ = text_of(session, ("system", "sys"), ("user", "a"), ("user", "b"))
    assert text == "user\nsys\n\na\n\nb\nassistant"


def test_a_conversation_that_the_template_refuses_gets_the_known_format(tmp_path: Path) -> None:
    template = "{% if messages | length > 2 %}{{ raise_exception('too long') }}{% endif %}{{ messages[0].content }}"
    session = TextSession(tiny_vocabulary(tmp_path / "short.gguf", template=template))
    text, reply = text_of(session, ("user", "a"), ("assistant", "b"), ("user", "c"))
    assert text == "user\na\nassistant\nb\nuser\nc\nassistant\n"
    assert len(reply.notes) == 1
    assert "too long" not in reply.notes[0]


def test_a_template_too_heavy_for_a_conversation_fails_that_request(tmp_path: Path) -> None:
    template = "{{ messages[0].content }}{% if messages | length > 2 %}{{ 'x' | center(3000000000) }}{% endif %}"
    session = TextSession(tiny_vocabulary(tmp_path / "heavy.gguf", template=template))
    lines = tuple(ChatLine("user", text) for text in "abc")
    reply = session.render(wire.Render(9, lines))
    assert isinstance(reply, wire.TextFailed)
    assert reply.reason.startswith("The chat template needs too much memory. Edit ")
    assert text_of(session, ("user", "a"))[0] == "a"


def test_the_templates_own_end_mark_ends_answers(tmp_path: Path) -> None:
    control = (*CONTROL, "<turn-over>", "<turn-begins>")
    template = CHATML.replace("<|im_end|>", "<turn-over>").replace("<|im_start|>", "<turn-begins>")
    session = TextSession(
        tiny_vocabulary(tmp_path / "end.gguf", template=template, control=control)
    )
    mark = session._vocabulary.control.id("<turn-over>")
    assert session.loaded().end_tokens == (*session._vocabulary.end_tokens, mark)


def test_a_known_end_mark_is_not_named_twice(tmp_path: Path) -> None:
    session = TextSession(tiny_vocabulary(tmp_path / "tiny.gguf"))
    assert session.loaded().end_tokens == session._vocabulary.end_tokens


def test_harmless_tags_and_names_work(tmp_path: Path) -> None:
    template = (
        "{{ strftime_now('%Y')[:0] }}{% for m in messages %}{% generation %}<|im_start|>{{ m.role }}\n"
        "{{ m.content }}<|im_end|>\n{% endgeneration %}{%- if loop.index > 50 %}{%- break %}{% endif %}{% endfor %}"
    )
    path = tiny_vocabulary(tmp_path / "tags.gguf", template=template)
    named = {"tokenizer.chat_template.tool_use": text_value("{% broken")}
    session = TextSession(with_metadata(path, tmp_path / "named.gguf", named))
    assert session.format.name == formats.OWN
    assert text_of(session, ("user", "hi"))[0] == "user\nhi\n"


def test_what_the_app_is_told(tmp_path: Path) -> None:
    session = TextSession(blank_vocabulary(tmp_path / "blank.gguf", template=None))
    loaded = session.loaded()
    assert loaded.format_name == "User and Assistant"
    assert loaded.stop == ("\nUser:",)
    assert len(loaded.notes) == 1
    assert len(loaded.ends) == 4 * session._vocabulary.size
    text, reply = text_of(session, ("user", "he"))
    assert text == " User: he\n\nAssistant:"
    assert reply.tokens[0] == session._vocabulary.bos
    session.close()
