"""Case 34: nothing in angle brackets disappears, from users or models, while it streams and when it is opened again."""

import html

import pytest

from app.chat.events import ChatEvent, TextAppended
from app.ui.chat_tab import ChatTab
from tests.cases.whole import answers, open_tabs, over, put, scripted, settings, until
from tests.gui.conftest import Drive
from tests.gui.desk import close_desk, open_desk
from tests.scripted_children import Script

pytestmark = pytest.mark.slow

TEXTS = (
    "<wink> pancakes <waves>",
    "a List<String> x = new ArrayList<>();",
    "use <div> & <span>",
    "if a < b and c > d",
    "<!-- hi -->",
    "<script>alert(1)</script>after",
    "<details><summary>s</summary>t</details>",
    "&lt;b&gt; &copy; &#65;",
)


def shows(seen: str, text: str) -> bool:
    """Whether every visible character of the source is there; entities may be decoded."""
    return text in seen or html.unescape(text) in seen


class Growing:
    """Looks at an answer whenever some more of it has come: all of that is shown."""

    def __init__(self, page: ChatTab) -> None:
        self.page = page
        self.source = ""

    def hear(self, event: ChatEvent) -> None:
        if isinstance(event, TextAppended) and event.conversation_id == self.page.id:
            self.source += event.text
            # Half an entity is shown as it is; the whole text is compared at the end.
            if "&" not in self.source:
                assert self.source.strip() in self.page.transcript.message_text(1)


def test_brackets_stay(drive: Drive) -> None:
    async def scenario() -> None:
        model = scripted(Script(echo=True))
        desk = await open_desk(generator=model, host=model, current=settings(max_answer_tokens=0))
        await model.open()
        pages = await open_tabs(desk, len(TEXTS))
        for page, text in zip(pages, TEXTS, strict=True):
            growing = Growing(page)
            unsubscribe = desk.chat.subscribe(growing.hear)
            put(page, text)
            await over(desk, page)
            unsubscribe()
            assert growing.source == text
        for page, text in zip(pages, TEXTS, strict=True):
            assert_both(page.transcript.plain_text(), text)
            (answer,) = await answers(desk, page)
            assert answer.text == text
        await close_desk(desk)

        desk = await open_desk(current=settings())
        for index, text in enumerate(TEXTS):
            desk.window.tabs.setCurrentIndex(index)
            page = desk.tabs[index]
            await until(lambda page=page: page.transcript.message_count() == 2, "the messages")
            assert_both(page.transcript.plain_text(), text)
        await close_desk(desk)

    drive(scenario())


def assert_both(seen: str, text: str) -> None:
    question, _, answer = seen.partition("Tutti\n")
    assert text in question, "typed text is shown as it was typed"
    assert shows(answer, text), answer
