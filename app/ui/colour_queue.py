"""Colours code blocks one after the other, a few milliseconds at a time, while nothing else is to be done."""

from collections import deque

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.ui.code import CodeBlock


class ColourQueue(QObject):
    """Blocks that wait for their colours.  `coloured` names each when it has them."""

    coloured = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._blocks: deque[CodeBlock] = deque()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._slice)

    def ask(self, block: CodeBlock) -> None:
        """Colour this block, which will not change any more, unless it has its colours or waits already."""
        if block not in self._blocks and block.wants_colours():
            self._blocks.append(block)
            self._timer.start(0)

    def clear(self) -> None:
        """Forget all that wait."""
        self._blocks.clear()
        self._timer.stop()

    def pause(self) -> None:
        """Do nothing until `resume`."""
        self._timer.stop()

    def resume(self) -> None:
        """Go on."""
        if self._blocks:
            self._timer.start(0)

    @Slot()
    def _slice(self) -> None:
        block = self._blocks[0]
        if not block.colour_slice():
            return
        self._blocks.popleft()
        if not self._blocks:
            self._timer.stop()
        self.coloured.emit(block)
