"""The buttons in the transcript: real ones, so that they have focus and a name, but only for what is in view.

A pool: buttons are taken for the blocks in view and given back when these leave it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFocusEvent,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolButton, QWidget

from app.ui import theme
from app.ui.message_frame import Verb

translate = QCoreApplication.translate

_HEIGHT = 28
_SIDE = theme.GAP_2
_THANKS_MS = 1_500


@dataclass(frozen=True, slots=True)
class Wanted:
    """A button that should be there: for which message and block, in which area, at its right end or its left.

    `label` is what it says, where that is not always the same.
    """

    message: int
    block: int
    verb: Verb
    area: QRect
    at_right: bool
    revealed: bool
    label: str = ""

    @property
    def key(self) -> tuple[int, int, Verb]:
        return self.message, self.block, self.verb


def words_of(verb: Verb) -> tuple[str, str]:
    """The text on a button and its accessible name."""
    return {
        Verb.COPY_CODE: (translate("Transcript", "Copy"), translate("Transcript", "Copy code")),
        Verb.COPY_ANSWER: (translate("Transcript", "Copy"), translate("Transcript", "Copy answer")),
        Verb.REGENERATE: (
            translate("Transcript", "Regenerate"),
            translate("Transcript", "Regenerate answer"),
        ),
        Verb.RETRY: (translate("Transcript", "Retry"), translate("Transcript", "Retry answer")),
        Verb.PROMPT: (
            translate("Transcript", "Prompt"),
            translate("Transcript", "Show exact prompt"),
        ),
        Verb.FOLD: (translate("Transcript", "Thoughts"), translate("Transcript", "Show thoughts")),
    }[verb]


def row_width(verbs: Iterable[Verb]) -> int:
    """What these buttons take in a row, px."""
    return _row_width(tuple(verbs), theme.body_font(theme.SMALL_PX).key())


@lru_cache(maxsize=64)
def _row_width(verbs: Sequence[Verb], _font: str) -> int:
    """Asked for every answer in view at every frame, and the same as long as the font of this key is."""
    metrics = QFontMetrics(theme.body_font(theme.SMALL_PX))
    words = (words_of(verb)[0] for verb in verbs)
    return sum(metrics.horizontalAdvance(one) + 2 * _SIDE + theme.GAP_1 for one in words)


class ActionButton(QToolButton):
    """A quiet text button.  Not `revealed` it is invisible until it has the focus, but always reachable."""

    chosen = Signal(object)
    focusMoved = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.wanted: Wanted | None = None
        self._thanks = QTimer(self)
        self._thanks.setSingleShot(True)
        self._thanks.setInterval(_THANKS_MS)
        self._thanks.timeout.connect(self._say)
        self.setFont(theme.body_font(theme.SMALL_PX))
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.clicked.connect(self._choose)

    def serve(self, wanted: Wanted) -> None:
        """Become the button for this."""
        if self.wanted is None or self.wanted.key != wanted.key:
            self._thanks.stop()
        before, self.wanted = self.wanted, wanted
        if before is None or before.verb is not wanted.verb:
            self.setObjectName(wanted.verb.value)
            self.setAccessibleName(words_of(wanted.verb)[1])
        if before is None or before.key != wanted.key or before.label != wanted.label:
            self._say()
        elif before.revealed != wanted.revealed:
            self.update()

    def thank(self) -> None:
        """Say for a moment that it is done."""
        self.setText(translate("Transcript", "Copied"))
        self.setAccessibleDescription(self.text())
        self._thanks.start()

    def _say(self) -> None:
        if self.wanted is not None:
            self.setText(self.wanted.label or words_of(self.wanted.verb)[0])
            self.setAccessibleDescription(self.wanted.label)

    def _choose(self) -> None:
        self.chosen.emit(self)

    def sizeHint(self) -> QSize:
        return QSize(
            self.fontMetrics().horizontalAdvance(self.text()) + 2 * _SIDE, theme.px(_HEIGHT)
        )

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focusMoved.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focusMoved.emit()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.wanted is None or not (self.wanted.revealed or self.hasFocus()):
            return
        t = theme.tokens()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(t.accent), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
            hovered = self.underMouse() and self.isEnabled()
            primary = self.wanted.verb is Verb.RETRY
            ground = QColor(t.raised) if primary else Qt.BrushStyle.NoBrush
            painter.setBrush(QColor(t.line) if hovered or self.isDown() else ground)
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 6, 6)
            painter.setPen(QColor(t.text if hovered or primary else t.quiet))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.text())


class ActionPool:
    """Puts buttons where they are wanted, and takes away those that are not."""

    def __init__(self, parent: QWidget, home: QWidget) -> None:
        self._parent = parent
        self._home = home
        self._used: dict[tuple[int, int, Verb], ActionButton] = {}
        self._free: list[ActionButton] = []

    def place(self, wanted: Sequence[Wanted]) -> list[ActionButton]:
        """Show exactly these; return the buttons that were made for it and are to be connected."""
        keys = {item.key for item in wanted}
        same = keys == self._used.keys()
        for key in [key for key in self._used if key not in keys]:
            self._give_back(self._used.pop(key))
        made: list[ActionButton] = []
        ends: dict[tuple[int, int], int] = {}
        for item in wanted:
            button = self._used.get(item.key) or self._take(made)
            self._used[item.key] = button
            button.serve(item)
            self._seat(button, item, ends)
            button.show()
        if not same:
            for before, after in pairwise([self._home, *self.buttons]):
                QWidget.setTabOrder(before, after)
        return made

    def _give_back(self, button: ActionButton) -> None:
        if button.hasFocus():
            self._home.setFocus()
        button.hide()
        self._free.append(button)

    def _take(self, made: list[ActionButton]) -> ActionButton:
        if self._free:
            return self._free.pop()
        button = ActionButton(self._parent)
        made.append(button)
        return button

    @staticmethod
    def _seat(button: ActionButton, item: Wanted, ends: dict[tuple[int, int], int]) -> None:
        size = button.sizeHint()
        top = item.area.top() + (item.area.height() - size.height()) // 2
        if item.at_right:
            left = item.area.right() + 1 - size.width()
        else:
            begin = item.area.left() - (0 if item.verb is Verb.RETRY else _SIDE)
            left = ends.get((item.message, item.block), begin)
            ends[item.message, item.block] = left + size.width() + theme.GAP_1
        button.setGeometry(QRect(left, top, size.width(), size.height()))

    def focused(self) -> Wanted | None:
        """What the button with the focus is for."""
        for button in self._used.values():
            if button.hasFocus():
                return button.wanted
        return None

    @property
    def buttons(self) -> list[ActionButton]:
        """The buttons in view, from top to bottom."""
        return sorted(self._used.values(), key=lambda button: (button.y(), button.x()))


class JumpButton(QToolButton):
    """The round button that leads back to the end."""

    SIZE = 36

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("jumpToEnd")
        self.setAccessibleName(translate("Transcript", "Go to the end"))
        self.setToolTip(self.accessibleName())
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.resize(self.SIZE, self.SIZE)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        t = theme.tokens()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            edge = QPen(QColor(t.accent), 2) if self.hasFocus() else QPen(QColor(t.line), 1)
            painter.setPen(edge)
            painter.setBrush(QColor(t.line if self.underMouse() else t.ground))
            painter.drawEllipse(self.rect().adjusted(1, 1, -1, -1))
            pen = QPen(QColor(t.text), 1.5)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
            painter.setPen(pen)
            centre = self.rect().center()
            tip = centre + QPoint(0, 6)
            painter.drawLine(centre - QPoint(0, 6), tip)
            painter.drawPolyline([tip - QPoint(5, 5), tip, tip - QPoint(-5, 5)])
