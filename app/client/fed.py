"""The last prompt of each chat, until it lies with the chat's answer in the store.  Pure; bounded in tokens."""

from collections import OrderedDict

from app.prompting import FedPrompt


class FedPrompts:
    """Remembers at most `budget` tokens; what was fed longest ago goes first."""

    def __init__(self, budget: int = 2_000_000) -> None:
        self._budget = budget
        self._cost = 0
        self._prompts: OrderedDict[int, FedPrompt] = OrderedDict()

    def remember(self, owner: int, prompt: FedPrompt) -> None:
        """This was fed for the chat of this number; of nobody (0) nothing is kept."""
        self.forget(owner)
        if not owner:
            return
        self._prompts[owner] = prompt
        self._cost += len(prompt.tokens)
        while self._cost > self._budget:
            self.forget(next(iter(self._prompts)))

    def get(self, owner: int) -> FedPrompt | None:
        """What was fed last for this chat, where that is known."""
        return self._prompts.get(owner)

    def forget(self, owner: int) -> None:
        """Keep nothing of this chat."""
        gone = self._prompts.pop(owner, None)
        if gone is not None:
            self._cost -= len(gone.tokens)
