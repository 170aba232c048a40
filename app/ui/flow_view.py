"""The window onto the flow: scrolling, painting, and bringing the screen up to date with the least work.

What stays as it is on screen is moved by a blit; only blocks that are new or changed are painted.  That is why all
fills are opaque and all heights whole pixels.  The scroll bar shows where the flow stands, it does not decide: a
small step of it is a step in pixels, and only a far jump goes by its value.
"""

from collections import Counter
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from app.chat.models import Role
from app.ui import theme
from app.ui.blocks import Block, Canvas
from app.ui.code import CodeBlock
from app.ui.entry import Entry
from app.ui.flow import Flow, Spot
from app.ui.message_frame import CARD_OUTSET, CARD_PAD, HeadBlock
from app.ui.selection import Selection
from app.ui.table_block import RowBlock
from app.ui.text_style import Style

LINE_STEP = 40
"""Pixels of an arrow key."""
_MARGIN = theme.GAP_5
_FAR = 3
"""Pages from which on a move of the scroll bar is a jump."""
_STALE_EVENTS = (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.StyleChange)


@dataclass(slots=True)
class Work:
    """What drawing cost, in counts."""

    redraws: int = 0
    full_paints: int = 0
    painted_blocks: int = 0
    blits: int = 0


class FlowView(QAbstractScrollArea):
    """Shows a `Flow` and lets it be scrolled by wheel, keys and bar."""

    followingChanged = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.flow = Flow()
        self.selection = Selection()
        self.work = Work()
        self._on_screen: dict[int, int] = {}
        self._value = 0
        self._syncing = False
        self._told_following = True
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().setSingleStep(LINE_STEP)
        self.verticalScrollBar().sliderReleased.connect(self._sync_bar)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setMouseTracking(True)

    @property
    def following(self) -> bool:
        """Whether the view stays at the end while text arrives."""
        return self.flow.following

    # --- geometry ---------------------------------------------------------------------------------------------

    def column(self) -> tuple[int, int]:
        """Left edge and width of the reading column, px of the viewport."""
        width = max(80, min(theme.px(theme.COLUMN), self.viewport().width() - 2 * _MARGIN))
        centred = (self.width() - width) // 2 - self.viewport().x()
        return max(_MARGIN, centred), width

    def block_at(self, spot: Spot) -> Block:
        return self.flow.entries[spot.entry].blocks[spot.block]

    def spot_rect(self, spot: Spot) -> QRect:
        """The part of the viewport that a block takes, over the whole width."""
        return QRect(0, spot.y, self.viewport().width(), self.block_at(spot).height)

    def spot_under(self, point: QPoint) -> Spot | None:
        """The block at this height."""
        for spot in self.flow.spots:
            if spot.y <= point.y() < spot.y + self.block_at(spot).height:
                return spot
        return None

    def _fit(self) -> None:
        """Take over the viewport's size."""
        _, width = self.column()
        self.flow.height = max(1, self.viewport().height())
        if width != self.flow.width:
            self.flow.width = width
            self.flow.estimate_again()

    # --- bringing the screen up to date -----------------------------------------------------------------------

    def refresh(self, everything: bool = False) -> None:
        """Place the flow and repaint what changed.  A hidden view does nothing."""
        if not self.isVisible():
            return
        before = {} if everything else self._on_screen
        self.flow.place()
        self._on_screen = {id(self.block_at(spot)): spot.y for spot in self.flow.spots}
        self._update_changed(before)
        self.placed()
        self._sync_bar()
        if self.following != self._told_following:
            self._told_following = self.following
            self.followingChanged.emit(self.following)

    def placed(self) -> None:
        """Called after the flow was placed (for what is put on top of it)."""

    def _update_changed(self, before: dict[int, int]) -> None:
        """Move what stands as it stood; paint the rest."""
        shift = self._common_shift(before)
        if shift is None:
            self.viewport().update()
            return
        if shift:
            self.work.blits += 1
            self.viewport().scroll(0, shift)
        # Where a pixel of ours is not a whole number of the screen's, blocks share the one at their edge.
        beside = 0 if self.devicePixelRatioF().is_integer() else 1
        changed = False
        for spot in self.flow.spots:
            key = id(self.block_at(spot))
            if key in self.flow.fresh or before.get(key) != spot.y - shift:
                self.viewport().update(self.spot_rect(spot).adjusted(0, -beside, 0, beside))
                changed = True
        below = self.spot_rect(self.flow.spots[-1]).bottom() + 1
        if changed or shift or len(before) != len(self._on_screen):
            rest = self.viewport().rect()
            rest.setTop(below)
            self.viewport().update(rest)

    def _common_shift(self, before: dict[int, int]) -> int | None:
        """By how much most of what is in view has moved; None if nothing of it was in view before."""
        moved: Counter[int] = Counter()
        for spot in self.flow.spots:
            block = self.block_at(spot)
            key = id(block)
            if key in before and key not in self.flow.fresh:
                moved[spot.y - before[key]] += block.height
        return moved.most_common(1)[0][0] if moved else None

    def _sync_bar(self) -> None:
        """Show on the scroll bar where the flow stands, unless a hand is on it."""
        bar = self.verticalScrollBar()
        if bar.isSliderDown():
            return
        self._syncing = True
        furthest = max(0, self.flow.total - self.flow.height)
        bar.setRange(0, furthest)
        bar.setPageStep(self.flow.height)
        bar.setValue(
            furthest if self.flow.at_end else min(self.flow.offset(), max(0, furthest - 1))
        )
        self._value = bar.value()
        self._syncing = False

    # --- scrolling --------------------------------------------------------------------------------------------

    def scroll_to_end(self) -> None:
        """Go to the end and follow."""
        self.flow.following = True
        self.refresh()

    def scroll_to_top(self) -> None:
        self.flow.following = False
        self.flow.reveal(0)
        self._moved()

    def scroll_by(self, pixels: int) -> None:
        """Move by pixels, down if positive.  Up ends following at once; reaching the end begins it."""
        if not pixels or not self.flow.entries or (pixels > 0 and self.flow.following):
            return
        self.flow.following = False
        self.flow.move(pixels)
        self._moved()

    def _moved(self) -> None:
        self.flow.place()
        fresh = set(self.flow.fresh)
        self._on_screen = {key: y for key, y in self._on_screen.items() if key not in fresh}
        self.refresh()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if self._syncing:
            return
        bar = self.verticalScrollBar()
        value, step = bar.value(), bar.value() - self._value
        self._value = value
        if value >= bar.maximum():
            self.scroll_to_end()
        elif value <= bar.minimum():
            self.scroll_to_top()
        elif abs(step) <= _FAR * self.flow.height:
            self.scroll_by(step)
        else:
            self.flow.following = False
            self.flow.jump(value)
            self._moved()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        page = self.flow.height - LINE_STEP
        key = Qt.Key
        steps = {
            key.Key_Up: -LINE_STEP,
            key.Key_Down: LINE_STEP,
            key.Key_PageUp: -page,
            key.Key_PageDown: page,
        }
        pressed = key(event.key())
        if pressed in steps:
            self.scroll_by(steps[pressed])
        elif pressed == key.Key_Space:
            up = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.scroll_by(-page if up else page)
        elif pressed == key.Key_Home:
            self.scroll_to_top()
        elif pressed == key.Key_End:
            self.scroll_to_end()
        else:
            event.ignore()

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.pixelDelta()
        if delta.isNull():
            notch = 32 * QApplication.wheelScrollLines()
            angle = event.angleDelta()
            delta = QPoint(round(angle.x() * notch / 120), round(angle.y() * notch / 120))
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not delta.x():
            delta = QPoint(delta.y(), 0)
        if abs(delta.x()) > abs(delta.y()):
            self._scroll_sideways(event.position().toPoint(), -delta.x())
        else:
            self.scroll_by(-delta.y())
        event.accept()

    def _scroll_sideways(self, point: QPoint, by: int) -> None:
        spot = self.spot_under(point)
        if spot is None:
            return
        block = self.block_at(spot)
        if isinstance(block, CodeBlock) and block.scroll_sideways(by):
            self.viewport().update(self.spot_rect(spot))
        elif isinstance(block, RowBlock) and block.scroll_sideways(by):
            self.viewport().update()

    # --- Qt's events ------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()
        self.refresh(everything=True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()
        self.refresh(everything=True)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _STALE_EVENTS:
            self.flow.restyle(Style())
            self.refresh(everything=True)

    # --- painting ---------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        area = event.rect()
        self.work.redraws += 1
        self.work.full_paints += area.contains(self.viewport().rect())
        with QPainter(self.viewport()) as painter:
            # Beyond the area: on a screen with a fractional scale its edge lies within a pixel.
            painter.fillRect(area.adjusted(-1, -1, 1, 1), self.flow.style.ground)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint_cards(painter, area)
            left, width = self.column()
            for spot in self.flow.spots:
                rect = self.spot_rect(spot)
                if not rect.intersects(area):
                    continue
                block, entry = self.block_at(spot), self.flow.entries[spot.entry]
                selected = None
                if block.selectable:
                    selected = self.selection.span(spot.entry, spot.block, block.length)
                self.work.painted_blocks += 1
                block.paint(
                    Canvas(
                        painter,
                        self.flow.style,
                        left,
                        spot.y,
                        width,
                        rect.intersected(area),
                        selected,
                        _is_card(entry),
                    )
                )

    def _paint_cards(self, painter: QPainter, area: QRect) -> None:
        """The raised grounds of the user's messages in view."""
        left, width = self.column()
        outset = min(CARD_OUTSET, left - theme.GAP_1)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.flow.style.raised)
        for top, bottom in self._cards():
            card = QRect(left - outset, top, width + 2 * outset, bottom - top)
            if card.intersects(area):
                painter.drawRoundedRect(QRectF(card), theme.RADIUS, theme.RADIUS)

    def _cards(self) -> list[tuple[int, int]]:
        """Top and bottom of each card; an end out of view is put well out of it."""
        beyond = 4 * theme.RADIUS
        cards: dict[int, tuple[int, int]] = {}
        for spot in self.flow.spots:
            entry = self.flow.entries[spot.entry]
            if not _is_card(entry):
                continue
            block = entry.blocks[spot.block]
            top, bottom = cards.get(spot.entry, (-beyond, self.flow.height + beyond))
            if isinstance(block, HeadBlock):
                top = spot.y + block.card_top()
            elif spot.block == len(entry.blocks) - 1:
                bottom = spot.y + CARD_PAD
            cards[spot.entry] = top, bottom
        return list(cards.values())


def _is_card(entry: Entry) -> bool:
    return entry.message.role is Role.USER
