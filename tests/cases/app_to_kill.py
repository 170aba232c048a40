"""The real program, run by test_case_46 until it is killed, and once more to see what is there.

python -m tests.cases.app_to_kill stream MODEL    five chats, three turns each, then all five stream, in a window
                                                  that is minimised; says what is seen, and when it comes forward
python -m tests.cases.app_to_kill look            what is there after the start; an answer is asked for again
python -m tests.cases.app_to_kill stand           what is there as soon as the window is; then it only stands
python -m tests.cases.app_to_kill quit            the same, and it ends in order
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit

from app.chat.events import ChatEvent, MessageAdded, MessageFinished, TextAppended
from app.chat.models import Message, Role
from app.ui.chat_tab import ChatTab
from app.ui.window import Window
from tests.e2e.app_driver import child, click, press, run, until

CHATS = 5
FINISHED_TURNS = 3
TICK_SECONDS = 0.05


def say(*words: object) -> None:
    """One line in one write, so that a kill cannot cut it from what it tells of."""
    os.write(1, (json.dumps(words) + "\n").encode())


class Seen:
    """Tells what the window has shown: it hears of everything after the window does."""

    def __init__(self, pages: Sequence[ChatTab]) -> None:
        self._pages = {page.id: page for page in pages}
        self._fresh: dict[int, str] = {}
        self.finished = 0

    def hear(self, event: ChatEvent) -> None:
        match event:
            case MessageAdded(message=message) if message.role is Role.USER:
                page = self._pages[message.conversation_id]
                assert page.transcript.flow.entries[-1].message.id == message.id
                say("user", message.id, message.text)
            case TextAppended(message_id=key, text=text):
                self._fresh[key] = self._fresh.get(key, "") + text
            case MessageFinished(message=message):
                self.finished += 1
                say("finished", message.id, message.text)

    def tell(self) -> None:
        """Say what has been added to the answers."""
        fresh, self._fresh = self._fresh, {}
        say("tick", time.monotonic(), fresh)


async def ask(window: Window, page: ChatTab, text: str) -> None:
    window.tabs.setCurrentWidget(page)
    composer = await child(page, QPlainTextEdit, "composer")
    composer.setPlainText(text)
    press(composer, Qt.Key.Key_Return)


async def stream(window: Window) -> None:
    window.model.load(sys.argv[2])
    while len(window.workspace.pages) < CHATS:
        await window.workspace.new()
    pages, chat = window.workspace.pages, window._chat
    seen = Seen(pages)
    chat.subscribe(seen.hear)
    window._preferences.update(max_answer_tokens=6)
    for turn in range(1, FINISHED_TURNS + 1):
        for page in pages:
            await ask(window, page, f"question {turn} of chat {page.id}")
        await until(lambda turn=turn: seen.finished == CHATS * turn, "the end of the turns")
    window._preferences.update(max_answer_tokens=0)
    say("streaming")
    for page in pages:
        await ask(window, page, f"last question of chat {page.id}")
    window.showMinimized()
    while not window.closed.done():
        seen.tell()
        await asyncio.sleep(TICK_SECONDS)
        if not window.isMinimized():
            say("forward")
            window.showMinimized()


async def quit_at_once(window: Window) -> None:
    say("shown", len(window.workspace.pages), window.banner.text())


async def stand(window: Window) -> None:
    await quit_at_once(window)
    await window.closed


def facts(message: Message, shown: str) -> list[object]:
    return [message.id, message.role, message.text, message.status, shown]


async def look(window: Window) -> None:
    for page in window.workspace.pages:
        window.tabs.setCurrentWidget(page)
        view = page.transcript
        stored = await window._store.messages(page.id)
        count = len(stored)
        await until(lambda view=view, count=count: view.message_count() == count, "the messages")
        shown = [view.message_text(index) for index in range(count)]
        say("chat", page.id, list(map(facts, stored, shown)))
    retry = [
        button
        for button in window.workspace.front.transcript.action_buttons()
        if button.objectName() == "retryButton"
    ]
    if retry:
        window._preferences.update(max_answer_tokens=6)
        click(retry[0])
        await until(window.workspace.busy, "the answer that was asked for again")
        await until(lambda: not window.workspace.busy(), "its end")
        stored = await window._store.messages(window.workspace.front.id)
        say("again", stored[-1].text, stored[-1].status)


if __name__ == "__main__":
    sys.exit(
        run({"stream": stream, "look": look, "stand": stand, "quit": quit_at_once}[sys.argv[1]])
    )
