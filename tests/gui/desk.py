"""A desk: the real window over the real store, with a script for the model; and how a test works at it.

A test is a coroutine that presses keys and clicks with QTest and waits with `until`.  Nothing here spins Qt inside
a coroutine.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app import settings
from app.chat.events import ChatEvent, TurnChanged
from app.chat.turns import ChatService
from app.settings import Settings
from app.sizing.planner import Planner
from app.store.conversations import SqliteStore, database_path, open_store
from app.ui.chat_tab import ChatTab
from app.ui.model_finder import Sources
from app.ui.preferences import Preferences
from app.ui.window import Window
from tests.fakes import FakeGenerator, FakeModelHost

_W = TypeVar("_W", bound=QObject)

TIMEOUT = 60.0
"""Seconds after which a condition that does not come true fails the test."""


async def until(condition: Callable[[], object], what: str = "") -> None:
    """Let the loop turn until `condition()` is true."""
    try:
        async with asyncio.timeout(TIMEOUT):
            while not condition():  # noqa: ASYNC110  any condition, of any widget
                await asyncio.sleep(0.002)
    except TimeoutError:
        pytest.fail(f"never came true: {what or condition}")


async def turns_of_the_loop(count: int = 20) -> None:
    """Let everything happen that is due."""
    for _ in range(count):
        await asyncio.sleep(0)


@dataclass
class Desk:
    """A window with all that stands behind it."""

    window: Window
    chat: ChatService
    store: SqliteStore
    generator: FakeGenerator
    host: FakeModelHost
    preferences: Preferences
    seen: set[int] = field(default_factory=set)
    """Chats whose turn has begun."""

    def hear(self, event: ChatEvent) -> None:
        if isinstance(event, TurnChanged):
            self.seen.add(event.conversation_id)

    @property
    def front(self) -> ChatTab:
        front = self.window.workspace.front
        assert front is not None
        return front

    @property
    def tabs(self) -> tuple[ChatTab, ...]:
        return self.window.workspace.pages

    def find(self, kind: type[_W], name: str) -> _W:
        found = self.window.findChild(kind, name)
        assert found is not None, f"no {kind.__name__} named {name}"
        return found

    def key(
        self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        """Press a key where the focus is."""
        QTest.keyClick(self.focus(), key, modifier)

    def control(self, key: Qt.Key, *, shift: bool = False) -> None:
        modifier = Qt.KeyboardModifier.ControlModifier
        if shift:
            modifier |= Qt.KeyboardModifier.ShiftModifier
        self.key(key, modifier)

    def type(self, text: str) -> None:
        edit = self.front.composer.edit
        if text.isascii():
            QTest.keyClicks(edit, text)
        else:  # QTest has no keys for other letters
            edit.insertPlainText(text)

    def click(self, widget: QWidget) -> None:
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def focus(self) -> QWidget:
        return self.window.focusWidget() or self.window

    async def say(self, text: str) -> None:
        """Type a message, send it with Enter, and wait until it is in the transcript."""
        front = self.front
        self.type(text)
        QTest.keyClick(front.composer.edit, Qt.Key.Key_Return)
        await until(lambda: text in front.transcript.plain_text(), "the message goes out")

    async def answered(self, tab: ChatTab | None = None) -> None:
        """Wait until the turn of this tab is over."""
        page = tab or self.front
        await until(lambda: page.id in self.seen and not self.chat.turn(page.id).busy, "an answer")


async def open_desk(
    *,
    generator: FakeGenerator | None = None,
    host: FakeModelHost | None = None,
    current: Settings | None = None,
    starter: Path | None = Path("/models/starter.gguf"),
    wrap: Callable[[SqliteStore], SqliteStore] | None = None,
    sources: Sources | None = None,
    planner: Planner | None = None,
) -> Desk:
    """A window over the store of this test's folder, as a start of the app makes it."""
    store = await open_store(database_path())
    store = wrap(store) if wrap else store
    generator, host = generator or FakeGenerator(), host or FakeModelHost()
    preferences = Preferences(current or Settings(), settings.settings_path())
    chat = ChatService(store, generator, lambda: preferences.current)
    window = Window(chat, store, host, preferences, starter, planner)
    await window.start()
    if sources is not None:
        window.offer_models(sources)
    window.activateWindow()
    desk = Desk(window, chat, store, generator, host, preferences)
    chat.subscribe(desk.hear)
    await until(lambda: desk.tabs and window.isActiveWindow(), "the window is ready")
    return desk


async def close_desk(desk: Desk) -> None:
    """What the app does once its window is closed."""
    desk.window.close()
    await desk.window.closed
    await desk.window.shut()
    await desk.chat.close()
    await desk.host.close()
    await desk.store.close()
    desk.window.deleteLater()
