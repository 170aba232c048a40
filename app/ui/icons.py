"""Our icons, tinted for the ground they stand on, and the marks of a turn's state.

The SVG files draw with `currentColor`; here it becomes a colour of the theme.  A mark has a shape of its own for
every state, so that it never speaks by colour alone.
"""

import functools
from typing import Final

from PySide6.QtCore import QByteArray, QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap, QPolygonF
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QPushButton, QToolButton, QWidget

from app import paths
from app.chat.events import TurnState
from app.chat.models import TabState
from app.ui import states, theme

SMALL: Final = 16
LARGE: Final = 20
_RATIOS = (1.0, 1.5, 2.0, 3.0)


def icon(name: str, colour: str, size: int = SMALL) -> QIcon:
    """The icon `name` in this colour; greyed by the palette's quiet colour where it is disabled."""
    return _icon(name, colour, theme.tokens().quiet, size)


@functools.lru_cache(maxsize=256)
def _icon(name: str, colour: str, disabled: str, size: int) -> QIcon:
    result = QIcon()
    for ratio in _RATIOS:
        result.addPixmap(_pixmap(name, colour, size, ratio), QIcon.Mode.Normal)
        result.addPixmap(_pixmap(name, disabled, size, ratio), QIcon.Mode.Disabled)
    return result


def _pixmap(name: str, colour: str, size: int, ratio: float) -> QPixmap:
    source = (paths.resources_dir() / "icons" / f"{name}.svg").read_bytes()
    renderer = QSvgRenderer(QByteArray(source.replace(b"currentColor", colour.encode())))
    pixmap = _blank(size, ratio)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap


def _blank(size: int, ratio: float) -> QPixmap:
    pixmap = QPixmap(QSize(round(size * ratio), round(size * ratio)))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    return pixmap


def mark_icon(turn: TurnState) -> QIcon:
    """The mark of this state as an icon; a null icon for an idle chat."""
    if turn.state is TabState.IDLE:
        return QIcon()
    # The pie is drawn in twentieths: enough for the eye, and few pictures to keep.
    eaten = states.percent(turn) // 5 * 5 if turn.state is TabState.READING else 0
    return _mark_icon(turn.state, eaten, mark_colour(turn.state))


@functools.lru_cache(maxsize=128)
def _mark_icon(state: TabState, eaten: int, colour: str) -> QIcon:
    result = QIcon()
    for ratio in _RATIOS:
        pixmap = _blank(SMALL, ratio)
        painter = QPainter(pixmap)
        paint_mark(painter, QRectF(0, 0, SMALL, SMALL), state, eaten, colour)
        painter.end()
        result.addPixmap(pixmap)
    return result


def mark_colour(state: TabState) -> str:
    t = theme.tokens()
    return {
        TabState.READING: t.busy,
        TabState.WRITING: t.good,
        TabState.DONE_UNREAD: t.accent,
        TabState.FAILED: t.bad,
    }.get(state, t.quiet)


def paint_mark(painter: QPainter, box: QRectF, state: TabState, eaten: int, colour: str) -> None:
    """Draw the mark of `state` in the middle of `box` (16 px); `eaten` percent of a pie are filled."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colour), 1.5))
    middle = box.center()
    match state:
        case TabState.WAITING:
            painter.drawEllipse(middle, 4.25, 4.25)
        case TabState.READING:
            painter.drawEllipse(middle, 5.25, 5.25)
            painter.setBrush(QColor(colour))
            painter.setPen(Qt.PenStyle.NoPen)
            pie = QRectF(middle.x() - 5.25, middle.y() - 5.25, 10.5, 10.5)
            painter.drawPie(pie, 90 * 16, round(-3.6 * 16 * eaten))
        case TabState.WRITING:
            painter.drawEllipse(middle, 5.5, 5.5)
            _fill(painter, colour)
            painter.drawEllipse(middle, 2.75, 2.75)
        case TabState.DONE_UNREAD:
            _fill(painter, colour)
            painter.drawEllipse(middle, 4, 4)
        case TabState.STOPPED:
            _fill(painter, colour)
            painter.drawRoundedRect(QRectF(middle.x() - 4, middle.y() - 4, 8, 8), 1.5, 1.5)
        case TabState.FAILED:
            _fill(painter, colour)
            painter.drawPolygon(_triangle(middle))
        case TabState.IDLE:
            pass
    painter.restore()


def _fill(painter: QPainter, colour: str) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))


def _triangle(middle: QPointF) -> QPolygonF:
    corners = ((0.0, -5.0), (5.5, 4.5), (-5.5, 4.5))
    return QPolygonF([QPointF(middle.x() + x, middle.y() + y) for x, y in corners])


def tint(button: QAbstractButton, name: str, colour: str, size: int = SMALL) -> None:
    """Give `button` this icon at this size."""
    button.setIcon(icon(name, colour, size))
    button.setIconSize(QSize(size, size))


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
