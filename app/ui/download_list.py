"""The list of downloads: what each does in words, and what can be done with it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.hub import words
from app.hub.standing import Phase, Row, State
from app.ui import theme
from app.ui.plain import ElidedLabel, one_line

_STEPS = 1000


class DownloadList(QWidget):
    """Shows rows; emits the key of the one that something is wanted of."""

    pause_wanted = Signal(str)
    resume_wanted = Signal(str)
    cancel_wanted = Signal(str)
    use_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("downloadList")
        self.setAccessibleName("Downloads")
        self._rows: dict[str, DownloadRow] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, theme.GAP_3, theme.GAP_2, 0)
        self._column.setSpacing(theme.GAP_3)
        self.hide()

    def show_rows(self, rows: Sequence[Row]) -> None:
        """As they are now; those that stay keep their widgets."""
        for key in self._rows.keys() - {row.key for row in rows}:
            gone = self._rows.pop(key)
            self._column.removeWidget(gone)
            gone.hide()
            gone.deleteLater()
        for row in rows:
            if row.key not in self._rows:
                self._rows[row.key] = self._made(row)
            self._rows[row.key].show_row(row)
        self.setVisible(bool(rows))

    def _made(self, row: Row) -> "DownloadRow":
        made = DownloadRow(row.key, self)
        made.pause_wanted.connect(self.pause_wanted)
        made.resume_wanted.connect(self.resume_wanted)
        made.cancel_wanted.connect(self.cancel_wanted)
        made.use_wanted.connect(self.use_wanted)
        self._column.addWidget(made)
        made.show()  # at once, so that the room for it is right at once
        return made


class DownloadRow(QWidget):
    """One download."""

    pause_wanted = Signal(str)
    resume_wanted = Signal(str)
    cancel_wanted = Signal(str)
    use_wanted = Signal(str)

    def __init__(self, key: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._key = key
        self._state = State.WAITING
        self._title = ElidedLabel("", "strong", self)
        self._words = ElidedLabel("", "quiet", self)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, _STEPS)
        self._bar.setFixedHeight(theme.px(4))
        self._main = QPushButton(self)
        self._main.setObjectName("downloadMainButton")
        self._drop = QPushButton("Cancel", self)
        self._drop.setObjectName("downloadCancelButton")
        for button in (self._main, self._drop):
            button.setProperty("role", "link")
        self._main.clicked.connect(self._act)
        self._drop.clicked.connect(self._cancel)
        self._lay_out()

    def _lay_out(self) -> None:
        column = QVBoxLayout()
        column.setSpacing(theme.GAP_1)
        column.addWidget(self._title)
        column.addWidget(self._bar)
        column.addWidget(self._words)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.GAP_2)
        row.addLayout(column, 1)
        row.addWidget(self._main, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._drop, 0, Qt.AlignmentFlag.AlignVCenter)

    def show_row(self, row: Row) -> None:
        self._state = row.state
        title = one_line(row.model.title)
        said = said_of(row)
        if (title, said) != (self._title.text(), self._words.text()):
            self._title.setText(title)
            self._words.setText(said)
            self.setAccessibleName(f"{title}: {said}")
        standing = row.standing
        self._bar.setValue(_STEPS * standing.done // standing.total if standing.total else _STEPS)
        self._bar.setVisible(row.state is not State.DONE)
        names = {State.PAUSED: "Resume", State.FAILED: "Try again", State.DONE: "Chat with it"}
        self._name(self._main, names.get(row.state, "Pause"), title)
        self._name(self._drop, "Hide" if row.state is State.DONE else "Cancel", title)

    def _name(self, button: QPushButton, text: str, title: str) -> None:
        spoken = f"{text}: {title}"
        if button.accessibleName() != spoken:
            button.setText(text)
            button.setAccessibleName(spoken)

    def _act(self) -> None:
        match self._state:
            case State.DONE:
                self.use_wanted.emit(self._key)
            case State.PAUSED | State.FAILED:
                self.resume_wanted.emit(self._key)
            case _:
                self.pause_wanted.emit(self._key)

    def _cancel(self) -> None:
        self.cancel_wanted.emit(self._key)


def said_of(row: Row) -> str:
    """What a download does, in one line."""
    standing = row.standing
    share = f"{standing.done * 100 // standing.total if standing.total else 100} %"
    amount = f"{share} · {words.size(standing.done)} of {words.size(standing.total)}"
    match row.state:
        case State.DONE:
            return f"{words.size(standing.total)}, complete and verified"
        case State.FAILED:
            return str(row.error) if row.error else "It failed."
        case State.PAUSED:
            return f"paused · {amount}"
        case State.WAITING:
            return f"waiting for its turn · {amount}"
        case State.RUNNING:
            return _running(row, amount)


def _running(row: Row, amount: str) -> str:
    standing = row.standing
    if standing.error is not None:
        return f"{standing.error.what} Goes on in {words.duration(standing.wait)} · {amount}"
    if standing.phase is not Phase.FETCHING:
        return f"{standing.phase} · {amount}"
    left = f" · {words.duration(standing.seconds_left)} left" if standing.seconds_left else ""
    return f"{amount} · {words.size(standing.speed)}/s{left}"
