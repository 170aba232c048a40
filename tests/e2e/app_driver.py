"""Runs the real program, as `app.main` builds it, beside a coroutine that uses it by mouse and keyboard."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app import main, paths, settings
from app.ui import aio
from app.ui.single_instance import SingleInstance
from app.ui.window import Window

PATIENCE = 120.0
Wanted = TypeVar("Wanted", bound=QWidget)


async def until(condition: Callable[[], object], what: object) -> None:
    """Wait for it; a watchdog, not a measure.  `what` is shown when the wait is in vain."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        await asyncio.sleep(0.02)


def find_window() -> Window | None:
    return next((w for w in QApplication.topLevelWidgets() if isinstance(w, Window)), None)


async def child(parent: QWidget, kind: type[Wanted], name: str) -> Wanted:
    """The visible widget of this name, as soon as there is one."""

    def visible() -> list[Wanted]:
        return [widget for widget in parent.findChildren(kind, name) if widget.isVisible()]

    await until(visible, name)
    return visible()[-1]


def click(widget: QWidget) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def type_text(widget: QWidget, text: str) -> None:
    QTest.keyClicks(widget, text)


def press(
    widget: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    QTest.keyClick(widget, key, modifiers)


def run(scenario: Callable[[Window], Awaitable[None]]) -> int:
    """Start the program, run `scenario`, close the window; the program's exit code."""
    instance = SingleInstance(paths.data_dir())
    assert instance.claim("") is None
    loaded = settings.load(settings.settings_path())
    application = main._application(loaded.settings)

    async def whole() -> int:
        session = aio.spawn(main._session(instance, loaded, ""))
        await until(lambda: session.done() or find_window() is not None, "the window")
        window = find_window()
        assert window is not None
        await until(window.isVisible, "the window on the screen")
        try:
            await scenario(window)
        finally:
            window.close()
            code = await session
        return code

    try:
        return aio.run(whole())
    finally:
        instance.release()
        application.quit()
