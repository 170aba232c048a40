"""One chat: its transcript, the state of its turn, and the composer.

Messages are loaded when the tab is shown for the first time.  What happens in the chat before that is not lost:
the messages that are then loaded contain it.  From that moment on every event is shown, in view or not.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from app.chat.events import (
    ChatEvent,
    ConversationChanged,
    MessageAdded,
    MessageFinished,
    MessagesRemoved,
    SummaryChanged,
    TextAppended,
    ThoughtAppended,
    TurnChanged,
    TurnState,
)
from app.chat.model_state import ModelPhase, ModelState
from app.chat.models import Conversation, Message, Role, TabState
from app.chat.turns import ChatService
from app.ui import aio, theme
from app.ui.attachment import read_text_file
from app.ui.chat_model import ChatModel
from app.ui.composer import Composer
from app.ui.draft_size import DraftSize
from app.ui.empty_state import EmptyState
from app.ui.state_line import StateLine
from app.ui.throttle import Throttle
from app.ui.transcript import Transcript

_DRAFT_MS = 400
_WARM_MS = 500
_COMPOSER_SHARE = 0.4
"""Of the page's height, the most that the text of a message takes."""

MessageEvent = (
    MessageAdded
    | ThoughtAppended
    | TextAppended
    | MessageFinished
    | MessagesRemoved
    | SummaryChanged
)


