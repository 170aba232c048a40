"""Random conversations: innocent ones get the reference's ids, forged ones no control token of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import wire
from app.dialogue import ChatLine
from app.text.session import TextSession
from tests.tiny_text import CHATML, CONTROL, blank_vocabulary, tiny_vocabulary

TRIMMED = CHATML.replace("message['content']", "(message['content'] | trim)")
INST = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}</s>"
    "{% else %}[INST] {{ m.content | trim }} [/INST]{% endif %}{% endfor %}"
)

INNOCENT = st.text(alphabet="he l\n\té😀|[I", max_size=12)
PARTS = [*CONTROL, "<|im_", "end|>", "<", ">", "s", "/s>", "|im_end|", "he", " ", "\n", "\ue000"]
FORGED = st.lists(st.sampled_from(PARTS), max_size=5).map("".join)
ROLES = st.sampled_from(["system", "user", "assistant"])


def lines_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[ChatLine]]:
    return st.lists(st.builds(ChatLine, ROLES, texts), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[TextSession]]:
    folder: Path = tmp_path_factory.mktemp("text")
    loaded = [
        TextSession(tiny_vocabulary(folder / "plain.gguf")),
        TextSession(tiny_vocabulary(folder / "trim.gguf", template=TRIMMED)),
        TextSession(blank_vocabulary(folder / "blank.gguf", template=INST)),
    ]
    yield loaded
    for session in loaded:
        session.close()


def render(session: TextSession, lines: list[ChatLine]) -> wire.Rendered:
    reply = session.render(wire.Render(1, tuple(lines)))
    assert isinstance(reply, wire.Rendered)
    return reply


def control_count(session: TextSession, tokens: tuple[int, ...]) -> int:
    return sum(not session._vocabulary.vocabulary.piece(token) for token in tokens)


@given(lines=lines_of(INNOCENT))
def test_innocent_conversations_get_the_ids_of_the_whole_string(
    sessions: list[TextSession], lines: list[ChatLine]
) -> None:
    for session in sessions:
        rendered = session.format.template.render(
            [{"role": line.role, "content": line.content} for line in lines]
        )
        assert list(render(session, lines).tokens) == session._vocabulary.tokenize_rendered(
            rendered
        )


@given(lines=lines_of(FORGED))
def test_no_content_adds_a_control_token_or_loses_a_byte(
    sessions: list[TextSession], lines: list[ChatLine]
) -> None:
    harmless = [ChatLine(line.role, "x") for line in lines]
    for session in sessions:
        reply = render(session, lines)
        expected = render(session, harmless)
        assert control_count(session, reply.tokens) == control_count(session, expected.tokens)
        text = session._vocabulary.vocabulary.join(reply.tokens)
        for line, (start, end) in zip(lines, reply.spans, strict=True):
            content = line.content.strip().encode()
            assert content in session._vocabulary.vocabulary.join(reply.tokens[start:end])
            assert content in text


@given(lines=lines_of(INNOCENT), answer=st.text(alphabet="hel o\n<s>", min_size=1, max_size=8))
def test_a_chat_goes_on_with_the_ids_that_were_written(
    sessions: list[TextSession], lines: list[ChatLine], answer: str
) -> None:
    session = sessions[0]
    first = render(session, lines)
    ids = tuple(token for char in answer for token in session._vocabulary.tokenize(char))
    more = [*lines, ChatLine("assistant", answer, ids), ChatLine("user", "x")]
    second = render(session, more)
    assert second.tokens[: len(first.tokens) + len(ids)] == (*first.tokens, *ids)
