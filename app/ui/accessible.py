"""The transcript for screen readers: a list whose items are the messages, each with its text.

Qt asks the factory for an interface when a reader asks for one.  Interfaces are kept for good, since a reader may
hold one longer than the widget lives: it then says that it is not valid.  That an answer is finished is announced
once, not token by token.
"""

from __future__ import annotations

import builtins
import weakref
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QCoreApplication, QObject, QPoint, QRect
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleInterface,
    QAccessibleTextInterface,
    QColor,
    QGuiApplication,
    QWindow,
)
from PySide6.QtWidgets import QAccessibleWidget, QWidget
from shiboken6 import VoidPtr, isValid

from app.chat.models import Message, Status
from app.ui.rich_text import cut, units

if TYPE_CHECKING:
    from app.ui.transcript import Transcript


translate = QCoreApplication.translate

_SAID = 300
"""Characters of an error that are read out."""


class MessageText(QAccessibleTextInterface):
    """The text of one message, read only."""

    def __init__(self, item: MessageItem) -> None:
        super().__init__()
        self._item = item

    def text(self, start: int, end: int) -> str:
        return cut(self._item.content(), start, end)

    def characterCount(self) -> int:
        return units(self._item.content())

    def cursorPosition(self) -> int:
        return 0

    def selectionCount(self) -> int:
        return 0

    def characterRect(self, offset: int) -> QRect:
        return self._item.rect()

    def offsetAtPoint(self, point: QPoint) -> int:
        return 0


class MessageItem(QAccessibleInterface):
    """One message of the list."""

    def __init__(self, owner: TranscriptList, index: int) -> None:
        super().__init__()
        self._owner = owner
        self._index = index
        self._text = MessageText(self)

    def _view(self) -> Transcript | None:
        """The transcript, if it still has this message."""
        view = self._owner.view()
        return view if view is not None and self._index < view.message_count() else None

    def isValid(self) -> bool:
        return self._view() is not None

    def object(self) -> QObject | None:  # type: ignore[override]
        return None

    def window(self) -> QWindow | None:  # type: ignore[override]
        view = self._view()
        return view.window().windowHandle() if view is not None else None

    def content(self) -> str:
        """What a reader of this message sees."""
        view = self._view()
        return view.message_text(self._index) if view is not None else ""

    def text(self, t: QAccessible.Text) -> str:
        return self.content() if t in (QAccessible.Text.Name, QAccessible.Text.Value) else ""

    def setText(self, t: QAccessible.Text, text: str) -> None:
        """A message cannot be changed here."""

    def rect(self) -> QRect:
        view = self._view()
        return view.message_rect(self._index) if view is not None else QRect()

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.ListItem

    def state(self) -> QAccessible.State:
        state = QAccessible.State()
        state.readOnly = True
        return state

    def parent(self) -> QAccessibleInterface:
        return self._owner

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]
        return None

    def childAt(  # type: ignore[override]
        self, x: int, y: int
    ) -> QAccessibleInterface | None:
        return None

    def childCount(self) -> int:
        return 0

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return -1

    def foregroundColor(self) -> QColor:
        return QGuiApplication.palette().text().color()

    def backgroundColor(self) -> QColor:
        return QGuiApplication.palette().base().color()

    def interface_cast(self, t: QAccessible.InterfaceType) -> builtins.object:  # type: ignore[override]
        # None is no pointer for PySide 6.11: it ends the process, as soon as a screen reader asks for another interface.
        return self._text if t is QAccessible.InterfaceType.TextInterface else VoidPtr(0)


class TranscriptList(QAccessibleWidget):
    """The list of messages, then the buttons in view."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget, QAccessible.Role.List)
        self._view = weakref.ref(widget)
        self._items: list[MessageItem] = []

    def view(self) -> Transcript | None:
        """The transcript, as long as it lives."""
        widget = self._view()
        return cast("Transcript", widget) if widget is not None and isValid(widget) else None

    def childCount(self) -> int:
        view = self.view()
        return view.message_count() + len(view.action_buttons()) if view is not None else 0

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]
        view = self.view()
        if view is None or not 0 <= index < self.childCount():
            return None
        count = view.message_count()
        if index >= count:
            return QAccessible.queryAccessibleInterface(view.action_buttons()[index - count])
        while len(self._items) <= index:
            item = MessageItem(self, len(self._items))
            QAccessible.registerAccessibleInterface(item)
            self._items.append(item)
        return self._items[index]

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        for index in range(self.childCount()):
            if self.child(index) is child:
                return index
        return -1

    def childAt(  # type: ignore[override]
        self, x: int, y: int
    ) -> QAccessibleInterface | None:
        for index in range(self.childCount()):
            child = self.child(index)
            if child is not None and child.rect().contains(x, y):
                return child
        return None


_kept: list[TranscriptList] = []
_installed: list[bool] = []


def _make(class_name: str, widget: QObject | None) -> QAccessibleInterface | None:
    if class_name != "Transcript" or not isinstance(widget, QWidget):
        return None
    _kept.append(TranscriptList(widget))
    return _kept[-1]


def install() -> None:
    """Let Qt know how a transcript is read.  Doing it again changes nothing."""
    if not _installed:
        QAccessible.installFactory(_make)
        _installed.append(True)


def end_words(message: Message) -> str:
    """What is said when an answer ends, in the words of its state."""
    if message.status is Status.FAILED:
        why = message.error or translate("Transcript", "no reason is known")
        return translate("Transcript", "The answer failed: {0}").format(why[:_SAID])
    if message.status is Status.STOPPED:
        return translate("Transcript", "Answer stopped")
    return translate("Transcript", "Answer finished")


def announce(widget: QWidget, words: str) -> None:
    """Say this, once, when the reader pauses."""
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))
