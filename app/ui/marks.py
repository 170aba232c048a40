"""The marks of a turn's state: a shape of its own for every state, so that it never speaks by colour alone."""

import functools
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPolygonF

from app.chat.events import TurnState
from app.chat.models import TabState
from app.ui import icons, states, theme

_SIDE: Final = 16.0
"""The shapes are drawn in a square of this side, and scaled to the one that is asked for."""


def icon(turn: TurnState, *, swollen: bool = False) -> QIcon:
    """The mark of this state as an icon; a null icon for an idle chat."""
    if turn.state is TabState.IDLE:
        return QIcon()
    # The pie is drawn in twentieths: enough for the eye, and few pictures to keep.
    eaten = states.percent(turn) // 5 * 5 if turn.state is TabState.READING else 0
    return _icon(turn.state, eaten, swollen, colour(turn.state), icons.small())


@functools.lru_cache(maxsize=128)
def _icon(state: TabState, eaten: int, swollen: bool, tint: str, size: int) -> QIcon:
    result = QIcon()
    for ratio in icons.RATIOS:
        pixmap = icons.blank(size, ratio)
        with QPainter(pixmap) as painter:
            _draw(painter, QRectF(0, 0, size, size), state, eaten, tint, swollen)
        result.addPixmap(pixmap)
    return result


def colour(state: TabState) -> str:
    t = theme.tokens()
    return {
        TabState.READING: t.busy,
        TabState.WRITING: t.good,
        TabState.DONE_UNREAD: t.accent,
        TabState.FAILED: t.bad,
    }.get(state, t.quiet)


def paint(painter: QPainter, box: QRectF, turn: TurnState, *, swollen: bool = False) -> None:
    """Draw the mark of `turn` into the square `box`; `swollen` is the other half of the pulse of writing."""
    _draw(painter, box, turn.state, states.percent(turn), colour(turn.state), swollen)


def _draw(
    painter: QPainter, box: QRectF, state: TabState, eaten: int, tint: str, swollen: bool
) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(box.center())
    painter.scale(box.width() / _SIDE, box.width() / _SIDE)
    painter.setPen(QPen(QColor(tint), 1.5))
    match state:
        case TabState.WAITING:
            painter.drawEllipse(_MIDDLE, 4.25, 4.25)
        case TabState.READING:
            painter.drawEllipse(_MIDDLE, 5.25, 5.25)
            _fill(painter, tint)
            painter.drawPie(QRectF(-5.25, -5.25, 10.5, 10.5), 90 * 16, round(-3.6 * 16 * eaten))
        case TabState.WRITING:
            painter.drawEllipse(_MIDDLE, 5.5, 5.5)
            _fill(painter, tint)
            dot = 3.75 if swollen else 2.5
            painter.drawEllipse(_MIDDLE, dot, dot)
        case TabState.DONE_UNREAD:
            _fill(painter, tint)
            painter.drawEllipse(_MIDDLE, 4, 4)
        case TabState.STOPPED:
            _fill(painter, tint)
            painter.drawRoundedRect(QRectF(-4, -4, 8, 8), 1.5, 1.5)
        case TabState.FAILED:
            _fill(painter, tint)
            painter.drawPolygon(_TRIANGLE)
        case TabState.IDLE:
            pass
    painter.restore()


_MIDDLE = QPointF(0.0, 0.0)
_TRIANGLE = QPolygonF([QPointF(0.0, -5.0), QPointF(5.5, 4.5), QPointF(-5.5, 4.5)])


def _fill(painter: QPainter, tint: str) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(tint))