class ChatTab(QWidget):
    """The page of one chat."""

    model_missing = Signal()
    settings_requested = Signal(int)
    prompt_requested = Signal(int, int)
    link_activated = Signal(str)

    def __init__(
        self, conversation: Conversation, chat: ChatService, *, starter: bool, model: ModelState
    ) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.conversation = conversation
        self._chat = chat
        self._model = model
        self._loading = False
        self._loaded = False
        self._sending = self._stopped = self._stop_wanted = False
        self._missed: list[MessageEvent] = []
        self._work: set[asyncio.Task[None]] = set()
        self._ids: list[int] = []
        self._used = 0
        self.transcript = Transcript(self)
        self.transcript.setObjectName("transcript")
        self.transcript.setAccessibleName("Messages")
        self.empty = EmptyState(starter, self)
        self.state_line = StateLine(self)
        self.composer = Composer(self)
        self.composer.set_text(conversation.draft)
        self._chat_model = ChatModel(chat, conversation.id, self.state_line, self)
        self._draft = Throttle(_DRAFT_MS, self._save_draft, self)
        self._warm = Throttle(_WARM_MS, self._warm_up, self)
        self._size = DraftSize(self.composer.text, chat.count, self._begin, self)
        self._stack = QStackedLayout()
        self._lay_out()
        self._connect()
        self.show_model(model)
        self.show_turn(chat.turn(conversation.id))

    @property
    def id(self) -> int:
        return self.conversation.id

    @property
    def blank(self) -> bool:
        """Whether there is nothing in this chat that would be missed."""
        known_empty = self._loaded and not self._ids
        return known_empty and not self.composer.text() and not self.conversation.title

    def _lay_out(self) -> None:
        self._stack.addWidget(self.transcript)
        self._stack.addWidget(self.empty)
        column = QWidget(self)
        column.setMaximumWidth(theme.px(theme.COLUMN))
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(0)
        inner.addWidget(self.state_line)
        inner.addWidget(self.composer)
        foot = QHBoxLayout()
        foot.setContentsMargins(theme.GAP_4, 0, theme.GAP_4, theme.GAP_2)
        foot.addStretch(1)
        foot.addWidget(column, 1000)
        foot.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._stack, 1)
        layout.addLayout(foot)
        line = self.state_line
        offers = (*line.offer.in_order(), *line.model_offer.in_order())
        in_order = (self.transcript, *offers, *self.composer.in_order())
        for before, after in pairwise(in_order):
            self.setTabOrder(before, after)

    def _connect(self) -> None:
        self.composer.submitted.connect(self._submit)
        self.composer.stop_requested.connect(self.stop)
        self.state_line.offer.stop_requested.connect(self.stop)
        self.state_line.offer.go_on_requested.connect(self._let_repeat)
        self.state_line.offer.left.connect(self.focus_composer)
        self.state_line.model_offer.left.connect(self.focus_composer)
        self.composer.refused.connect(self.state_line.hint)
        self.composer.files_pasted.connect(self._attach_files)
        self.composer.settings_requested.connect(self._ask_settings)
        self.composer.changed.connect(self._draft.request)
        self.composer.changed.connect(self._warm.request)
        self.composer.changed.connect(self._size.request)
        self._size.changed.connect(self._show_context)
        self.transcript.regenerateRequested.connect(self._regenerate_message)
        self.transcript.linkActivated.connect(self.link_activated)
        self.transcript.promptRequested.connect(self._ask_prompt)
        self.transcript.retryRequested.connect(self._retry_message)

    # --- what is shown ---------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._loaded and not self._loading:
            self._loading = True
            self._begin(self.load())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.composer.edit.set_room(round(_COMPOSER_SHARE * self.height()))

    async def load(self) -> None:
        """Show the messages that there are."""
        self._missed = []
        try:
            summary = await self._chat.summary(self.id)
            messages = await self._chat.messages(self.id)
            # No await from here on: an event that comes later is new to these messages.
            self.transcript.set_summary(summary)
            self._show_messages(messages)
        finally:
            self._loading = False

    def _show_messages(self, messages: Sequence[Message]) -> None:
        self._loaded = True
        self._ids = [message.id for message in messages]
        self.transcript.set_messages(messages)
        for message in messages:
            self._note_usage(message)
        self._catch_up()
        self._show_stack()

    def _catch_up(self) -> None:
        """Show what happened while the messages were on their way, unless they contain it."""
        complete = frozenset(self._ids)
        missed, self._missed = self._missed, []
        for event in missed:
            match event:
                case MessageAdded(message=message) if message.id in complete:
                    pass
                case TextAppended(message_id=number) | ThoughtAppended(message_id=number) if (
                    number in complete
                ):
                    pass
                case _:
                    self._handle_message(event)

    def handle(self, event: ChatEvent) -> None:
        """Show what happened in this chat."""
        match event:
            case TurnChanged(turn=turn):
                self.show_turn(turn)
            case ConversationChanged(conversation=conversation):
                self._show_conversation(conversation)
            case (
                MessageAdded()
                | ThoughtAppended()
                | TextAppended()
                | MessageFinished()
                | MessagesRemoved()
                | SummaryChanged()
            ):
                if self._loaded:
                    self._handle_message(event)
                elif self._loading:
                    self._missed.append(event)

    def _show_conversation(self, conversation: Conversation) -> None:
        refused = self._chat.turn(self.id).state is TabState.FAILED
        draft = conversation.draft
        given_back = refused and draft and draft != self.conversation.draft
        self.conversation = conversation
        self._chat_model.show(conversation.model, self._model, anew=True)
        if given_back and not self.composer.text():
            self.composer.give_back(draft)

    def _handle_message(self, event: MessageEvent) -> None:
        match event:
            case MessageAdded(message=message):
                self._ids.append(message.id)
                self.transcript.add_message(message)
            case TextAppended(message_id=message_id, text=text):
                self.transcript.append_text(message_id, text)
            case ThoughtAppended(message_id=message_id, text=text):
                self.transcript.append_thought(message_id, text)
            case MessageFinished(message=message):
                self.transcript.update_message(message)
                self._note_usage(message)
            case MessagesRemoved(message_id=message_id):
                self._ids = [known for known in self._ids if known < message_id]
                self.transcript.remove_from(message_id)
            case SummaryChanged(summary=summary):
                self.transcript.set_summary(summary)
        self._show_stack()

    def show_turn(self, turn: TurnState) -> None:
        """Show the state of the turn above the composer, and Stop while it is busy."""
        if not turn.busy:
            self._stopped = False
        self.composer.set_busy(self._sending or (turn.busy and not self._stopped))
        self.state_line.show_turn(replace(turn, repeating=False) if self._stopped else turn)

    @aio.async_slot
    async def show_summary(self) -> None:
        """Show what stands for the oldest messages now."""
        if self._loaded:
            self.transcript.set_summary(await self._chat.summary(self.id))

    def show_model(self, model: ModelState) -> None:
        """Show what the model does, where there is nothing else to show."""
        self._model = model
        self.empty.show_model(model)
        self._chat_model.show(self.conversation.model, model)
        self._show_context()

    def _show_stack(self) -> None:
        self._stack.setCurrentWidget(self.transcript if self._ids else self.empty)

    def _note_usage(self, message: Message) -> None:
        if message.role is Role.ASSISTANT and message.usage.prompt_tokens:
            self._used = message.usage.prompt_tokens + message.usage.completion_tokens
            self._show_context()

    def _show_context(self) -> None:
        self.state_line.show_context(self._used, self._model.context_tokens, self._size.tokens)

    # --- what is done ----------------------------------------------------------------------------------------

    def focus_composer(self) -> None:
        self.composer.edit.setFocus()

    def ask_for_prompt(self) -> None:
        """Have the exact prompt of the last message shown."""
        if self._ids:
            self._ask_prompt(self._ids[-1])

    def _ask_prompt(self, message_id: int) -> None:
        self.prompt_requested.emit(self.id, message_id)

    def _ask_settings(self) -> None:
        self.settings_requested.emit(self.id)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work that touches this page when it is done: the page is kept until then."""
        task = aio.spawn(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _submit(self, text: str) -> None:
        if self._model.phase is ModelPhase.NONE and not self.conversation.model:
            self.model_missing.emit()
        else:
            # At once: keys that wait behind Enter belong to the next message.
            self.composer.clear()
            self._sending = True
            self.show_turn(self._chat.turn(self.id))
            self._begin(self._send(text))

    def _warm_up(self) -> None:
        """Somebody is typing: let the model read what the message follows."""
        if self.composer.text():
            self._chat.warm(self.id)

    async def _send(self, text: str) -> None:
        sent = False
        try:
            sent = await self._chat.send(self.id, text)
        finally:
            self._sending, stop = False, self._stop_wanted
            self._stop_wanted = False
            self.show_turn(self._chat.turn(self.id))
            if not sent:
                self._give_back(text)
        if sent and stop:
            self.stop()
        await self.save_draft()

    def _give_back(self, text: str) -> None:
        typed = self.composer.text()
        self.composer.set_text(f"{text}\n\n{typed}" if typed else text)

    def stop(self) -> None:
        """Stop the answer; what there is of it stays.

        From now on the next thing can be asked for, though the end of this turn is still being stored.
        """
        self._stop_wanted = self._sending
        self._stopped = self._chat.turn(self.id).busy
        self._chat.stop(self.id)
        self.show_turn(self._chat.turn(self.id))

    def _let_repeat(self) -> None:
        self._chat.let_repeat(self.id)

    @aio.async_slot
    async def regenerate(self) -> None:
        """Have the last answer written anew."""
        if self._chat.turn(self.id).busy and not self._stopped:
            self.state_line.hint("Stop the answer first (Esc), then it can be written anew.")
        elif self._ids:
            await self._chat.regenerate(self.id)

    def _regenerate_message(self, _: int) -> None:
        self.regenerate()

    @aio.async_slot
    async def _retry_message(self, _: int) -> None:
        self.composer.take_back()
        await self._chat.retry(self.id)

    def _attach_files(self, files: Sequence[Path]) -> None:
        self._begin(self._read_files(files))

    async def _read_files(self, files: Sequence[Path]) -> None:
        for path in files:
            try:
                text = await asyncio.to_thread(read_text_file, path)
            except (OSError, ValueError) as error:
                self.state_line.hint(str(error))
            else:
                self.composer.attach(path.name, text)

    def _save_draft(self) -> None:
        aio.spawn(self.save_draft())

    async def shut(self) -> None:
        """Finish what this page is doing, and keep what is in the composer, for the last time."""
        self._size.end()
        if self._work:
            await asyncio.wait(tuple(self._work))
        self._draft.end()
        self._warm.end()
        self._chat.stop_warming(self.id)
        await self.save_draft()

    async def save_draft(self) -> None:
        """Keep what is in the composer."""
        self._draft.drop()
        draft = self.composer.text()
        if draft != self.conversation.draft:
            self.conversation = replace(self.conversation, draft=draft)
            await self._chat.set_draft(self.id, draft)
