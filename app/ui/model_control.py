"""What the user does with the model: the starter, a file, unload, load again; asked back where chats answer.

A file that cannot be a model, or did not pass its check, is refused before anything is ended for it: while an engine
serves, the check of a new file runs beside it.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app import modelfile
from app.chat.model_port import ModelHost
from app.chat.model_state import ModelPhase, ModelState
from app.errors import ModelError, Unproven
from app.paths import STARTER_NAME
from app.settings import Settings
from app.sizing.remedies import NOTHING_HELPS
from app.ui import aio
from app.ui.banner import Banner, Choice, Notice
from app.ui.memory_help import MemoryHelp
from app.ui.plain import one_line
from app.ui.preferences import Preferences
from app.ui.settings_dialog import LOAD_FIELDS

_NOTE_SECONDS = 20.0


class ModelControl(QObject):
    """Turns wishes into calls of the host.  `state_changed` carries every new `ModelState`, `load_begun`
    the file that the user wants.  `busy` counts the chats that answer with the model in this file ("": with any)."""

    state_changed = Signal(object)
    starter_chosen = Signal()
    load_begun = Signal(str)

    def __init__(
        self,
        host: ModelHost,
        preferences: Preferences,
        banner: Banner,
        starter: Path | None,
        busy: Callable[[str], int],
        memory: MemoryHelp,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.memory = memory
        self._host, self._preferences, self._banner = host, preferences, banner
        self._starter, self._busy = starter, busy
        self._window = parent
        self._shown = host.state
        self._load_notice: Notice | None = None
        self._checked = ""
        self._checking: asyncio.Task[None] | None = None
        self._told_of_check = ""
        self._good = host.state.path if host.state.phase is ModelPhase.READY else ""
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
        """Load this file, if it can be a model; where chats are answering, only once the user agrees."""
        self._checked = path
        self._stop_check()
        state = self._host.state
        if state.phase is ModelPhase.NONE and not state.others:
            # No answer can end for it.  Its load says what is wrong with it, and from now on a message waits for it.
            self._load_now(path)
        else:
            self._checking = aio.spawn(self._check(path))

    def load_again(self) -> None:
        """Load the present file anew."""
        if self._host.state.path:
            self.load(self._host.state.path)

    def unload(self) -> None:
        """Free the memory, or cancel a load."""
        self._checked = ""
        self._stop_check()
        self._agreed("unloading the model", "Unload anyway", self._unload_now)

    def eject(self, path: str) -> None:
        """Free the memory of a model that is loaded beside the present one, or cancel its load."""
        names = {other.path: other.name for other in self._host.state.others}
        doing = f"unloading {one_line(names.get(path, ''), 60)}"
        self._ask_first(self._busy(path), doing, "Unload anyway", partial(self._eject_now, path))

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

    def say_next_load(self) -> None:
        """The model would be loaded otherwise now: where it is there, offer that."""
        if self._host.state.phase in (ModelPhase.READY, ModelPhase.LOADING):
            self._replace(
                Notice(
                    "The new settings of the model count from the next load on.",
                    "info",
                    "Reload now",
                    act=self.load_again,
                )
            )

    def retitle(self, path: str) -> None:
        """The model in this file has got another name."""
        state = self._host.state
        if path in (one.path for one in (state, *state.others)):
            self._host.retitle()

    async def examine(self, path: str) -> ModelError | None:
        """Check a file that may be loaded later; gives the reason why it may not, or is not known to be good."""
        try:
            await self._host.examine(path, _ignore)
        except ModelError as error:
            return error
        return None

    def shut(self) -> None:
        self._unsubscribe()
        self._stop_check()

    def _agreed(
        self, doing: str, action: str, act: Callable[[], None], *, other: bool = False
    ) -> None:
        """Do it, or ask first where it ends answers; `other`: another model comes in place of one that answers."""
        state = self._host.state
        loading = state.phase is ModelPhase.LOADING
        # A load that is given up ends answers that have begun, and those that wait for just this model.
        ends_some = state.phase is ModelPhase.READY or (
            loading and (other or state.context_tokens > 0)
        )
        chats = self._busy("" if other else state.path)
        self._ask_first(chats if ends_some else 0, doing, action, act)

    def _ask_first(self, chats: int, doing: str, action: str, act: Callable[[], None]) -> None:
        """Do it, once the user agrees where it ends the answers of so many chats."""
        if not chats:
            act()
            return
        words = (
            f"A chat is answering; {doing} ends its answer."
            if chats == 1
            else f"{chats} chats are answering; {doing} ends their answers."
        )
        self._replace(Notice(words, "info", action, act=act))

    async def _check(self, path: str) -> None:
        try:
            await self._host.check(path)
            if (
                self._host.state.phase is ModelPhase.READY
            ):  # or the load does it, and shows how far it is
                await self._host.examine(path, lambda _: self._say_checking(path))
        except ModelError as error:
            if path == self._checked:
                anyway = path if isinstance(error, Unproven) else ""
                self._say_refused(str(error), anyway=anyway)
            return
        other = path != self._host.state.path
        spares = other and await self._host.spares(path)
        if path != self._checked:
            return  # another one was chosen meanwhile
        if spares:
            self._load_now(path)
        else:
            doing = f"loading {one_line(modelfile.title(path), 60)}"
            self._agreed(doing, "Load anyway", lambda: self._load_now(path), other=other)

    def _say_checking(self, path: str) -> None:
        if self._told_of_check != path:
            self._told_of_check = path
            name = one_line(modelfile.title(path), 60)
            words = f"{name} is new here, and is checked before it is loaded."
            self._replace(Notice(words, "info", "Cancel", act=self._stop_check))

    def _stop_check(self) -> None:
        """Of a file that was not loaded yet; a check that is part of a load ends with the load."""
        self._told_of_check = ""
        if self._checking is not None:
            self._checking.cancel()
            self._checking = None

    async def _accept(self, path: str) -> None:
        """The user wants it although its check did not come to an end."""
        try:
            await self._host.accept(path)
        except ModelError as error:
            self._say_refused(str(error))
            return
        self.load(path)

    def _say_refused(self, why: str, *, back: str = "", anyway: str = "") -> None:
        """This file will not do: offer another, the way `back` to the model that was there, or to load it `anyway`."""
        if anyway:
            act = partial(self._load_anyway, anyway)
            self._replace(Notice(why, action="Load it all the same", act=act))
            return
        name = one_line(modelfile.title(back), 32)
        self._replace(
            Notice(why, action=f"Back to {name}", act=partial(self.load, back))
            if back
            else Notice(why, action="Open another file…", act=self.choose_file)
        )

    def _load_anyway(self, path: str) -> None:
        aio.spawn(self._accept(path))

    async def _offer_remedies(self, failed: ModelState, words: str, back: str) -> None:
        """Say again that the model did not fit, with what can be done about it."""
        choices = await self.memory.choices(failed, self.load)
        if self._host.state != failed or self._load_notice is None:
            return
        if not choices:
            self._say_refused(f"{words} {NOTHING_HELPS}", back=back)
            return
        if back:
            name = one_line(modelfile.title(back), 32)
            choices += (Choice(f"Back to {name}", partial(self.load, back)),)
        self._replace(Notice(words, choices=choices))

    def _load_now(self, path: str) -> None:
        self._replace(None)
        self.load_begun.emit(path)
        aio.spawn(self._host.load(path))

    def _unload_now(self) -> None:
        aio.spawn(self._host.unload())

    def _eject_now(self, path: str) -> None:
        self._replace(None)
        aio.spawn(self._host.unload(path))

    def _replace(self, notice: Notice | None) -> None:
        """One notice about the model at a time."""
        if self._load_notice is not None:
            self._banner.withdraw(self._load_notice)
        self._load_notice = notice
        if notice is not None:
            self._banner.post(notice)

    def _changed(self, state: ModelState) -> None:
        before, self._shown = self._shown, state
        if state.phase is not before.phase:
            if before.phase is ModelPhase.FAILED:
                self._replace(None)  # why it failed is not so any more
            there = ((other.path, other.phase) for other in before.others)
            self._phase_changed(state, was_there=(state.path, state.phase) in there)
        self.state_changed.emit(state)

    def _phase_changed(self, state: ModelState, *, was_there: bool) -> None:
        """`was_there`: it did not change itself, but is the present one now."""
        if state.phase is ModelPhase.READY:
            self._good = state.path
            self._replace(None)
            self._preferences.update(model_path=state.path)
            if state.notes and not was_there:
                self._banner.post(Notice(" ".join(state.notes), "info", seconds=_NOTE_SECONDS))
        elif state.phase is ModelPhase.FAILED:
            back = self._good if self._good != state.path else ""
            anyway = state.path if state.unproven else ""
            words = state.error
            if self._busy(state.path) or not words:  # the chats that have waited for it tell why
                words = f"{one_line(state.name, 60) or 'The model'} could not be loaded."
            self._say_refused(words, back=back, anyway=anyway)
            if state.short_of is not None:
                aio.spawn(self._offer_remedies(state, words, back))
        elif state.error:
            self._replace(Notice(state.error))

    def _settings_changed(self, old: Settings, new: Settings) -> None:
        differs = any(getattr(old, name) != getattr(new, name) for name in LOAD_FIELDS)
        if differs:
            self.say_next_load()


def _ignore(_fraction: float) -> None:
    """A check in the background shows no progress."""
