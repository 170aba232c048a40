"""Case 29: text that was held back comes out however the answer ends, also where it is the user who ends it."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton

from app.chat.models import Message
from app.dialogue import Thinking, ThoughtTags
from app.store.conversations import database_path, open_store
from app.wire import FinishReason
from tests.cases.playing import play
from tests.cases.whole import open_tabs, over, until
from tests.gui.conftest import Drive
from tests.gui.desk import close_desk
from tests.played_model import Made
from tests.scripted_children import VOCABULARY

pytestmark = pytest.mark.slow

STOP = replace(VOCABULARY, stop=("###END",))
THINKS = replace(VOCABULARY, thinking=Thinking((ThoughtTags("<think>", "</think>"),)))
ENDS = ("end of turn", "stop button", "engine error", "closed tab", "length limit", "quit")


async def stored(chats: list[int]) -> list[Message]:
    """The answers of these chats, as the next start finds them."""
    store = await open_store(database_path())
    try:
        return [(await store.messages(chat))[-1] for chat in chats]
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("vocabulary", "written", "before", "whole"),
    [
        (STOP, "Result: ##", "Result: ", ("Result: ##", "")),
        (THINKS, "<think>Result: </thi", "Result:", ("", "Result: </thi")),
        (THINKS, "<thi", "", ("<thi", "")),
    ],
    ids=["stop string", "closing tag", "opening tag"],
)
def test_the_same_text_is_stored_however_it_ends(
    drive: Drive, vocabulary: object, written: str, before: str, whole: tuple[str, str]
) -> None:
    text, reasoning = whole

    async def scenario() -> None:
        made = Made()
        made.texts.greetings = (vocabulary,)
        played = await play(made)
        pages = await open_tabs(played.desk, len(ENDS))
        asked = {}
        for name, page in zip(ENDS, pages, strict=True):
            request = await played.ask(page)
            asked[name] = (request, page)
            played.write(request, written.encode())
        for page in pages:
            await until(
                lambda page=page: played.shown(page) == before, "what is certain, and no more"
            )

        await played.end(*asked["end of turn"], FinishReason.STOP)
        await played.end(*asked["engine error"], FinishReason.ERROR, "It broke.")
        await played.end(*asked["length limit"], FinishReason.LENGTH)
        _, page = asked["stop button"]
        played.desk.click(page.composer.findChild(QAbstractButton, "stopButton"))
        await over(played.desk, page)
        # An answer goes on behind a closed tab: nothing of it may be lost there either.
        _, page = asked["closed tab"]
        played.desk.window.tabs.setCurrentIndex(pages.index(page))
        played.desk.control(Qt.Key.Key_W)
        assert page not in played.desk.tabs
        await played.end(*asked["closed tab"], FinishReason.STOP)
        chats = [page.id for page in pages]
        await close_desk(played.desk)  # and so ends the last

        assert [played.told[chat][-1] for chat in chats] == [reasoning + text] * len(ENDS)
        for name, answer in zip(ENDS, await stored(chats), strict=True):
            assert (answer.text, answer.reasoning) == whole, name

    drive(scenario())
