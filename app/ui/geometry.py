"""Where the window stands, kept over a restart and brought back onto the screens that there are now."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow

from app.ui import theme

DEFAULT: Final = (1120, 760)
SMALLEST: Final = (640, theme.LOWEST)
"""px at the usual scale."""
VISIBLE: Final = (100, 50)
"""At least so much of the window's upper edge has to lie on one screen."""
_DIALOG_SHARE: Final = 0.92


@dataclass(frozen=True, slots=True)
class Place:
    """Position and size of a window that is not maximised, and whether it was."""

    x: int
    y: int
    width: int
    height: int
    maximized: bool = False


def encode(place: Place) -> bytes:
    return json.dumps(asdict(place)).encode()


def decode(data: bytes | None) -> Place | None:
    """What was kept; None where that is nothing, or nonsense."""
    try:
        raw = json.loads(data or b"")
        numbers = [raw[name] for name in ("x", "y", "width", "height")]
        maximized = raw["maximized"]
    except (ValueError, KeyError, TypeError):
        return None
    if not all(type(number) is int and abs(number) < 100_000 for number in numbers):
        return None
    x, y, width, height = numbers
    return Place(x, y, width, height, maximized=maximized is True)


def fitted(place: Place | None, screens: Sequence[QRect]) -> QRect:
    """A place on one of `screens` (the first is the primary one) for the window.

    No larger than the screen; where too little of the upper edge would be seen, in the middle of the first.
    """
    home = screens[0]
    if place is None or place.width < VISIBLE[0] or place.height < VISIBLE[1]:
        return _centred(DEFAULT, home)
    wanted = QRect(place.x, place.y, place.width, place.height)
    handle = QRect(place.x, place.y, place.width, VISIBLE[1])
    for screen in screens:
        seen = screen.intersected(handle)
        if seen.width() >= VISIBLE[0] and seen.height() >= VISIBLE[1]:
            wanted.setSize(wanted.size().boundedTo(screen.size()))
            return wanted
    return _centred((place.width, place.height), home)


def _centred(size: tuple[int, int], screen: QRect) -> QRect:
    result = QRect(0, 0, min(size[0], screen.width()), min(size[1], screen.height()))
    result.moveCenter(screen.center())
    return result


def limit(window: QMainWindow) -> None:
    """Let the window become no smaller than its parts can stand, nor keep it larger than its screen."""
    room = window.screen().availableGeometry().size()
    window.setMinimumSize(QSize(theme.px(SMALLEST[0]), theme.px(SMALLEST[1])).boundedTo(room))


def fit_dialog(dialog: QDialog, width: int, height: int) -> None:
    """Make a dialog this large, px at the usual scale, or as large as its screen allows."""
    room = dialog.screen().availableGeometry().size() * _DIALOG_SHARE
    dialog.resize(QSize(theme.px(width), theme.px(height)).boundedTo(room))


def screens() -> list[QRect]:
    """What of the screens may be used, the primary one first."""
    primary = QApplication.primaryScreen()
    others = [screen for screen in QApplication.screens() if screen is not primary]
    return [screen.availableGeometry() for screen in (primary, *others)]


def of(window: QMainWindow) -> Place:
    """Where the window is now."""
    normal = window.normalGeometry()
    return Place(
        normal.x(), normal.y(), normal.width(), normal.height(), maximized=window.isMaximized()
    )
