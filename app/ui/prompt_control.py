"""The two dialogs about prompts: the template of the model, and the exact prompt of a turn.  One of each at a time."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QWidget

from app.chat.model_port import ModelHost
from app.chat.model_state import ModelState
from app.chat.past import PastTurn
from app.chat.turns import ChatService
from app.errors import AppError, ModelError
from app.prompting import PromptText
from app.ui import aio
from app.ui.prompt_dialog import PromptDialog
from app.ui.template_dialog import TemplateDialog

AS_FED = "This is what was fed for this answer, token by token."
ANEW = (
    "Rendered anew: what was really fed for this answer is not known. The template, the instructions or the model may "
    "have been others."
)
OTHER_MODEL = "Rendered anew, for the model that is loaded: this answer was written by another one."
_FAULT = "The prompt cannot be shown, by a fault in Tutti; the log has the details."
NEXT = "This question has no answer: this is what would be fed for it now."


class PromptControl(QObject):
    """Opens them over `parent`; `tell` says why one cannot be opened."""

    def __init__(
        self, chat: ChatService, host: ModelHost, tell: Callable[[str], None], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._chat, self._host, self._tell = chat, host, tell
        self._window = parent
        self._open: QDialog | None = None
        self._asking = False
        self._path = ""
        self._drafts: dict[str, str] = {}

    @aio.async_slot
    async def edit_template(self) -> None:
        """Show the templates of the model that is loaded; what was typed and not used is there again the next time."""
        if not self._is_free():
            return
        prompts, state = self._host.prompt_format, self._host.state
        self._asking = True
        try:
            found = await prompts.templates()
        except AppError as error:
            self._tell(f"The prompt template cannot be shown. {error}")
            return
        finally:
            self._asking = False
        if self._host.state.path != state.path:
            self._tell("The prompt template cannot be shown. The model was changed meanwhile.")
            return
        self._path = state.path
        draft = self._drafts.pop(state.path, None)
        dialog = TemplateDialog(prompts, found, state.name, draft, self._window)
        await self._show(dialog)
        if dialog.unsaved is not None:
            self._drafts[state.path] = dialog.unsaved
        if dialog.problem:
            self._tell(f"The prompt template is not used. {dialog.problem}")

    @aio.async_slot
    async def show_prompt(self, conversation_id: int, message_id: int) -> None:
        """Show what was fed for the answer that this message is, or has."""
        if not self._is_free():
            return
        dialog = PromptDialog(self._window)
        reading = aio.spawn(self._fill(dialog, conversation_id, message_id))
        try:
            await self._show(dialog)
        finally:
            reading.cancel()

    def model_changed(self, state: ModelState) -> None:
        """A template belongs to one model: with another one the dialog goes."""
        if isinstance(self._open, TemplateDialog) and state.path != self._path:
            self._open.reject()

    def _is_free(self) -> bool:
        """Neither is open nor about to be."""
        return self._open is None and not self._asking

    async def _show(self, dialog: QDialog) -> None:
        self._open = dialog
        try:
            await aio.finished(dialog)
        finally:
            self._open = None

    async def _fill(self, dialog: PromptDialog, conversation_id: int, message_id: int) -> None:
        try:
            past = await self._chat.past_turn(conversation_id, message_id)
            prompt, note = await self._read(past)
        except AppError as error:
            dialog.show_problem(f"The prompt cannot be shown. {error}")
        except Exception:
            dialog.show_problem(_FAULT)
            raise
        else:
            dialog.show_prompt(prompt, note)

    async def _read(self, past: PastTurn) -> tuple[PromptText, str]:
        prompts = self._host.prompt_format
        note = ANEW if past.answered else NEXT
        if past.fed is not None:
            try:
                return await prompts.spell(past.fed), AS_FED
            except ModelError:
                note = OTHER_MODEL
        fed = await prompts.render(past.request)
        return await prompts.spell(fed), note
