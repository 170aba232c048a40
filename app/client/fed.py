"""The last prompt of each chat, until it lies with the chat's answer in the store.  Pure; bounded in tokens."""

from array import array
from collections import OrderedDict
from dataclasses import dataclass

from app.prompting import FedPrompt


@dataclass(frozen=True, slots=True)
class _Entry:
    model: str
    tokens: "array[int]"


class FedPrompts:
    """Remembers at most `budget` tokens (4 bytes each); what was fed longest ago goes first."""

    def __init__(self, budget: int = 2_000_000) -> None:
        self._budget = budget
        self._cost = 0
        self._entries: OrderedDict[int, _Entry] = OrderedDict()

    def remember(self, owner: int, prompt: FedPrompt) -> None:
        """This was fed for the chat of this number; of nobody (0) nothing is kept."""
        self.forget(owner)
        if not owner:
            return
        self._entries[owner] = _Entry(prompt.model, array("i", prompt.tokens))
        self._cost += len(prompt.tokens)
        while self._cost > self._budget:
            self.forget(next(iter(self._entries)))

    def get(self, owner: int) -> FedPrompt | None:
        """What was fed last for this chat, where that is known."""
        found = self._entries.get(owner)
        return None if found is None else FedPrompt(found.model, tuple(found.tokens))

    def forget(self, owner: int) -> None:
        """Keep nothing of this chat."""
        gone = self._entries.pop(owner, None)
        if gone is not None:
            self._cost -= len(gone.tokens)
