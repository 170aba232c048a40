"""The chats as the window sees them: list them, change them, and hear of every change.

Thin: each method is one change in the store and the event that tells of it.
"""

from collections.abc import Callable, Sequence

from app.chat import titles
from app.chat.events import ChatEvent, ConversationChanged
from app.chat.models import Conversation, ConversationSettings, Message
from app.chat.ports import ConversationStore

Listener = Callable[[ChatEvent], None]


class Library:
    """Chats without their turns."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` on the event loop with every event, in order; the returned function ends it."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    async def create(self) -> Conversation:
        conversation = await self._store.create_conversation()
        self._emit(ConversationChanged(conversation))
        return conversation

    async def conversation(self, conversation_id: int) -> Conversation | None:
        return await self._store.conversation(conversation_id)

    async def conversations(self) -> Sequence[Conversation]:
        """All, newest change first."""
        return await self._store.conversations()

    async def messages(self, conversation_id: int) -> Sequence[Message]:
        return await self._store.messages(conversation_id)

    async def rename(self, conversation_id: int, title: str) -> None:
        """One line of at most 80 characters is kept of `title`; "" lets the next message name the chat."""
        await self._store.rename(conversation_id, titles.tidy(title))
        await self._tell(conversation_id)

    async def set_draft(self, conversation_id: int, draft: str) -> None:
        """Keep what is typed but not sent.  No event: the input box that typed it knows."""
        await self._store.set_draft(conversation_id, draft)

    async def set_settings(self, conversation_id: int, settings: ConversationSettings) -> None:
        """For the turns that begin from now on."""
        await self._store.set_settings(conversation_id, settings)
        await self._tell(conversation_id)

    async def use_model(self, conversation_id: int, path: str) -> None:
        """Go on with the model in this file; what stands in the chat stays."""
        await self._store.set_model(conversation_id, path)
        await self._tell(conversation_id)

    def _emit(self, event: ChatEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    async def _tell(self, conversation_id: int) -> None:
        conversation = await self._store.conversation(conversation_id)
        if conversation is not None:
            self._emit(ConversationChanged(conversation))
