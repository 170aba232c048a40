"""A person's hand on the X server: every event takes the way of a real one, through window manager, focus and hit test."""

import asyncio
import shutil
import subprocess

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QListWidget, QWidget

from tests.e2e.app_driver import until


async def click(widget: QWidget, at: QPoint | None = None) -> None:
    """The left button in the middle of what is seen of it, or `at` a place of its own."""
    where = widget.mapToGlobal(at or widget.visibleRegion().boundingRect().center())
    await until(lambda: _is_there(widget, where), f"{widget.objectName()} where it can be clicked")
    await _do("mousemove", str(where.x()), str(where.y()), "click", "1")


async def choose(rows: QListWidget, text: str) -> None:
    """The row that has this text."""
    item = next(rows.item(n) for n in range(rows.count()) if text in rows.item(n).text())
    rows.scrollToItem(item)
    await click(rows.viewport(), rows.visualItemRect(item).center())


async def write(text: str) -> None:
    """Where the keyboard is."""
    await _do("type", "--delay", "8", text)


async def press(keys: str) -> None:
    """By X's names: `ctrl+shift+m`."""
    await _do("key", keys)


def _is_there(widget: QWidget, where: QPoint) -> bool:
    found = QApplication.widgetAt(where)
    return found is not None and (found is widget or widget.isAncestorOf(found))


async def _do(*what: str) -> None:
    tool = shutil.which("xdotool")
    assert tool, "these tests need xdotool (Debian: apt-get install xdotool)"
    await asyncio.to_thread(subprocess.run, [tool, *what], check=True, timeout=60)
