"""The model that a chat goes on with: shown where it is not the one that is loaded, and changed by the user's choice."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from app import modelfile
from app.chat.model_state import ModelPhase, ModelState
from app.chat.turns import ChatService
from app.ui import aio
from app.ui.plain import one_line
from app.ui.state_line import StateLine

_NAME_LIMIT, _ACTION_LIMIT = 32, 24
_USABLE = (ModelPhase.READY, ModelPhase.LOADING, ModelPhase.UNLOADED)


class ChatModel(QObject):
    """Of the chat with this number, whose state `line` shows."""

    def __init__(
        self, chat: ChatService, conversation_id: int, line: StateLine, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._chat, self._id, self._line = chat, conversation_id, line
        self._own = ""
        self._present = ModelState()
        line.model_offer.use_requested.connect(self._use_present)

    def show(self, own: str, present: ModelState, *, anew: bool = False) -> None:
        """The chat goes on with the file `own` ("": with any), and this is the model that there is; `anew`: look again
        whether the file is there."""
        before = self._own, _loaded(self._present), self._present.phase
        self._own, self._present = own, present
        if anew or before != (own, _loaded(present), present.phase):
            aio.spawn(self._look())

    async def _look(self) -> None:
        asked = self._own, self._present
        gone = False
        if self._own not in ("", *_loaded(self._present)):
            gone = not await asyncio.to_thread(_is_there, self._own)
        if asked == (self._own, self._present):
            self._line.offer_model(*sentence(self._own, self._present, gone=gone))

    @aio.async_slot
    async def _use_present(self) -> None:
        await self._chat.use_model(self._id, self._present.path)


def sentence(own: str, present: ModelState, *, gone: bool) -> tuple[str, str]:
    """What is said of a chat that goes on with `own`, and what is offered; `gone`: that file is not there any more."""
    if own in ("", *_loaded(present)):
        return "", ""
    name = one_line(modelfile.title(own), _NAME_LIMIT)
    usable = present.phase in _USABLE
    action = f"Use {one_line(present.name, _ACTION_LIMIT)}" if usable else ""
    if gone:
        more = "" if action else " Choose another model."
        return f"{name} is not on this computer any more.{more}", action
    return f"{name} answers here, and is loaded when you send.", action


def _loaded(present: ModelState) -> tuple[str, ...]:
    """The file of the present model, and of those that are loaded beside it."""
    return (present.path, *(other.path for other in present.others))


def _is_there(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


class ModelSwitch(QObject):
    """The model that the user chooses by hand is also that of the chat in front, unless it cannot be loaded.

    `front` gives that chat's number and the model that it has ("": none yet, it takes what there is at its first question).
    """

    def __init__(
        self,
        chat: ChatService,
        front: Callable[[], tuple[int, str] | None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._chat, self._front = chat, front
        self._wish: tuple[int, str, str] | None = None
        """The chat, the file that was chosen, and the one before it."""

    def choose(self, path: str) -> None:
        """The user has this file loaded."""
        front = self._front()
        self._wish = None
        if front is not None and front[1] not in ("", path):
            chat, before = front
            self._wish = (chat, path, before)
            aio.spawn(self._chat.use_model(chat, path))

    def model_changed(self, state: ModelState) -> None:
        """Take the choice back where that model cannot be had."""
        if self._wish is None or state.path != self._wish[1]:
            return
        chat, _, before = self._wish
        if state.phase in (ModelPhase.READY, ModelPhase.FAILED):
            self._wish = None
        if state.phase is ModelPhase.FAILED:
            aio.spawn(self._chat.use_model(chat, before))
