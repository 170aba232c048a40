"""The conversation as it is read: messages as blocks of Markdown, streaming, selectable, never blocking.

Runs on the GUI thread.  Text that arrives goes into a list; it is parsed and drawn at most 30 times a second, and
not at all while the view is hidden.  Nothing is loaded or opened here: a clicked web address is only reported.
"""

import time
from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QCoreApplication, QEvent, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QClipboard,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QHelpEvent,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from app.chat.models import Message, Role, Status, Summary
from app.ui import accessible, preload
from app.ui.actions import ActionButton, JumpButton
from app.ui.code import CodeBlock
from app.ui.colour_queue import ColourQueue
from app.ui.entry import Entry
from app.ui.flow_view import FlowView
from app.ui.inline import shown_address
from app.ui.message_actions import MessageActions
from app.ui.message_frame import Verb
from app.ui.pointer import Pointer
from app.ui.transcript_menu import TranscriptMenu
from app.ui.view_counts import ViewCounts

translate = QCoreApplication.translate

_BY_KEY = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
REDRAW_MS = 34
"""Between two redraws at least: 30 a second are the most."""
_JUMP_MARGIN = 16
_READ_LIMIT = 200_000
"""Characters of a message from which on a screen reader is given the source: nothing has to be made for it."""


class Transcript(FlowView):
    """The transcript of one conversation."""

    regenerateRequested = Signal(int)
    retryRequested = Signal(int)
    promptRequested = Signal(int)
    linkActivated = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        accessible.install()
        super().__init__(parent)
        self.setObjectName("transcript")
        self.setAccessibleName(translate("Transcript", "Transcript"))
        self._index: dict[int, int] = {}
        self._waiting: set[int] = set()
        self._flushes = 0
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        # A coarse timer may be 5 % early.
        self._redraw.setTimerType(Qt.TimerType.PreciseTimer)
        self._redraw.timeout.connect(self.flush)
        self._colours = ColourQueue(self)
        self._colours.coloured.connect(self._show_colours)
        self._actions = MessageActions(self)
        self._actions.regenerate.connect(self.regenerateRequested)
        self._actions.retry.connect(self.retryRequested)
        self._actions.prompt.connect(self.promptRequested)
        self._actions.fold.connect(self._fold)
        self._pointer = Pointer(self)
        self._pointer.linkClicked.connect(self.linkActivated)
        self._pointer.selected.connect(self._offer_selection)
        self._jump = JumpButton(self)
        self._jump.clicked.connect(self.scroll_to_end)

    # --- messages ---------------------------------------------------------------------------------------------

    def set_messages(self, messages: Sequence[Message]) -> None:
        """Show these messages and nothing else, from the end."""
        self._clear_from(0)
        self._fit()
        for message in messages:
            self._add(message)
        self.flow.mark_cut()
        self.flow.following = True
        self.refresh(everything=True)

    def add_message(self, message: Message) -> None:
        """Add a message at the end.  One that the user wrote brings the view to the end."""
        self._add(message)
        if message.role is Role.USER:
            self.flow.following = True
        self.refresh()

    def append_text(self, message_id: int, text: str) -> None:
        """More text of an answer; drawn soon if the view is visible."""
        index = self._index.get(message_id)
        if index is None or not text:
            return
        self.flow.entries[index].append(text)
        if self.isVisible():
            self._read_on(index)
        else:
            self._waiting.add(index)

    def append_thought(self, message_id: int, text: str) -> None:
        """More of what the model thinks before it answers."""
        index = self._index.get(message_id)
        if index is not None and text:
            self.flow.entries[index].append_thought(text, self.flow.width, self.flow.style)
            self.flow.resized(index)
            if self.isVisible():
                self._read_on(index)

    def set_summary(self, summary: Summary | None) -> None:
        """Say what stands for the first messages, which the model is not sent any more."""
        self.flow.summary = summary
        self.flow.mark_cut()
        self.refresh()

    def _fold(self, message_id: int, verb: Verb) -> None:
        """Show or hide what the model thought, or a summary."""
        self.selection.clear()
        self.flow.following = False
        self.flow.entries[self._index[message_id]].fold(verb)
        self.refresh(everything=True)

    def update_message(self, message: Message) -> None:
        """Take over text, state, figures and error of a message."""
        index = self._index.get(message.id)
        if index is None:
            return
        entry = self.flow.entries[index]
        was_streaming = entry.message.status is Status.STREAMING
        self.flow.forget(entry.update(message, self.flow.width, self.flow.style))
        self.flow.resized(index)
        self._waiting.discard(index)
        self.flow.mark_cut()
        self.refresh()
        if was_streaming and message.status is not Status.STREAMING and self.isVisible():
            accessible.announce(self, accessible.end_words(message))

    def remove_from(self, message_id: int) -> None:
        """Take this message and all after it away."""
        index = self._index.get(message_id)
        if index is not None:
            self._clear_from(index)
            self.refresh(everything=True)

    def _add(self, message: Message) -> None:
        self._index[message.id] = len(self.flow.entries)
        self.flow.add(Entry(message, first=not self.flow.entries))

    def _clear_from(self, index: int) -> None:
        for entry in self.flow.entries[index:]:
            del self._index[entry.message.id]
        self._waiting = {waiting for waiting in self._waiting if waiting < index}
        self.selection.truncate(index)
        self._actions.hover(None)
        self._colours.clear()
        self.flow.truncate(index)

    @Slot()
    def flush(self) -> None:
        """Take in the text that has arrived, and draw what changed."""
        began = time.perf_counter()
        self._redraw.stop()
        self._flushes += 1
        for index in sorted(self._waiting):
            entry = self.flow.entries[index]
            self.flow.forget(entry.flush(self.flow.width, self.flow.style))
            if not entry.is_open:
                entry.estimate(self.flow.width, self.flow.style)
            self.flow.resized(index)
        self._waiting.clear()
        self.refresh()
        cost = round((time.perf_counter() - began) * 1000)
        self._redraw.setInterval(max(REDRAW_MS, 3 * cost))
        if self._waiting:
            # The rest of a huge message: as much time as it takes is left for everything else.
            self._redraw.start(cost)

    # --- what is on top of the flow ---------------------------------------------------------------------------

    def placed(self) -> None:
        self._actions.place()
        for spot in self.flow.spots:
            block, entry = self.block_at(spot), self.flow.entries[spot.entry]
            if isinstance(block, CodeBlock) and entry.is_complete(spot.block):
                self._colours.ask(block)
            if entry.is_behind:
                self._read_on(spot.entry)
        self._place_jump()

    def _read_on(self, index: int) -> None:
        self._waiting.add(index)
        if not self._redraw.isActive():
            self._redraw.start()

    def _place_jump(self) -> None:
        self._jump.setVisible(not self.following)
        area = self.viewport().geometry()
        size = JumpButton.SIZE
        self._jump.move(area.center().x() - size // 2, area.bottom() - size - _JUMP_MARGIN)

    @Slot(object)
    def _show_colours(self, block: CodeBlock) -> None:
        for spot in self.flow.spots:
            if self.block_at(spot) is block:
                self.viewport().update(self.spot_rect(spot))

    # --- selection and copying --------------------------------------------------------------------------------

    def copy(self) -> None:
        """Copy what is selected."""
        text = self.selection.text(self.flow.entries)
        if text:
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        """Select every message."""
        self.selection.select_all(self.flow.entries)
        self.viewport().update()

    def selected_text(self) -> str:
        """What `copy` would copy."""
        return self.selection.text(self.flow.entries)

    @Slot()
    def _offer_selection(self) -> None:
        """What is selected can be pasted with the middle button where the system knows that."""
        clipboard = QGuiApplication.clipboard()
        if clipboard.supportsSelection():
            clipboard.setText(self.selected_text(), QClipboard.Mode.Selection)

    # --- reading ----------------------------------------------------------------------------------------------

    def plain_text(self) -> str:
        """Everything that a reader would see, in order."""
        return "\n\n".join(self.message_text(index) for index in range(self.message_count()))

    def message_count(self) -> int:
        """The number of messages."""
        return len(self.flow.entries)

    def message_text(self, index: int) -> str:
        """What a reader sees of one message; its source where that is huge."""
        entry = self.flow.entries[index]
        if len(entry.text) > _READ_LIMIT:
            return entry.text
        if self._waiting:
            # What is taken in must also be laid out: a paint may come before the next redraw.
            self.flush()
        if not entry.is_open:
            entry.open(self.flow.width, self.flow.style)
        while entry.is_behind:
            self.flow.forget(entry.flush(self.flow.width, self.flow.style))
        self.flow.resized(index)
        text = entry.visible()
        entry.drop_texts(self.flow.is_alive)
        return text

    def message_rect(self, index: int) -> QRect:
        """Where a message is in view, in screen coordinates; empty if it is not."""
        area = QRect()
        for spot in self.flow.spots:
            if spot.entry == index:
                area = area.united(self.spot_rect(spot))
        area = area.intersected(self.viewport().rect())
        return QRect(self.viewport().mapToGlobal(area.topLeft()), area.size())

    def action_buttons(self) -> list[ActionButton]:
        """The buttons in view, from top to bottom."""
        return self._actions.buttons

    def counts(self) -> ViewCounts:
        """What was done so far."""
        entries, work = self.flow.entries, self.work
        return ViewCounts(
            messages=len(entries),
            opened=sum(entry.is_open for entry in entries),
            laid_out=self.flow.laid_out,
            alive=self.flow.alive,
            parsed=sum(entry.parsed for entry in entries),
            flushes=self._flushes,
            redraws=work.redraws,
            full_paints=work.full_paints,
            painted_blocks=work.painted_blocks,
            blits=work.blits,
        )

    # --- Qt's events ------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            keys = QKeySequence.StandardKey
            if event.matches(keys.Copy) or event.matches(keys.SelectAll):
                event.accept()
                return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A ring shows who is moved through by keyboard where it is."""
        super().focusInEvent(event)
        self._show_ring(event.reason() in _BY_KEY)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show_ring(False)

    def _show_ring(self, shown: bool) -> None:
        if bool(self.property("ringed")) != shown:
            self.setProperty("ringed", shown)
            self.style().unpolish(self)
            self.style().polish(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pointer.press(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pointer.double_click(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._pointer.move(event)
        spot = self.spot_under(event.position().toPoint())
        self._actions.hover(spot.entry if spot is not None else None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pointer.release(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._actions.hover(None)
        elif isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            self._show_address(event)
            return True
        return super().viewportEvent(event)

    def _show_address(self, event: QHelpEvent) -> None:
        """A link says where it leads.  Escaped: a tool tip takes anything with a tag in it for HTML."""
        address = self._pointer.link_at(event.pos())
        if address:
            shown = escape(shown_address(address))
            QToolTip.showText(event.globalPos(), f"<span>{shown}</span>", self.viewport())
        else:
            QToolTip.hideText()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_of(event).popup(event.globalPos())

    def menu_of(self, event: QContextMenuEvent) -> TranscriptMenu:
        """The menu that is asked for."""
        selected = not self.selection.is_empty
        menu = TranscriptMenu(self._message_of(event), selected=selected, parent=self)
        menu.copy_chosen.connect(self.copy)
        menu.all_chosen.connect(self.select_all)
        menu.prompt_chosen.connect(self.promptRequested)
        return menu

    def _message_of(self, event: QContextMenuEvent) -> int:
        """The message that a menu is asked for: the one under the mouse; from the keyboard, the last."""
        if event.reason() is QContextMenuEvent.Reason.Keyboard:
            return self.flow.entries[-1].message.id if self.flow.entries else 0
        spot = self.spot_under(event.pos())
        return self.flow.entries[spot.entry].message.id if spot is not None else 0

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_jump()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.flush()
        preload.begin()
        self._colours.resume()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.flow.spots = []
        self._redraw.stop()
        self._colours.pause()
