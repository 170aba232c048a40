"""The status line: model, device, what the chats do, how fast, how much came from the cache, how full the pool is."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.chat.model_state import Advice, EngineStatus, ModelPhase, ModelState
from app.ui import states, theme
from app.ui.plain import ElidedLabel, one_line, tooltip
from app.verdict import CHECKING


def describe(model: ModelState, engine: EngineStatus) -> str:
    """The line in words, parts separated by dots."""
    if model.phase is ModelPhase.NONE:
        return "No model"
    name = one_line(model.name or "Model", 60)
    if model.phase is not ModelPhase.READY:
        # That it is being checked is said already.
        doing = "" if model.doing == CHECKING else model.doing[:1].lower() + model.doing[1:]
        return " · ".join(part for part in (name, phase_words(model), one_line(doing, 60)) if part)
    parts = [name, one_line(model.device, 60), _format(model), _work(engine)]
    if engine.running:
        parts.append(states.speed(engine.tokens_per_second))
    if engine.cached_share is not None:
        parts.append(f"{round(100 * engine.cached_share)} % cached")
    if engine.cells_total:
        parts.append(f"pool {round(100 * engine.cells_used / engine.cells_total)} % full")
    if model.others:
        names = (one_line(other.name or "Model", 30) for other in model.others)
        parts.append(f"also loaded: {', '.join(names)}")
    return " · ".join(part for part in parts if part)


def _format(model: ModelState) -> str:
    """Which prompt format is used, where it is not the model's own."""
    return f"prompt format: {one_line(model.format_name, 40)}" if model.format_name else ""


def phase_words(model: ModelState) -> str:
    """What the model does, in one or two words."""
    doing = "checking" if model.doing == CHECKING else "loading"
    return {
        ModelPhase.NONE: "none",
        ModelPhase.UNLOADED: "not loaded",
        ModelPhase.LOADING: f"{doing} {round(100 * model.fraction)} %",
        ModelPhase.READY: "ready",
        ModelPhase.FAILED: "failed",
    }[model.phase]


def _work(engine: EngineStatus) -> str:
    counts = (
        (engine.running, "writing"),
        (engine.reading, "reading"),
        (engine.waiting, "waiting"),
    )
    return ", ".join(f"{number} {word}" for number, word in counts if number) or "idle"


class StatusLine(QFrame):
    """The line at the foot of the window."""

    stop_all_requested = Signal()
    cancel_requested = Signal()
    advice_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusLine")
        self.setFixedHeight(theme.px(theme.CONTROL))
        self._text = ElidedLabel("", "quiet", self)
        self._text.setObjectName("statusText")
        self._why = QPushButton("Why?", self)
        self._why.setObjectName("cacheAdviceButton")
        self._why.setAccessibleName("Why so little came from the cache")
        self._why.setProperty("role", "link")
        self._why.clicked.connect(self._ask_why)
        self._why.hide()
        self._advice: Advice | None = None
        self._stop_all = QPushButton("Stop all", self)
        self._stop_all.setObjectName("stopAllButton")
        self._stop_all.setAccessibleName("Stop all answers")
        self._stop_all.setToolTip("Stop all answers (Ctrl+Shift+.)")
        self._stop_all.setProperty("role", "link")
        self._stop_all.clicked.connect(self.stop_all_requested)
        self._stop_all.hide()
        self._cancel = QPushButton("Cancel", self)
        self._cancel.setObjectName("cancelLoadButton")
        self._cancel.setAccessibleName("Cancel loading the model")
        self._cancel.setProperty("role", "link")
        self._cancel.clicked.connect(self.cancel_requested)
        self._cancel.hide()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.GAP_4, 0, theme.GAP_2, 0)
        layout.addWidget(self._text, 1)
        layout.addWidget(self._why, 0)
        layout.addWidget(self._cancel, 0)
        layout.addWidget(self._stop_all, 0)

    def text(self) -> str:
        return self._text.text()

    def show_state(self, model: ModelState, engine: EngineStatus) -> None:
        line = describe(model, engine)
        if line != self._text.text():
            self._text.setText(line)
            self._text.setAccessibleName(line)
        loading = model.phase is ModelPhase.LOADING
        if loading is self._cancel.isHidden():
            self._cancel.setVisible(loading)
        if engine.advice != self._advice:
            self._advice = engine.advice
            self._why.setVisible(engine.advice is not None)
            self._why.setToolTip(tooltip(engine.advice.text) if engine.advice else "")

    def _ask_why(self) -> None:
        if self._advice is not None:
            self.advice_wanted.emit(self._advice)

    def show_busy(self, chats: int) -> None:
        """How many chats are busy: more than one can be stopped together."""
        self._stop_all.setVisible(chats > 1)
