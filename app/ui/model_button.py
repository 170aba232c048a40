"""The chip that names the model and its state, with the menu to choose, load and unload one."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.chat.ports import ModelPhase, ModelState
from app.ui import icons, theme
from app.ui.plain import one_line, tooltip, without_mnemonics
from app.ui.status import phase_words

STARTER_NAME = "SmolLM2 135M"
_WIDEST, _NARROW = 22, 12
"""Characters of the name that are shown in a window of the usual width, and in a narrow one."""
_ROOMY, _TIGHT = 1180, 880
"""Window widths, px at the usual scale, below which the name is shortened, and then left to the tool tip."""


class ModelButton(QToolButton):
    """Shows a `ModelState`; emits what the user wants of the model."""

    starter_requested = Signal()
    file_requested = Signal()
    find_requested = Signal()
    unload_requested = Signal()
    reload_requested = Signal()

    def __init__(self, starter: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelButton")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._state = ModelState()
        self._limit = _WIDEST
        self._menu = QMenu(self)
        self._menu.setObjectName("modelMenu")
        self._starter = self._action(
            f"Use {STARTER_NAME}", "useStarterAction", self.starter_requested
        )
        self._starter.setVisible(starter)
        self._action("Open a model file…", "openModelAction", self.file_requested)
        self._below = self._menu.addSeparator()
        self._reload = self._action("Load again", "reloadModelAction", self.reload_requested)
        self._unload = self._action("Unload", "unloadModelAction", self.unload_requested)
        self.setMenu(self._menu)
        self.show_state(ModelState())
        self._tint()

    def _action(self, text: str, name: str, signal: object) -> QAction:
        action = self._menu.addAction(text)
        action.setObjectName(name)
        action.triggered.connect(signal)
        return action

    def offer(self, menu: QMenu) -> None:
        """Add a menu of models to choose from, and the way to more of them."""
        self._menu.insertMenu(self._below, menu)
        find = QAction("Find and download models…", self._menu)
        find.setObjectName("findModelsAction")
        find.triggered.connect(self.find_requested)
        self._menu.insertAction(self._below, find)

    def fit(self, window: int) -> None:
        """Leave the tabs of a window of this width, px, their room."""
        roomy, tight = theme.px(_ROOMY), theme.px(_TIGHT)
        limit = _WIDEST if window >= roomy else _NARROW if window >= tight else 0
        if limit != self._limit:
            self._limit = limit
            self.show_state(self._state)

    def show_state(self, state: ModelState) -> None:
        """Show the model's name and what it does."""
        self._state = state
        known = state.phase is not ModelPhase.NONE
        name = (
            one_line(state.name or "Model", self._limit or _WIDEST) if known else "Choose a model"
        )
        words = phase_words(state)
        text = name if state.phase in (ModelPhase.NONE, ModelPhase.READY) else f"{name}, {words}"
        if without_mnemonics(text) != self.text():
            self.setText(without_mnemonics(text))
        # Without a model the button is what to do next, and says so however narrow the window is.
        style = Qt.ToolButtonStyle
        bare = known and not self._limit
        self.setToolButtonStyle(
            style.ToolButtonIconOnly if bare else style.ToolButtonTextBesideIcon
        )
        self.setAccessibleName(f"Model: {name}, {words}" if known else "Model: none, choose one")
        self.setToolTip(tooltip(_details(state)))
        loading = state.phase is ModelPhase.LOADING
        self._unload.setText("Cancel loading" if loading else "Unload")
        self._unload.setVisible(loading or state.phase is ModelPhase.READY)
        self._reload.setVisible(known and not loading)
        self._reload.setText("Load again" if state.phase is ModelPhase.READY else "Load")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        icons.tint(self, "model", theme.tokens().quiet)


def _details(state: ModelState) -> str:
    lines = [state.name, state.path, state.device, state.doing, state.error, *state.notes]
    if state.pool_tokens:
        lines.append(f"Pool of {state.pool_tokens:,} tokens, {state.context_tokens:,} for one chat")
    return " · ".join(line for line in lines if line) or "No model was chosen yet"
