"""Makings of the transcript's tests: messages, a view on the screen, and the screen itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.chat.models import Message, Role, Status
from app.ui import theme
from app.ui.flow import Spot
from app.ui.transcript import Transcript

ANSWER = (
    "## Part\n\nSome words with `code` and **bold** text that go on for a while, so that the line breaks "
    "somewhere in the middle of the column, as it does.\n\n- one\n- two\n  - deep\n\n"
    "```python\ndef f(x):\n    return x\n```\n\n| a | b |\n|---|---|\n| 1 | x |\n\n> quote\n\n"
)


def answer_of(size: int) -> str:
    """A mixed answer of this many characters."""
    return (ANSWER * (size // len(ANSWER) + 1))[:size]


@dataclass
class Chat:
    """Makes messages with ids that count up."""

    made: list[Message] = field(default_factory=list)

    def say(self, role: Role, text: str, status: Status = Status.DONE, **facts: object) -> Message:
        message = Message(len(self.made) + 1, 1, role, text, status, 0.0, **facts)  # type: ignore[arg-type]
        self.made.append(message)
        return message

    def user(self, text: str) -> Message:
        return self.say(Role.USER, text)

    def answer(self, text: str, status: Status = Status.DONE, **facts: object) -> Message:
        return self.say(Role.ASSISTANT, text, status, **facts)

    def history(self, turns: int, size: int = 300) -> list[Message]:
        for number in range(turns):
            self.user(f"Question {number}?")
            self.answer(f"Answer {number}. {answer_of(size)}")
        return self.made


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def view(qtbot: QtBot, qapp: QApplication) -> Iterator[Transcript]:
    """A transcript on the screen, 900 x 700, in the light theme."""
    theme.apply(qapp, "light")
    made = Transcript()
    qtbot.addWidget(made)
    made.resize(900, 700)
    with qtbot.waitExposed(made):
        made.show()
    made.setFocus()
    yield made
    made.hide()


def paint(view: Transcript) -> None:
    """Let what was asked to be painted be painted, and nothing else happen."""
    QCoreApplication.sendPostedEvents(view, QEvent.Type.UpdateRequest)


def on_screen(view: Transcript) -> QImage:
    """What the window shows, blits and all."""
    paint(view)
    return (
        view.screen().grabWindow(view.winId()).toImage().convertToFormat(QImage.Format.Format_RGB32)
    )


def painted_anew(view: Transcript) -> QImage:
    """What it would show if all of it were painted now."""
    return view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


def stream(view: Transcript, message_id: int, text: str, piece: int = 27) -> None:
    """Text in small pieces, drawn after each."""
    for at in range(0, len(text), piece):
        view.append_text(message_id, text[at : at + piece])
        view.flush()
        paint(view)


def first_line(view: Transcript) -> tuple[int, int, int]:
    """What is at the top of the view: message, block, and pixels of it that are out of view."""
    spot = view.flow.spots[0]
    return spot.entry, spot.block, -spot.y


def wheel(view: Transcript, notches: int, *, sideways: bool = False) -> None:
    """Turn the wheel; up is positive."""
    centre = QPointF(view.viewport().rect().center())
    angle = QPoint(120 * notches, 0) if sideways else QPoint(0, 120 * notches)
    event = QWheelEvent(
        centre,
        view.viewport().mapToGlobal(centre),
        QPoint(),
        angle,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QCoreApplication.sendEvent(view.viewport(), event)


def find_spot(view: Transcript, wanted: Callable[[object], bool]) -> Spot:
    """The first block in view that is wanted."""
    return next(spot for spot in view.flow.spots if wanted(view.block_at(spot)))


def point_in(view: Transcript, spot: Spot, x: float, y: float) -> QPoint:
    """A point of a block, from the column's left and the block's top, in the viewport."""
    return QPoint(view.column()[0] + round(x), spot.y + round(y))
