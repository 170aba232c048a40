"""The mouse in the transcript: selecting by letter, word and paragraph, dragging out of view, links."""

from PySide6.QtCore import QObject, QPoint, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from app.ui.blocks import Block
from app.ui.flow import Spot
from app.ui.flow_view import FlowView
from app.ui.inline import is_web
from app.ui.selection import Position

_SCROLL_MS = 30


class Pointer(QObject):
    """Turns mouse events of a `FlowView` into its selection."""

    linkClicked = Signal(str)
    selected = Signal()

    def __init__(self, view: FlowView) -> None:
        super().__init__(view)
        self._view = view
        self._dragging = False
        self._pressed_link = ""
        self._last = QPoint()
        self._clicks = 0
        self._triple = QTimer(self)
        self._triple.setSingleShot(True)
        self._beyond = QTimer(self)
        self._beyond.setInterval(_SCROLL_MS)
        self._beyond.timeout.connect(self._scroll_beyond)

    # --- places -----------------------------------------------------------------------------------------------

    def _inside(self, spot: Spot, point: QPoint) -> QPointF:
        left, _ = self._view.column()
        return QPointF(point.x() - left, point.y() - spot.y)

    def position_at(self, point: QPoint) -> Position | None:
        """The position nearest to this point of the viewport."""
        spots = self._view.flow.spots
        if not spots:
            return None
        spot = self._view.spot_under(point)
        if spot is None:
            spot = spots[0] if point.y() < spots[0].y else spots[-1]
        block = self._view.block_at(spot)
        if block.selectable:
            return Position(spot.entry, spot.block, block.hit(self._inside(spot, point)))
        return self._beside(spot)

    def _beside(self, spot: Spot) -> Position:
        """The position that stands for a head (the beginning of the text) or a foot (its end)."""
        blocks = self._view.flow.entries[spot.entry].blocks
        number = min(spot.block + 1, len(blocks) - 2) if spot.block == 0 else spot.block - 1
        block = blocks[max(0, number)]
        return Position(spot.entry, max(0, number), 0 if spot.block == 0 else block.length)

    def link_at(self, point: QPoint) -> str:
        """The address under this point, or ""."""
        spot = self._view.spot_under(point)
        if spot is None:
            return ""
        return self._view.block_at(spot).link_at(self._inside(spot, point))

    # --- events -----------------------------------------------------------------------------------------------

    def press(self, event: QMouseEvent) -> None:
        """A button went down."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        point = event.position().toPoint()
        at = self.position_at(point)
        if at is None:
            return
        self._pressed_link = self.link_at(point)
        self._dragging, self._last = True, point
        if self._triple.isActive():
            self._select_block(at)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._view.selection.extend(at)
        else:
            self._view.selection.begin(at)
        self._view.viewport().update()

    def double_click(self, event: QMouseEvent) -> None:
        """Select a word; a third click soon after takes the paragraph."""
        at = self.position_at(event.position().toPoint())
        if at is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self._triple.start(QApplication.doubleClickInterval())
        self._pressed_link, self._dragging = "", True
        start, end = self._block(at).word_at(at.offset)
        self._view.selection.begin_with(at._replace(offset=start), at._replace(offset=end))
        self._view.viewport().update()

    def _select_block(self, at: Position) -> None:
        end = at._replace(offset=self._block(at).length)
        self._view.selection.begin_with(at._replace(offset=0), end)

    def _block(self, at: Position) -> Block:
        return self._view.flow.entries[at.entry].blocks[at.block]

    def move(self, event: QMouseEvent) -> None:
        """The mouse moved: select further, or show what is under it."""
        point = event.position().toPoint()
        if not self._dragging:
            self._show_cursor(point)
            return
        self._last = point
        self._extend(point)
        inside = 0 <= point.y() < self._view.viewport().height()
        if inside:
            self._beyond.stop()
        elif not self._beyond.isActive():
            self._beyond.start()

    def _extend(self, point: QPoint) -> None:
        at = self.position_at(point)
        if at is not None and at != self._view.selection.head:
            self._view.selection.extend(at)
            self._view.viewport().update()

    def _scroll_beyond(self) -> None:
        """The mouse is held above or below the view: the further out, the faster."""
        y, height = self._last.y(), self._view.viewport().height()
        self._view.scroll_by(y // 2 if y < 0 else (y - height) // 2 + 1)
        self._extend(self._last)

    def release(self, event: QMouseEvent) -> None:
        """The button is up again: a selection is complete, or a link was clicked."""
        if event.button() != Qt.MouseButton.LeftButton or not self._dragging:
            return
        self._dragging = False
        self._beyond.stop()
        link, self._pressed_link = self._pressed_link, ""
        if not self._view.selection.is_empty:
            self.selected.emit()
        elif link and is_web(link) and self.link_at(event.position().toPoint()) == link:
            self.linkClicked.emit(link)

    def _show_cursor(self, point: QPoint) -> None:
        spot = self._view.spot_under(point)
        shape = Qt.CursorShape.ArrowCursor
        if spot is not None:
            block, inside = self._view.block_at(spot), self._inside(spot, point)
            if is_web(block.link_at(inside)):
                shape = Qt.CursorShape.PointingHandCursor
            elif block.covers_text(inside):
                shape = Qt.CursorShape.IBeamCursor
        if self._view.viewport().cursor().shape() != shape:
            self._view.viewport().setCursor(shape)
