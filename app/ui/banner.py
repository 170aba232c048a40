"""The notice: the one place where an error is shown, and where a deletion can be undone.

Several notices may be alive; the newest is in view, and when it goes the one before it comes back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.ui import icons, keyboard, theme
from app.ui.plain import Label, without_mnemonics

Kind = Literal["bad", "info"]
_TEXT_LIMIT = 600


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several things that can be done, as a button under the words of a notice."""

    text: str
    act: Callable[[], None]


@dataclass(frozen=True, eq=False)
class Notice:
    """What to show.  `seconds` 0: until it is dismissed.

    `act` runs when the one button, `action`, is pressed; `gone` when the notice goes in any other way.  `choices` are for
    where there is more than one thing to do, the best first.
    """

    text: str
    kind: Kind = "bad"
    action: str = ""
    act: Callable[[], None] | None = None
    gone: Callable[[], None] | None = None
    seconds: float = 0.0
    choices: tuple[Choice, ...] = ()


class Banner(QFrame):
    """Shows notices.  `left`: the last one has gone, and the keyboard was in it."""

    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._notices: list[tuple[Notice, QTimer]] = []
        self._picture = QLabel(self)
        self._text = Label("", "body", self)
        self._text.setObjectName("noticeText")
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._action = QPushButton(self)
        self._action.setObjectName("noticeAction")
        self._action.setProperty("role", "link")
        self._close = icons.IconButton("close", "Dismiss", "noticeDismiss", self)
        self._action.clicked.connect(self._act)
        self._close.clicked.connect(self._dismiss)
        self._choices: list[QPushButton] = []
        self._under = QVBoxLayout()
        self._under.setSpacing(0)
        column = QVBoxLayout()
        column.setSpacing(theme.GAP_1)
        column.addWidget(self._text)
        column.addLayout(self._under)
        self.setMaximumWidth(theme.px(theme.COLUMN))
        layout = self._row = QHBoxLayout(self)
        layout.setSpacing(theme.GAP_2)
        layout.addWidget(self._picture, 0)
        layout.addLayout(column, 1)
        layout.addWidget(self._action, 0)
        layout.addWidget(self._close, 0)
        self.hide()

    @property
    def current(self) -> Notice | None:
        return self._notices[-1][0] if self._notices else None

    def text(self) -> str:
        """What is in view; "" when nothing is."""
        return self.current.text if self.current else ""

    def post(self, notice: Notice) -> None:
        """Show this one; a notice with the same words that is alive already goes in favour of it."""
        for other, _ in tuple(self._notices):
            if other.text == notice.text and other.kind == notice.kind and not other.act:
                self._remove(other)
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(self._expire)
        self._notices.append((notice, timer))
        if notice.seconds > 0:
            timer.start(round(notice.seconds * 1000))
        self._show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, notice.text))

    def withdraw(self, notice: Notice) -> None:
        """Take a notice away because its matter is settled; neither `act` nor `gone` runs."""
        self._remove(notice)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _act(self) -> None:
        notice = self.current
        if notice is not None:
            self._remove(notice)
            if notice.act is not None:
                notice.act()

    def _choose(self) -> None:
        notice, chosen = self.current, self.sender()
        if notice is not None and chosen in self._choices:
            choice = notice.choices[self._choices.index(chosen)]
            self._remove(notice)
            choice.act()

    def _dismiss(self) -> None:
        if self.current is not None:
            self._finish(self.current)

    def _expire(self) -> None:
        timer = self.sender()
        for notice, own in tuple(self._notices):
            if own is timer:
                self._finish(notice)

    def _finish(self, notice: Notice) -> None:
        self._remove(notice)
        if notice.gone is not None:
            notice.gone()

    def _remove(self, notice: Notice) -> None:
        for entry in tuple(self._notices):
            if entry[0] is notice:
                entry[1].stop()
                entry[1].deleteLater()
                self._notices.remove(entry)
        self._show()

    def _show(self) -> None:
        notice = self.current
        typing = keyboard.is_in(self)
        self.setVisible(notice is not None)
        if notice is None:
            if typing:
                self.left.emit()
            return
        self._text.setText(_bounded(notice.text))
        self._action.setText(without_mnemonics(notice.action))
        self._action.setAccessibleName(notice.action)
        self._action.setVisible(bool(notice.action))
        self._show_choices(notice.choices)
        kind = "Error" if notice.kind == "bad" else "Notice"
        self.setAccessibleName(f"{kind}: {_bounded(notice.text)}")
        self._tint()
        if self.property("kind") != notice.kind:
            self.setProperty("kind", notice.kind)
            self.style().unpolish(self)
            self.style().polish(self)

    def _show_choices(self, choices: tuple[Choice, ...]) -> None:
        while len(self._choices) < len(choices):
            self._choices.append(self._choice(len(self._choices)))
        for button, choice in zip(self._choices, choices, strict=False):
            button.setText(without_mnemonics(choice.text))
            button.setAccessibleName(choice.text)
        for number, button in enumerate(self._choices):
            button.setVisible(number < len(choices))
        # Beside a list the picture and the cross belong to its first line.
        above = theme.GAP_2 if choices else theme.GAP_1
        self._row.setContentsMargins(theme.GAP_3, above, theme.GAP_1, theme.GAP_1)
        place = Qt.AlignmentFlag.AlignTop if choices else Qt.AlignmentFlag.AlignVCenter
        for widget in (self._picture, self._close):
            self._row.setAlignment(widget, place)

    def _choice(self, number: int) -> QPushButton:
        button = QPushButton(self)
        button.setObjectName(f"noticeChoice{number}")
        button.setProperty("role", "choice")
        button.clicked.connect(self._choose)
        self._under.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        QWidget.setTabOrder(self._choices[-1] if self._choices else self._action, button)
        return button

    def _tint(self) -> None:
        if self.current is None:
            return
        t, bad = theme.tokens(), self.current.kind == "bad"
        picture = icons.icon("warning" if bad else "info", t.bad if bad else t.accent)
        self._picture.setPixmap(picture.pixmap(icons.small(), icons.small()))


def _bounded(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}…"
