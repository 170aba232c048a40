"""Case 32: an answer with nothing in it ends its turn and says so, and the next message is answered.

What the API makes of one is in `tests/api/test_api_stream.py`.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from app.chat.answer import EMPTY_ANSWER, ONLY_THOUGHT
from app.chat.models import TabState
from app.dialogue import Thinking, ThoughtTags
from app.text.session import TextSession
from app.wire import FinishReason, Render, Rendered
from tests.cases.playing import play
from tests.cases.whole import answers
from tests.gui.conftest import Drive
from tests.gui.desk import close_desk
from tests.played_model import Made
from tests.scripted_children import VOCABULARY
from tests.tiny_text import tiny_vocabulary

pytestmark = pytest.mark.slow

THINKS = replace(VOCABULARY, thinking=Thinking((ThoughtTags("<think>", "</think>"),)))
STRICT = (
    "{% for m in messages %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}"
    "{{ m.role }}: {{ m.content }}\n{% endfor %}"
)
"""Refuses two messages of the same role in a row, and any system prompt."""


@pytest.mark.parametrize(
    ("written", "reason", "words"),
    [
        (b"", FinishReason.STOP, EMPTY_ANSWER),
        (b"\n\n", FinishReason.STOP, EMPTY_ANSWER),
        (b"<think>Well.</think>", FinishReason.STOP, ONLY_THOUGHT),
        (b"<think>Well.", FinishReason.STOP, ONLY_THOUGHT),
        (b"", FinishReason.ERROR, "It broke."),
    ],
    ids=["nothing", "white space", "thoughts", "open thoughts", "an error"],
)
def test_the_tab_says_so_and_the_chat_goes_on(
    drive: Drive, tmp_path: Path, written: bytes, reason: FinishReason, words: str
) -> None:
    async def scenario() -> None:
        made = Made()
        made.texts.greetings = (THINKS,)
        played = await play(made)
        desk, page = played.desk, played.desk.front
        request = await played.ask(page, "first")
        played.write(request, written)
        await played.end(request, page, reason, words if reason is FinishReason.ERROR else "")
        state = desk.chat.turn(page.id)
        assert (state.state, state.error) == (TabState.FAILED, words)
        assert words in page.transcript.message_text(1)
        names = [button.objectName() for button in page.transcript.action_buttons()]
        assert "retryButton" in names

        request = await played.ask(page, "second")
        played.write(request, b"fine")
        await played.end(request, page, FinishReason.STOP)
        assert [answer.text.strip() for answer in await answers(desk, page)] == ["", "fine"]

        render = [sent for sent in made.texts.last.sent if isinstance(sent, Render)][-1]
        session = TextSession(tiny_vocabulary(tmp_path / "strict.gguf", template=STRICT))
        prompt = session.render(render)
        assert isinstance(prompt, Rendered), prompt
        text = session._vocabulary.vocabulary.join(prompt.tokens).decode()
        assert text.index("first") < text.index("second"), "nothing that was asked is left out"
        session.close()
        await close_desk(desk)

    drive(scenario())
