"""Which chats are open in tabs: opened, closed, opened again, deleted with a way back, kept over a restart.

A closed tab's chat goes on with its answer; only a turn that still waits is stopped, so that nothing begins
later that nobody looks at.  A deletion is carried out when its notice goes, or when the window closes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.chat.events import (
    ChatEvent,
    ConversationChanged,
    ConversationDeleted,
    MessageAdded,
    MessageFinished,
    TurnChanged,
    TurnState,
)
from app.chat.models import Conversation, TabState
from app.chat.ports import ConversationStore
from app.chat.turns import ChatService
from app.ui import accessible, aio, keyboard, states
from app.ui.banner import Banner, Notice
from app.ui.chat_tab import ChatTab
from app.ui.conversation_model import ConversationModel, shown_title
from app.ui.plain import one_line
from app.ui.tabs import ChatTabs
from app.ui.throttle import Throttle

UNDO_SECONDS = 10.0
_SAVE_MS = 500
_CLOSED_LIMIT = 50
_LEFT_CLOSED = "Tutti ended during its last start. The chats that were open then are closed now; they are in the list."

TabFactory = Callable[[Conversation], ChatTab]


class Workspace(QObject):
    """Owns the pages of the tab widget."""

    busy_changed = Signal(int)
    writing_changed = Signal(bool)
    front_changed = Signal()

    def __init__(
        self,
        chat: ChatService,
        store: ConversationStore,
        tabs: ChatTabs,
        list_model: ConversationModel,
        banner: Banner,
        make_tab: TabFactory,
    ) -> None:
        super().__init__()
        self._chat, self._store = chat, store
        self._tabs, self._model, self._banner = tabs, list_model, banner
        self._make_tab = make_tab
        self._pages: dict[int, ChatTab] = {}
        self._closed: list[tuple[int, int]] = []
        self._doomed: set[int] = set()
        self._turns: dict[int, TurnState] = {}
        self._told_busy, self._told_writing = 0, False
        self._restoring = True
        self._save = Throttle(_SAVE_MS, self._save_tabs, self)
        self._unsubscribe = chat.subscribe(self.handle)
        tabs.tabCloseRequested.connect(self.close_at)
        tabs.currentChanged.connect(self._front_changed)
        tabs.order_changed.connect(self._save.request)

    # --- what is there ---------------------------------------------------------------------------------------

    @property
    def front(self) -> ChatTab | None:
        page = self._tabs.currentWidget()
        return page if isinstance(page, ChatTab) else None

    def front_model(self) -> tuple[int, str] | None:
        """The number of the chat in front, and the model that it goes on with."""
        front = self.front
        return None if front is None else (front.id, front.conversation.model)

    @property
    def pages(self) -> tuple[ChatTab, ...]:
        """In the order of the tabs."""
        found = (self._tabs.widget(index) for index in range(self._tabs.count()))
        return tuple(page for page in found if isinstance(page, ChatTab))

    def busy(self, model: str = "") -> tuple[int, ...]:
        """The chats whose turn waits, reads or writes, open or not; those that may do so with this model ("": any)."""
        busy = (key for key, turn in self._turns.items() if turn.busy)
        return tuple(key for key in busy if not model or self._model_of(key) in ("", model))

    def _model_of(self, conversation_id: int) -> str:
        conversation = self._model.conversation(conversation_id)
        return conversation.model if conversation else ""

    def title(self, conversation_id: int) -> str:
        conversation = self._model.conversation(conversation_id)
        return shown_title(conversation) if conversation else ""

    # --- open and close --------------------------------------------------------------------------------------

    async def restore(self, *, tabs: bool = True) -> None:
        """Show the list and the tabs of the last time, or one new chat; the `tabs` may have to be left closed."""
        self._model.set_conversations(await self._chat.conversations())
        ids, front = await self._store.open_tabs()
        if not tabs and ids:
            self._closed = [(key, place) for place, key in enumerate(ids)]
            self._banner.post(
                Notice(_LEFT_CLOSED, "info", "Open them", act=partial(self._open_all, ids))
            )
            ids = ()
        known = [(place, key) for place, key in enumerate(ids) if self._model.conversation(key)]
        self._tabs.blockSignals(True)
        for _, key in known:
            self._insert(self._tabs.count(), key)
        self._tabs.blockSignals(False)
        chosen = sum(place < front for place, _ in known)
        self._tabs.setCurrentIndex(min(chosen, self._tabs.count() - 1))
        self._restoring = False
        if known:
            self._front_changed()
        else:
            await self.new()

    async def new(self) -> None:
        """A new chat in a tab of its own, in front."""
        conversation = await self._chat.create()
        self._model.put(conversation)
        self.open(conversation.id)

    def open(self, conversation_id: int, index: int | None = None) -> None:
        """Show this chat: its tab, or a new tab for it."""
        if conversation_id in self._doomed or self._model.conversation(conversation_id) is None:
            return
        if conversation_id not in self._pages:
            self._insert(self._tabs.count() if index is None else index, conversation_id)
        self._tabs.setCurrentWidget(self._pages[conversation_id])
        self._save.request()
        self._pages[conversation_id].focus_composer()

    def close_at(self, index: int) -> None:
        """Close a tab; the chat stays."""
        page = self._tabs.widget(index)
        if isinstance(page, ChatTab):
            self.close(page)

    def close(self, page: ChatTab) -> None:
        self._closed = [*self._closed, (page.id, self._tabs.indexOf(page))][-_CLOSED_LIMIT:]
        turn = self._turn(page.id)
        if turn.state is TabState.WAITING and not turn.written:
            self._chat.stop(page.id)
        self._drop(page, blank=page.blank)
        self._have_one()

    def reopen(self) -> None:
        """Open the tab that was closed last again."""
        while self._closed:
            conversation_id, index = self._closed.pop()
            if conversation_id in self._doomed or conversation_id in self._pages:
                continue
            if self._model.conversation(conversation_id) is not None:
                self.open(conversation_id, min(index, self._tabs.count()))
            else:
                aio.spawn(self.new())
            return

    def _open_all(self, ids: Sequence[int]) -> None:
        for conversation_id in ids:
            self.open(conversation_id)

    def _have_one(self) -> None:
        if not self._tabs.count() and not self._restoring:
            aio.spawn(self._fill())

    async def _fill(self) -> None:
        """A new chat where the last tab has gone, unless another was opened meanwhile."""
        conversation = await self._chat.create()
        if self._tabs.count():
            await self._chat.delete(conversation.id)
        else:
            self.open(conversation.id)

    def _drop(self, page: ChatTab, *, blank: bool) -> None:
        # The list's copy is what a new page of this chat begins with, also if it comes at once.
        draft = page.composer.text()
        if draft != page.conversation.draft:
            self._model.put(replace(page.conversation, draft=draft))
        self._take(page)
        aio.spawn(self._settle(page, blank))

    async def _settle(self, page: ChatTab, blank: bool) -> None:
        """What a closed page leaves behind: its draft, or nothing where nothing was in it."""
        await page.shut()
        if blank and not page.composer.text():
            await self._chat.delete(page.id)
        else:
            stored = await self._chat.conversation(page.id)
            if stored is not None:
                self._model.put(stored)
        page.deleteLater()

    async def _discard(self, page: ChatTab) -> None:
        """Let go of the page of a chat that is gone."""
        await page.shut()
        page.deleteLater()

    def _insert(self, index: int, conversation_id: int) -> None:
        conversation = self._model.conversation(conversation_id)
        if conversation is None or conversation_id in self._pages:
            return
        page = self._make_tab(conversation)
        self._pages[conversation_id] = page
        self._tabs.insert(index, page, shown_title(conversation))
        self._tabs.set_turn(page, self._turn(conversation_id))

    def _take(self, page: ChatTab) -> None:
        self._pages.pop(page.id, None)
        typing = keyboard.is_in(page)
        self._tabs.take(page)
        page.hide()
        page.setParent(self._tabs)
        if typing and self.front is not None:
            self.front.focus_composer()
        self._save.request()

    def _front_changed(self, *_: int) -> None:
        if self._restoring:
            return
        page = self.front
        self._chat.set_front(page.id if page else None)
        if page is not None:
            aio.spawn(self._chat.mark_read(page.id))
        self._save.request()
        self.front_changed.emit()

    # --- delete ----------------------------------------------------------------------------------------------

    def delete(self, conversation_id: int) -> None:
        """Take a chat away, with a way back for some seconds."""
        title = self.title(conversation_id)
        if not title or conversation_id in self._doomed:
            return
        page = self._pages.get(conversation_id)
        index = self._tabs.indexOf(page) if page is not None else None
        self._doomed.add(conversation_id)
        self._chat.stop(conversation_id)
        self._model.set_hidden(conversation_id, True)
        if page is not None:
            self._drop(page, blank=False)
        self._offer_undo(conversation_id, title, index)
        self._have_one()

    def _offer_undo(self, conversation_id: int, title: str, index: int | None) -> None:
        def undo() -> None:
            self._doomed.discard(conversation_id)
            self._model.set_hidden(conversation_id, False)
            if index is not None:
                self.open(conversation_id, min(index, self._tabs.count()))

        def for_good() -> None:
            if conversation_id in self._doomed:
                aio.spawn(self._delete_now(conversation_id))

        words = f"“{one_line(title, 60)}” was deleted."
        self._banner.post(
            Notice(words, "info", "Undo", act=undo, gone=for_good, seconds=UNDO_SECONDS)
        )

    async def _delete_now(self, conversation_id: int) -> None:
        await self._chat.delete(conversation_id)
        self._doomed.discard(conversation_id)

    # --- events ----------------------------------------------------------------------------------------------

    def handle(self, event: ChatEvent) -> None:
        """Show what happened, in the list and in the tab."""
        match event:
            case TurnChanged(conversation_id=key, turn=turn):
                self._show_turn(key, turn)
            case ConversationChanged(conversation=conversation):
                self._show_conversation(conversation)
            case ConversationDeleted(conversation_id=key):
                self._forget(key)
        page = self._pages.get(_chat_of(event))
        if page is not None:
            page.handle(event)

    def show_summaries(self) -> None:
        """Show what stands for the oldest messages of each open chat now."""
        for page in self.pages:
            page.show_summary()

    def _turn(self, conversation_id: int) -> TurnState:
        return self._turns.get(conversation_id) or self._chat.turn(conversation_id)

    def _show_turn(self, key: int, turn: TurnState) -> None:
        before = self._turns.get(key)
        self._turns[key] = turn
        if before is not None and states.looks_like(before, turn):
            return
        self._model.set_turn(key, turn)
        page = self._pages.get(key)
        if page is not None:
            self._tabs.set_turn(page, turn)
        if before is None or before.state is not turn.state:
            self._count_turns()
            self._announce(key, turn)

    def _announce(self, key: int, turn: TurnState) -> None:
        """Say of a chat that is not in front that its answer is there; the one in front says so itself."""
        hidden = self.front is None or self.front.id != key
        if hidden and turn.state in (TabState.DONE_UNREAD, TabState.FAILED) and key in self._pages:
            words = f"{one_line(self.title(key), 60)}: {states.sentence(turn)}"
            accessible.announce(self._tabs, words)

    def _count_turns(self) -> None:
        """Tell how many chats are busy, and whether any of them writes."""
        busy = len(self.busy())
        if busy != self._told_busy:
            self._told_busy = busy
            self.busy_changed.emit(busy)
        writing = any(turn.state is TabState.WRITING for turn in self._turns.values())
        if writing != self._told_writing:
            self._told_writing = writing
            self.writing_changed.emit(writing)

    def _show_conversation(self, conversation: Conversation) -> None:
        self._model.put(conversation)
        page = self._pages.get(conversation.id)
        if page is not None:
            self._tabs.set_title(page, shown_title(conversation))
            if page is self.front:
                self.front_changed.emit()

    def _forget(self, key: int) -> None:
        self._turns.pop(key, None)
        page = self._pages.get(key)
        if page is not None:
            self._take(page)
            aio.spawn(self._discard(page))
            self._have_one()
        self._model.remove(key)
        self._count_turns()

    # --- keep ------------------------------------------------------------------------------------------------

    def _save_tabs(self) -> None:
        aio.spawn(self.save_tabs())

    async def save_tabs(self) -> None:
        """Keep which tabs are open."""
        self._save.drop()
        pages = self.pages
        front = self.front
        place = pages.index(front) if front in pages and front is not None else 0
        await self._store.set_open_tabs([page.id for page in pages], place)

    async def shut(self) -> None:
        """Keep drafts and tabs, and carry out what was only announced."""
        self._restoring = True
        self._save.end()
        try:
            for page in self.pages:
                await page.shut()
            await self.save_tabs()
            for key in tuple(self._doomed):
                await self._delete_now(key)
        finally:
            self._unsubscribe()


def _chat_of(event: ChatEvent) -> int:
    match event:
        case MessageAdded(message=message) | MessageFinished(message=message):
            return message.conversation_id
        case ConversationChanged(conversation=conversation):
            return conversation.id
        case _:
            return event.conversation_id
