"""Our icons, tinted for the ground they stand on: the SVG files draw with `currentColor`, a colour of the theme."""

import functools
from typing import Final

from PySide6.QtCore import QByteArray, QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QPushButton, QToolButton, QWidget

from app import paths
from app.ui import theme

SMALL: Final = 16
LARGE: Final = 20
"""Sizes at the system's usual font size; `small` and `theme.px` give those of this one."""
RATIOS: Final = (1.0, 1.25, 1.5, 2.0, 3.0)
"""Pixel ratios of screens that a picture is drawn for."""


def small() -> int:
    """Side of a small icon or a mark, px: it grows with the text beside it."""
    return theme.px(SMALL)


def icon(name: str, colour: str, size: int = SMALL) -> QIcon:
    """The icon `name` in this colour; greyed by the palette's quiet colour where it is disabled."""
    return _icon(name, colour, theme.tokens().quiet, theme.px(size))


@functools.lru_cache(maxsize=256)
def _icon(name: str, colour: str, disabled: str, size: int, gap: int = 0) -> QIcon:
    result = QIcon()
    for ratio in RATIOS:
        result.addPixmap(_pixmap(name, colour, size, ratio, gap), QIcon.Mode.Normal)
        result.addPixmap(_pixmap(name, disabled, size, ratio, gap), QIcon.Mode.Disabled)
    return result


def _pixmap(name: str, colour: str, size: int, ratio: float, gap: int) -> QPixmap:
    source = (paths.resources_dir() / "icons" / f"{name}.svg").read_bytes()
    renderer = QSvgRenderer(QByteArray(source.replace(b"currentColor", colour.encode())))
    pixmap = blank(size, ratio, gap)
    with QPainter(pixmap) as painter:
        renderer.render(painter, QRectF(0, 0, size, size))
    return pixmap


def blank(size: int, ratio: float, gap: int = 0) -> QPixmap:
    """A transparent picture of this side, px, for a screen of this ratio; with a gap behind it."""
    pixmap = QPixmap(QSize(round((size + gap) * ratio), round(size * ratio)))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    return pixmap


def tint(
    button: QAbstractButton, name: str, colour: str, size: int = SMALL, *, gap: int = 0
) -> None:
    """Give `button` this icon at this size, with a gap of so many pixels between it and the words behind it."""
    side = theme.px(size)
    button.setIcon(_icon(name, colour, theme.tokens().quiet, side, gap))
    button.setIconSize(QSize(side + gap, side))


class IconButton(QToolButton):
    """A flat button of one icon.  `label` is its accessible name and, with the shortcut, its tool tip."""

    def __init__(
        self, name: str, label: str, object_name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._name = name
        self.setObjectName(object_name)
        self.setAutoRaise(True)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.relabel(label)
        self._tint()

    def relabel(self, label: str, hint: str = "") -> None:
        self.setAccessibleName(label)
        self.setToolTip(hint or label)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        tint(self, self._name, theme.tokens().quiet)


class ListButton(QPushButton):
    """A flat button of an icon and a word, as wide as its column."""

    def __init__(self, name: str, text: str, object_name: str, parent: QWidget) -> None:
        super().__init__(text, parent)
        self._name = name
        self.setObjectName(object_name)
        self.setProperty("role", "list")
        self.setAccessibleName(text)
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        tint(self, self._name, theme.tokens().quiet)
