"""What is known of the files that were fetched: for each repository's folder one small file beside the models.

A receipt counts only while the file has the size and the time of change that it had when it was proven; it then tells
the SHA-256 without reading gigabytes, and whether the hub has something newer.
"""

import contextlib
import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from app import privatefile

_NAME = ".tutti.json"
_MOST_BYTES = 4_000_000

CHANGING = threading.Lock()
"""To be held from `load` to `save`: two downloads of one repository may end at the same moment."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Of a file that was proven: its `digest`, from `commit` of the repository."""

    size: int
    mtime_ns: int
    digest: str
    commit: str


def load(folder: Path) -> dict[str, Receipt]:
    """By path below `folder`; what cannot be read is as if it were not there."""
    try:
        path = folder / _NAME
        if path.stat().st_size > _MOST_BYTES:
            return {}
        raw = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    files = raw.get("files") if isinstance(raw, dict) else None
    if not isinstance(files, dict):
        return {}
    found = {name: _receipt(item) for name, item in files.items()}
    return {name: receipt for name, receipt in found.items() if receipt is not None}


def _receipt(raw: object) -> Receipt | None:
    if not isinstance(raw, dict):
        return None
    size, mtime_ns = raw.get("size"), raw.get("mtime_ns")
    digest, commit = raw.get("digest"), raw.get("commit")
    if not (isinstance(size, int) and isinstance(mtime_ns, int)):
        return None
    if not (isinstance(digest, str) and isinstance(commit, str)):
        return None
    return Receipt(size, mtime_ns, digest, commit)


def save(folder: Path, receipts: dict[str, Receipt]) -> None:
    """Write them all; without any receipt the file goes.  Raises OSError, and then the old ones are still there."""
    path = folder / _NAME
    if not receipts:
        path.unlink(missing_ok=True)
        return
    content = {"files": {name: asdict(receipt) for name, receipt in receipts.items()}}
    privatefile.write(path, json.dumps(content, indent=1))


def of_file(path: Path, digest: str, commit: str) -> Receipt:
    state = path.stat()
    return Receipt(state.st_size, state.st_mtime_ns, digest, commit)


def holds(receipt: Receipt | None, path: Path) -> bool:
    """Whether `path` is still the file that was proven."""
    if receipt is None:
        return False
    with contextlib.suppress(OSError):
        state = path.stat()
        return (state.st_size, state.st_mtime_ns) == (receipt.size, receipt.mtime_ns)
    return False
