"""What is remembered of the chats beyond the life of a model, for all models together."""

from app.client.fed import FedPrompts
from app.client.kept_states import KeptStates
from app.client.written import Written


class Memories:
    """What was written, what was fed, and the states under `states_folder` ("": nowhere)."""

    def __init__(self, states_folder: str = "") -> None:
        self.written = Written()
        self.fed = FedPrompts()
        self.kept = KeptStates(states_folder)

    async def forget(self, owner: int) -> None:
        """Drop all of this chat, in memory and on disk."""
        self.written.forget(owner)
        self.fed.forget(owner)
        await self.kept.forget(owner)
