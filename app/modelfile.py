"""What can be said of a model file before llama.cpp sees it, and after it was refused."""

from pathlib import Path

from app.errors import ModelError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)


def check(path: Path) -> None:
    """Refuse what is not a GGUF file; raises ModelError with the reason."""
    try:
        if path.is_dir():
            raise ModelError(f"“{path.name}” is a folder, not a model file.", "Choose a GGUF file.")
        with path.open("rb") as file:
            head = file.read(8)
    except FileNotFoundError as error:
        raise ModelError(
            f"There is no file “{path.name}” any more.", "Choose another model."
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not valid"
        raise ModelError(f"“{path.name}” cannot be read: {reason}.") from error
    if head[:4] != _MAGIC:
        raise ModelError(f"“{path.name}” is not a model in the GGUF format.", "Choose a GGUF file.")
    version = int.from_bytes(head[4:], "little")
    if version not in _VERSIONS:
        raise ModelError(
            f"“{path.name}” has version {version} of the GGUF format, which this version of Tutti does not know."
        )


def refused(path: Path, reason: str) -> ModelError:
    """The error for a file that llama.cpp did not load, with its `reason` where it gave one."""
    detail = f" ({reason})" if reason else ""
    return ModelError(
        f"“{path.name}” cannot be loaded{detail}.",
        "The file may be damaged, or of a kind that this version does not know.",
    )
