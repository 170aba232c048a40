"""Why a model could not be loaded."""

from pathlib import PurePath

from app.errors import AppError, EngineDied, MemoryPart, OutOfMemory, harmless

_OTHER_FILE = "The file may be damaged, or of a kind that this version does not know: get it again, or choose another model."


def words(path: str, failure: AppError) -> str:
    """What the user is told."""
    if isinstance(failure, EngineDied) and not failure.starved:
        name = harmless(PurePath(path).name)
        return f"“{name}” could not be loaded. {failure} {_OTHER_FILE}"
    return str(failure)


def short_of(failure: AppError) -> MemoryPart | None:
    """What of a model there was no memory for, where that is why."""
    if isinstance(failure, EngineDied):
        return MemoryPart.UNKNOWN if failure.starved else None
    return failure.part if isinstance(failure, OutOfMemory) else None
