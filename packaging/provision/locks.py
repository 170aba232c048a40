"""The lock files: which packages, which versions, which hashes.

They are made by `packaging/lock.py` and name no package index: the user's own pip settings say where to fetch.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

LOCKS_DIR = Path(__file__).parent.parent / "locks"

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Pin:
    """One locked package; `text` is its whole entry, as pip reads it."""

    name: str
    version: str
    hashes: tuple[str, ...]
    text: str


def path(name: str) -> Path:
    """The lock file of that name."""
    return LOCKS_DIR / f"{name}.txt"


def pins(lock: Path) -> list[Pin]:
    """All entries of a lock file, in its order."""
    found: list[Pin] = []
    for entry in re.split(r"\n(?=[A-Za-z0-9])", lock.read_text(encoding="utf-8")):
        head = _PIN.match(entry)
        if head is not None:
            found.append(Pin(head[1].lower(), head[2], tuple(_HASH.findall(entry)), entry))
    return found


def pin(lock: Path, name: str) -> Pin:
    """The entry of one package; KeyError when the lock does not have it."""
    for entry in pins(lock):
        if entry.name == name:
            return entry
    raise KeyError(name)


def sha256(file: Path) -> str:
    """The hash of a file's content."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
