"""The window in tests: a loop that is Qt's own."""

import gc
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from app.ui import aio, theme
from tests.gui.desk import Desk, close_desk, open_desk

Drive = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def drive(qapp: QApplication) -> Iterator[Drive]:
    """Run a coroutine on Qt's loop; what a task fails with fails the test."""
    theme.apply(qapp, "light")
    qapp.setQuitOnLastWindowClosed(False)
    failures: list[BaseException] = []

    def run(main: Coroutine[Any, Any, None]) -> None:
        async def watched() -> None:
            aio.report_to(failures.append)
            await main

        aio.run(watched())
        if failures:
            raise failures[0]

    yield run
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    gc.collect()
    left = [widget for widget in qapp.topLevelWidgets() if widget.isVisible()]
    for window in left:
        window.hide()  # or every test after this one would find it
    assert not left, f"windows left behind: {left}"


@pytest.fixture
def with_desk(drive: Drive) -> Callable[..., None]:
    """Run `scenario(desk)` on a desk that is made as `open_desk` is told, and close it."""

    def run(scenario: Callable[[Desk], Awaitable[None]], **made_with: Any) -> None:
        async def whole() -> None:
            desk = await open_desk(**made_with)
            try:
                await scenario(desk)
            finally:
                await close_desk(desk)

        drive(whole())

    return run
