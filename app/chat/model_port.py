"""What the domain needs of whoever loads models."""

from collections.abc import Callable
from typing import Protocol

from app.chat.model_state import EngineStatus, ModelState
from app.chat.prompt_port import PromptFormat


class ModelHost(Protocol):
    """Loads models and tells how they are.  One of them is the present one: the others stand in its state."""

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
        """Load this file, which is the present one then; returns when it is ready, failed or cancelled.

        Beside the models that there are where there is room, else in place of one, whose turns end with ERROR.  Failure is
        told by `state`, not raised.
        """
        ...

    async def spares(self, path: str) -> bool:
        """Whether this file, not loaded yet, can be loaded without the end of any answer."""
        ...

    def show(self, path: str) -> None:
        """Make the model in this file the present one, where it is loaded."""
        ...

    def retitle(self) -> None:
        """Look again what the present model is called."""
        ...

    async def unload(self, path: str = "") -> None:
        """Free the memory of the model in this file ("": of the present one), or cancel its load; the next request for it
        loads it again."""
        ...

    async def close(self) -> None:
        """End all child processes."""
        ...
