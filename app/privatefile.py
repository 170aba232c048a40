"""Small files of the user's own: written whole or not at all, and readable by nobody else."""

import os
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write beside, flush to disk, rename: the old file stays whole whatever happens; raises OSError."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        # Line ends are left as they are: a template is not a text of this system.
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
