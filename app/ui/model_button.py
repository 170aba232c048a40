"""The chip that names the model and its state, with the menu to choose, load and unload one."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.chat.model_state import ModelPhase, ModelState
from app.paths import STARTER_NAME
from app.ui import icons, theme
from app.ui.plain import one_line, tooltip, without_mnemonics
from app.ui.status import phase_words

_WIDEST, _LEAST = 300, 72
"""Of the words, px at the usual scale; with less room than the least they are left to the tool tip."""
_OTHERS = 190
"""What the other controls of the row take, and this one's own icon and edges."""
_NAME_LIMIT = 80


class ModelButton(QToolButton):
    """Shows a `ModelState`; emits what the user wants of the model."""

    starter_requested = Signal()
    file_requested = Signal()
    find_requested = Signal()
    unload_requested = Signal()
    eject_requested = Signal(str)
    reload_requested = Signal()
    template_requested = Signal()
    load_settings_requested = Signal()

    def __init__(self, starter: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelButton")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._state = ModelState()
        self._offered = False
        self._room = theme.px(_WIDEST)
        self._menu = QMenu(self)
        self._menu.setObjectName("modelMenu")
        self._starter = self._action(
            f"Use {STARTER_NAME}", "useStarterAction", self.starter_requested
        )
        self._starter.setVisible(starter)
        self._action("Open a model file…", "openModelAction", self.file_requested)
        self._below = self._menu.addSeparator()
        self._template = self._action(
            "Prompt template…", "promptTemplateMenuAction", self.template_requested
        )
        self._load = self._action(
            "Load settings…", "loadSettingsAction", self.load_settings_requested
        )
        self._load.setVisible(False)
        self._reload = self._action("Load again", "reloadModelAction", self.reload_requested)
        self._unload = self._action("Unload", "unloadModelAction", self.unload_requested)
        self._others: list[QAction] = []
        self._menu.triggered.connect(self._chosen)
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
        self._offered = True
        self.show_state(self._state)
        find = QAction("Find and download models…", self._menu)
        find.setObjectName("findModelsAction")
        find.triggered.connect(self.find_requested)
        self._menu.insertAction(self._below, find)

    def fit(self, spare: int) -> None:
        """Take no more than its part of what the tabs spare, px."""
        room = min(theme.px(_WIDEST), spare - theme.px(_OTHERS))
        if room != self._room:
            self._room = room
            self.show_state(self._state)

    def show_state(self, state: ModelState) -> None:
        """Show the model's name and what it does."""
        self._state = state
        known = state.phase is not ModelPhase.NONE
        name = one_line(state.name or "Model", _NAME_LIMIT) if known else "Choose a model"
        words = phase_words(state)
        text = self._fitting(
            name, "" if state.phase in (ModelPhase.NONE, ModelPhase.READY) else f", {words}"
        )
        if without_mnemonics(text) != self.text():
            self.setText(without_mnemonics(text))
        # Without a model the button is what to do next, and says so however narrow the window is.
        style = Qt.ToolButtonStyle
        bare = known and self._room < theme.px(_LEAST)
        wanted = style.ToolButtonIconOnly if bare else style.ToolButtonTextBesideIcon
        if wanted != self.toolButtonStyle():
            self.setToolButtonStyle(wanted)
            self._tint()
        self.setAccessibleName(f"Model: {name}, {words}" if known else "Model: none, choose one")
        self.setToolTip(tooltip(_details(state)))
        loading = state.phase is ModelPhase.LOADING
        unload = "Cancel loading" if loading else "Unload"
        self._unload.setText(_unload_words(state) if state.others else unload)
        self._unload.setVisible(loading or state.phase is ModelPhase.READY)
        self._template.setVisible(state.phase is ModelPhase.READY)
        self._load.setVisible(known and self._offered)
        self._reload.setVisible(known and not loading)
        self._reload.setText("Load again" if state.phase is ModelPhase.READY else "Load")
        self._show_others(state.others)

    def _show_others(self, others: tuple[ModelState, ...]) -> None:
        """A way to unload each of the models that are loaded beside this one."""
        wanted = [(other.path, _unload_words(other)) for other in others]
        if wanted == [(action.data(), action.text()) for action in self._others]:
            return
        for action in self._others:
            self._menu.removeAction(action)
            action.deleteLater()
        self._others = [self._menu.addAction(words) for _, words in wanted]
        for place, (action, (path, _)) in enumerate(zip(self._others, wanted, strict=True)):
            action.setObjectName(f"ejectModelAction{place}")
            action.setData(path)

    def _chosen(self, action: QAction) -> None:
        if action in self._others:
            self.eject_requested.emit(action.data())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _fitting(self, name: str, words: str) -> str:
        """The name, shortened to what the words leave of the room, and the words."""
        metrics = self.fontMetrics()
        room = max(self._room, theme.px(_LEAST)) - metrics.horizontalAdvance(words)
        least = theme.px(_LEAST) // 2
        return metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, max(room, least)) + words

    def _tint(self) -> None:
        bare = self.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly
        icons.tint(self, "model", theme.tokens().quiet, gap=0 if bare else theme.GAP_1 + 2)


def _unload_words(other: ModelState) -> str:
    doing = "Cancel loading" if other.phase is ModelPhase.LOADING else "Unload"
    return without_mnemonics(f"{doing} {one_line(other.name, _NAME_LIMIT)}")


def _details(state: ModelState) -> str:
    lines = [state.name, state.path, state.device, state.doing, state.error, *state.notes]
    if state.format_name:
        lines.append(f"Prompt format: {state.format_name}")
    if state.pool_tokens:
        lines.append(f"Pool of {state.pool_tokens:,} tokens, {state.context_tokens:,} for one chat")
    if state.others:
        lines.append(f"Also loaded: {', '.join(other.name for other in state.others)}")
    return " · ".join(line for line in lines if line) or "No model was chosen yet"
