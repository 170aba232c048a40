"""What can be said of a model file before llama.cpp sees it, and after it was refused."""

import hashlib
import re
from pathlib import Path, PurePath

from app import paths, plainfile
from app.errors import ModelError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_HASHED_BYTES = 4 << 20
_SAMPLES = 32
_SAMPLE_BYTES = 16 << 10
_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


def title(path: str | PurePath) -> str:
    """What the model in this file is called, where nobody has named it."""
    name = PurePath(path).name
    return paths.STARTER_NAME if name == paths.STARTER_FILE else PurePath(path).stem


def check(path: Path) -> None:
    """Refuse what is not a GGUF file; raises ModelError with the reason."""
    try:
        if path.is_dir():
            raise ModelError(f"“{path.name}” is a folder, not a model file.", "Choose a GGUF file.")
        with plainfile.opened(path) as file:
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


def parts(path: Path) -> list[Path]:
    """The files that are there of the model that this one begins: it alone, but for a split model."""
    found = _SPLIT.search(path.name)
    if found is None:
        return [path]
    stem, count = path.name[: found.start()], int(found[2])
    names = (f"{stem}-{number:05}-of-{found[2]}.gguf" for number in range(1, count + 1))
    return [part for part in map(path.with_name, names) if part.is_file()]


def fingerprint(path: Path) -> str:
    """A name for this file's content, cheap for many gigabytes: its size, its first 4 MiB, and samples of the rest.

    The first megabytes alone may be the same in two files, for they hold the vocabulary, not the weights.
    Raises OSError.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with plainfile.opened(path) as file:
        digest.update(file.read(_HASHED_BYTES))
        for number in range(1, _SAMPLES + 1):
            file.seek(max(0, size * number // _SAMPLES - _SAMPLE_BYTES))
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:32]


def identity(path: Path) -> str:
    """The fingerprint of a file that is about to be opened by its path; raises ModelError where it cannot be read."""
    try:
        return fingerprint(path)
    except OSError as error:
        reason = error.strerror or "the disk refused it"
        raise ModelError(f"“{path.name}” cannot be read: {reason}.") from error


def check_same(path: Path, before: str) -> None:
    """Once it was opened: whether it was the file of the `identity` before.  Raises ModelError where that is not sure."""
    if identity(path) != before:
        raise ModelError(f"“{path.name}” has changed while it was being loaded.", "Load it again.")
