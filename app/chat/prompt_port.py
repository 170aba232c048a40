"""What the domain and the window need of a model's prompt format."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from app.dialogue import ChatLine
from app.prompting import FedPrompt, PromptText, Rehearsal, TemplateSet

if TYPE_CHECKING:
    from app.chat.ports import Request


class PromptFormat(Protocol):
    """The prompt format of the loaded model, for people.  Every call raises AppError where no model is ready."""

    async def templates(self) -> TemplateSet:
        """All templates of the model, and which is in use."""
        ...

    async def try_template(self, text: str, lines: Sequence[ChatLine]) -> Rehearsal:
        """Check this template, and show what it makes of `lines`; changes nothing.

        Raises AppError where it took so long that it was given up.  Cancelling withdraws what was not begun.
        """
        ...

    async def use_template(self, text: str) -> None:
        """Use this template for every chat with this model from now on, over restarts; "" is the model's own.

        Raises AppError where it does not work or could not be kept, and then nothing has changed.
        """
        ...

    async def render(self, request: "Request") -> FedPrompt:
        """The prompt that this request would have now."""
        ...

    async def spell(self, prompt: FedPrompt) -> PromptText:
        """A prompt in words; raises ModelError where it is another model's."""
        ...
