"""What the domain needs of a model that can be checked, loaded and unloaded, and of its prompt format."""

from collections.abc import Callable, Sequence
from typing import Protocol

from app.chat.model_state import EngineStatus, ModelState
from app.chat.ports import Request
from app.dialogue import ChatLine
from app.prompting import FedPrompt, PromptText, Rehearsal, TemplateSet


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

    async def render(self, request: Request) -> FedPrompt:
        """The prompt that this request would have now."""
        ...

    async def spell(self, prompt: FedPrompt) -> PromptText:
        """A prompt in words; raises ModelError where it is another model's."""
        ...


class ModelHost(Protocol):
    """Loads one model at a time and tells how it is."""

    @property
    def state(self) -> ModelState: ...

    @property
    def prompt_format(self) -> PromptFormat: ...

    @property
    def status(self) -> EngineStatus: ...

    def subscribe(self, listener: Callable[[ModelState], None]) -> Callable[[], None]:
        """Call `listener` on the event loop at every change; the returned function ends it."""
        ...

    async def check(self, path: str) -> None:
        """Look whether this can be a model, ending nothing for it; raises ModelError with the reason."""
        ...

    async def examine(self, path: str, tell: Callable[[float], None]) -> None:
        """Open this file where it can harm nobody, ending nothing for it; at once where that was done before.

        `tell` hears how far it is, 0 to 1, and nothing where nothing has to be done.  Cancelling ends it.  Raises ModelError
        with the reason where it may not be loaded, an `Unproven` where the user may have it loaded all the same.
        """
        ...

    async def accept(self, path: str) -> None:
        """The user wants this file although its check did not come to an end: it may be loaded from now on.

        Raises ModelError where the file cannot be read.
        """
        ...

    async def load(self, path: str) -> None:
        """Load this file in place of the present one; returns when it is ready, failed or cancelled.

        Failure is told by `state`, not raised.  Turns of the old model end with ERROR.
        """
        ...

    async def unload(self) -> None:
        """Free the memory, or cancel a load; the next request loads the model again."""
        ...

    async def close(self) -> None:
        """End all child processes."""
        ...
