"""What the user does with the model: the starter, a file, unload, load again; asked back where chats answer."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.chat.ports import ModelHost, ModelPhase, ModelState
from app.settings import Settings
from app.ui import aio
from app.ui.banner import Banner, Notice
from app.ui.model_button import STARTER_NAME
from app.ui.preferences import Preferences
from app.ui.settings_dialog import LOAD_FIELDS

_NOTE_SECONDS = 20.0


class ModelControl(QObject):
    """Turns wishes into calls of the host.  `state_changed` carries every new `ModelState`."""

    state_changed = Signal(object)
    starter_chosen = Signal()

    def __init__(
        self,
        host: ModelHost,
        preferences: Preferences,
        banner: Banner,
        starter: Path | None,
        busy: Callable[[], int],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._host, self._preferences, self._banner = host, preferences, banner
        self._starter, self._busy = starter, busy
        self._window = parent
        self._shown = host.state.phase
        self._load_notice: Notice | None = None
        self._unsubscribe = host.subscribe(self._changed)
        preferences.changed.connect(self._settings_changed)

    @property
    def state(self) -> ModelState:
        return self._host.state

    def use_starter(self) -> None:
        """Load the small model that came with the app."""
        if self._starter is not None:
            self.load(str(self._starter))
            self.starter_chosen.emit()

    @aio.async_slot
    async def choose_file(self) -> None:
        """Let the user pick a GGUF file, and load it."""
        dialog = QFileDialog(self._window, "Open a model file")
        dialog.setObjectName("modelFileDialog")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(["Models (*.gguf)", "All files (*)"])
        known = self._host.state.path
        if known:
            dialog.setDirectory(str(Path(known).parent))
        if await aio.finished(dialog):
            for path in dialog.selectedFiles()[:1]:
                self.load(path)

    def load(self, path: str) -> None:
        """Load this file; where chats are answering, only once the user agrees."""
        self._agreed(
            "loading a model ends their answers.", "Load anyway", lambda: self._load_now(path)
        )

    def load_again(self) -> None:
        """Load the present file anew."""
        if self._host.state.path:
            self.load(self._host.state.path)

    def unload(self) -> None:
        """Free the memory, or cancel a load."""
        self._agreed("unloading the model ends their answers.", "Unload anyway", self._unload_now)

    def say_missing(self) -> None:
        """Nothing can be sent without a model: offer one."""
        if self._starter is not None:
            notice = Notice(
                "Choose a model first. Your message stays in the box.",
                "info",
                f"Use {STARTER_NAME}",
                act=self.use_starter,
            )
        else:
            notice = Notice(
                "Choose a model first. Your message stays in the box.",
                "info",
                "Open a model file…",
                act=self.choose_file,
            )
        self._replace(notice)

    def shut(self) -> None:
        self._unsubscribe()

    def _agreed(self, consequence: str, action: str, act: Callable[[], None]) -> None:
        chats = self._busy()
        state = self._host.state
        # A load that is cancelled, or begun first, ends nothing: waiting chats go on waiting for the next.
        starts_again = state.phase is ModelPhase.LOADING and state.context_tokens > 0
        if not chats or not (state.phase is ModelPhase.READY or starts_again):
            act()
            return
        subject = "A chat is answering" if chats == 1 else f"{chats} chats are answering"
        self._replace(Notice(f"{subject}; {consequence}", "info", action, act=act))

    def _load_now(self, path: str) -> None:
        self._replace(None)
        aio.spawn(self._host.load(path))

    def _unload_now(self) -> None:
        aio.spawn(self._host.unload())

    def _replace(self, notice: Notice | None) -> None:
        """One notice about the model at a time."""
        if self._load_notice is not None:
            self._banner.withdraw(self._load_notice)
        self._load_notice = notice
        if notice is not None:
            self._banner.post(notice)

    def _changed(self, state: ModelState) -> None:
        if state.phase is not self._shown:
            self._shown = state.phase
            self._phase_changed(state)
        self.state_changed.emit(state)

    def _phase_changed(self, state: ModelState) -> None:
        if state.phase is ModelPhase.READY:
            self._replace(None)
            self._preferences.update(model_path=state.path)
            if state.notes:
                self._banner.post(Notice(" ".join(state.notes), "info", seconds=_NOTE_SECONDS))
        elif state.phase is ModelPhase.FAILED:
            self._replace(
                Notice(
                    state.error or "The model could not be loaded.",
                    action="Open another file…",
                    act=self.choose_file,
                )
            )

        elif state.error:
            self._replace(Notice(state.error))

    def _settings_changed(self, old: Settings, new: Settings) -> None:
        differs = any(getattr(old, name) != getattr(new, name) for name in LOAD_FIELDS)
        if differs and self._host.state.phase in (ModelPhase.READY, ModelPhase.LOADING):
            self._replace(
                Notice(
                    "The new settings of the model count from the next load on.",
                    "info",
                    "Reload now",
                    act=self.load_again,
                )
            )
