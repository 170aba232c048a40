"""Why a model could not be loaded."""

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Self

from app.chat.model_state import ModelPhase, ModelState
from app.errors import AppError, EngineDied, MemoryPart, OutOfMemory, Unproven, harmless

_OTHER_FILE = (
    "The file may be damaged, or of a kind that this version does not know: "
    "get it again, or choose another model."
)
NOT_THE_FILE = (
    "That was before it opened the file, so the file is not at fault; a driver of the graphics card may be. "
    "“tutti doctor” says what is found here, and the folder of logs what was said last."
)
"""Of a process that ended while it made ready what there is to compute on."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What the user is told, and what helps: see `ModelState`."""

    words: str
    short_of: MemoryPart | None = None
    unproven: bool = False

    @classmethod
    def of(cls, path: str, failure: AppError) -> Self:
        """Of the load of this file."""
        words, short_of = str(failure), None
        if isinstance(failure, OutOfMemory):
            short_of = failure.part
        elif isinstance(failure, EngineDied) and failure.starved:
            short_of = MemoryPart.UNKNOWN
        elif isinstance(failure, EngineDied) and failure.early:
            words = f"{failure} {NOT_THE_FILE}"
        elif isinstance(failure, EngineDied):
            name = harmless(PurePath(path).name)
            words = f"“{name}” could not be loaded. {failure} {_OTHER_FILE}"
        return cls(words, short_of, isinstance(failure, Unproven))

    def shown(self, state: ModelState) -> ModelState:
        """The state of a model after it."""
        return replace(
            state,
            phase=ModelPhase.FAILED,
            doing="",
            error=self.words,
            short_of=self.short_of,
            unproven=self.unproven,
        )


FAILED = Failure("Loading failed; see the log.")
